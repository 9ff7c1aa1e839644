"""What events add up to: how often, how many sessions in which state, how long they were blocked, how soon answered.

`metrics` serves these figures to Prometheus, `otlp` sends them to a collector; which there are, and which event
changes which, stands here alone.  Labels are bounded: whatever programs are called, there are not many.
"""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping

from attrs import frozen

from stallkit.press.events import Event
from stallkit_supervisor.log_report import what_told
from stallkit_supervisor.notification import ClearedBy, Need

# Upper bounds in seconds: an answer at once, after a coffee, a meeting, a night.
BOUNDS_S = (1, 3, 10, 30, 60, 180, 600, 1_800, 3_600, 14_400, 43_200)
SERIES = 200  # label sets of a histogram
_LABEL = re.compile(r"[A-Za-z0-9_.+-]{1,32}")

# --- the figures ---


@frozen
class Figure:
    """One figure, told apart by `labels`; Prometheus shows a counter as ``NAME_total``."""

    name: str
    shape: Literal["counter", "gauge", "histogram"]
    about: str
    labels: tuple[str, ...]


_WHO = ("kind", "agent", "answerer")

EVENTS = Figure("stallkit_events", "counter", "Events since the start.", ("event",))
SESSIONS = Figure("stallkit_sessions", "gauge", "Watched sessions by state.", ("state",))
BLOCKED = Figure(
    "stallkit_blocked_seconds",
    "histogram",
    "Seconds from when a session needed somebody until it did not, by who ended that.",
    _WHO,
)
ANSWER = Figure(
    "stallkit_answer_seconds",
    "histogram",
    "Seconds from when a person was told of a session until it needed nobody, by who ended that.",
    _WHO,
)
LIMITS = Figure("stallkit_limits", "counter", "Limits that sessions met: of usage, or of stallkit's help.", ("what",))
RESTARTS = Figure("stallkit_restarts", "counter", "Restarts of programs that ended or hung.", ("outcome",))
FIGURES = (EVENTS, SESSIONS, BLOCKED, ANSWER, LIMITS, RESTARTS)


@frozen
class Change:
    """A counter grows by `value`, a gauge becomes it, a histogram gets it as one more."""

    of: Figure
    labels: tuple[str, ...]
    value: float = 1

    @property
    def labelled(self) -> dict[str, str]:
        """The labels by their names."""
        return dict(zip(self.of.labels, self.labels, strict=True))


# Shown from the start: a rate needs the 0 before the first one.
ZEROS = (
    *(Change(LIMITS, (what,), 0) for what in ("usage", "help")),
    *(Change(RESTARTS, (outcome,), 0) for outcome in ("done", "failed")),
)


# --- what changes them ---


class Figures:
    """Adds up events, and hands each change to what takes those of its figure.

    >>> changes: list[Change] = []
    >>> Figures(lambda figure: changes.append).add(Event("restart", "tmux:w1", {"outcome": "cleared"}))
    >>> [(one.of.name, one.labels, one.value) for one in changes[len(ZEROS) :]]
    [('stallkit_events', ('restart',), 1), ('stallkit_restarts', ('done',), 1)]
    """

    def __init__(
        self, taker: Callable[[Figure], Callable[[Change], object]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._takers = {figure: taker(figure) for figure in FIGURES}
        self._clock = clock
        self._series: set[tuple[str, str, str]] = set()
        self._states: dict[str, str] = {}  # of sessions
        self._counts: dict[str, int] = {}  # by state
        self._told: dict[str, tuple[str, float]] = {}  # what a person was told of a session, and when
        self._take(ZEROS)

    def add(self, event: Event) -> None:
        self._take([Change(EVENTS, (event.name,))])
        if change := _CHANGES.get(event.name):
            self._take(change(self, event))

    def _take(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._takers[change.of](change)

    def shown(self, event: Event) -> Iterator[Change]:
        return self._in(event.target, str(event.facts.get("state")))

    def gone(self, event: Event) -> Iterator[Change]:
        self._told.pop(event.target, None)
        return self._in(event.target, "gone")

    def _in(self, target: str, state: str) -> Iterator[Change]:
        self._states[target] = state
        self._counts = dict.fromkeys(self._counts, 0)  # a state that is over stays as 0: no gap in a graph
        for one in self._states.values():
            self._counts[one] = self._counts.get(one, 0) + 1
        return (Change(SESSIONS, (one,), count) for one, count in self._counts.items())

    def told(self, event: Event) -> Iterator[Change]:
        what, before = what_told(event.facts), self._told.get(event.target)
        if before is not None and before[0] == what:
            return  # a reminder
        # An earlier supervisor told of it soon after it appeared.
        ago_s = _seconds(event.facts.get("waited_s")) if event.name == "still" else None
        self._told[event.target] = what, self._clock() - (ago_s or 0.0)
        if what == Need.LIMIT:
            yield Change(LIMITS, ("usage",))

    def limit(self, event: Event) -> Iterator[Change]:
        yield Change(LIMITS, ("help",))
        if "item" in event.facts:  # its prompt is a person's now
            yield from self.told(event)

    def cleared(self, event: Event) -> Iterator[Change]:
        facts, told = event.facts, self._told.pop(event.target, None)
        blocked_s = _seconds(facts.get("blocked_s"))
        if blocked_s is None:
            return
        labels = self._bounded(facts)
        yield Change(BLOCKED, labels, blocked_s)
        if told is not None and told[0] == facts.get("what"):
            yield Change(ANSWER, labels, min(blocked_s, self._clock() - told[1]))

    def restarted(self, event: Event) -> Iterator[Change]:
        yield Change(RESTARTS, ("done" if event.facts.get("outcome") == "cleared" else "failed",))

    def _bounded(self, facts: Mapping[str, Any]) -> tuple[str, str, str]:
        """The labels of who needed somebody, and who ended that."""
        # A session that failed or hangs asks for no kind of answer: what was told of it is its kind then.
        kind, agent = _label(facts.get("kind") or facts.get("what")), _label(facts.get("agent"))
        labels = (kind, agent, _answerer(facts.get("by")))
        if len(self._series) >= SERIES and labels not in self._series:
            labels = (labels[0], "other", labels[2])
        self._series.add(labels)
        return labels


_CHANGES: Mapping[str, Callable[[Figures, Event], Iterable[Change]]] = {
    "detection": Figures.shown,
    "gone": Figures.gone,
    "escalation": Figures.told,
    "still": Figures.told,
    "limit": Figures.limit,
    "cleared": Figures.cleared,
    "restart": Figures.restarted,
}


# --- what events say ---


def _seconds(value: object) -> float | None:
    return max(0.0, value) if isinstance(value, (int, float)) else None


def _answerer(by: object) -> str:
    """How it came that it is over, in one word; people are not told apart."""
    known = by is None or by in set(ClearedBy)
    return str(by or "none").replace(" ", "_") if known else "person"


def _label(value: object) -> str:
    """A word for a label; what a program calls itself may be anything."""
    text = str(value) if value else "none"
    return text if _LABEL.fullmatch(text) else "other"
