"""A page of figures for Prometheus: events, sessions by state, and for how long sessions were blocked."""

from __future__ import annotations

import re

from stallkit.errors import StallkitError
from stallkit.press.events import Event
from stallkit_supervisor.notification import ClearedBy
from stallkit_supervisor.notify.notice import CLEARED

# Upper bounds in seconds: an answer at once, after a coffee, a meeting, a night.
BLOCKED_S = (1, 3, 10, 30, 60, 180, 600, 1_800, 3_600, 14_400, 43_200)
SERIES = 200  # label sets of the histogram: a page must stay short whatever programs are called
_LABEL = re.compile(r"[A-Za-z0-9_.+-]{1,32}")


class Metrics:
    """Counts of events, sessions by state, and seconds blocked, in the text format of Prometheus.

    Needs the extra ``metrics``.
    """

    def __init__(self, address: str) -> None:
        """Serve them at ``HOST:PORT``, or ``:PORT`` on loopback.  Raises StallkitError where that fails."""
        host, _, port = address.rpartition(":")
        try:
            # extra: metrics
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
        except ImportError as error:
            why, todo = "prometheus_client is not installed", "pip install 'stallkit-supervisor[metrics]'"
            raise StallkitError("metrics", address, why, todo) from error
        registry = CollectorRegistry()
        self._events = Counter("stallkit_events", "Events since the start.", ["event"], registry=registry)
        self._sessions = Gauge("stallkit_sessions", "Watched sessions by state.", ["state"], registry=registry)
        self._blocked = Histogram(
            "stallkit_blocked_seconds",
            "Seconds from when a session needed somebody until it did not, by who ended that.",
            ["kind", "agent", "answerer"],
            buckets=BLOCKED_S,
            registry=registry,
        )
        self._series: set[tuple[str, str, str]] = set()
        self._states: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        try:
            self._server, self._thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
        except (OSError, OverflowError, ValueError) as error:
            raise StallkitError("metrics", address, str(error), "give a free HOST:PORT") from error

    @property
    def port(self) -> int:
        """The port in use, where 0 was given."""
        return int(self._server.server_port)

    def __call__(self, event: Event) -> None:
        self._events.labels(event.name).inc()
        if event.name == CLEARED:
            self._cleared(event)
        if event.name == "detection":
            self._states[event.target] = str(event.facts.get("state"))
        elif event.name == "gone":
            self._states[event.target] = "gone"
        else:
            return
        self._counts = dict.fromkeys(self._counts, 0)  # a state that is over stays as 0: no gap in a graph
        for state in self._states.values():
            self._counts[state] = self._counts.get(state, 0) + 1
        for state, count in self._counts.items():
            self._sessions.labels(state).set(count)

    def _cleared(self, event: Event) -> None:
        facts = event.facts
        seconds = facts.get("blocked_s")
        if not isinstance(seconds, (int, float)):
            return
        # A session that failed or hangs asks for no kind of answer: what was told of it is its kind then.
        kind, agent = _label(facts.get("kind") or facts.get("what")), _label(facts.get("agent"))
        labels = (kind, agent, _answerer(facts.get("by")))
        if len(self._series) >= SERIES and labels not in self._series:
            labels = (labels[0], "other", labels[2])
        self._series.add(labels)
        self._blocked.labels(*labels).observe(max(0.0, seconds))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answerer(by: object) -> str:
    """How it came that it is over, in one word; people are not told apart."""
    known = by is None or by in set(ClearedBy)
    return str(by or "none").replace(" ", "_") if known else "person"


def _label(value: object) -> str:
    """A word for a label; what a program calls itself may be anything."""
    text = str(value) if value else "none"
    return text if _LABEL.fullmatch(text) else "other"
