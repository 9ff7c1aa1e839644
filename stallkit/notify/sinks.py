"""Where events go besides the store: a command, a webhook, a page of metrics; none of them may delay the watch.

Each has a queue and a thread of its own; events that do not fit into it are counted and dropped.
"""

from __future__ import annotations

import http.client
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, suppress
from typing import Any, Callable

from stallkit.core.redact import redact
from stallkit.errors import ConfigError, StallkitError
from stallkit.press.events import Event

__all__ = ["ESCALATIONS", "Command", "Metrics", "Outlet", "Webhook", "outlets"]

# What a person should know at once.
ESCALATIONS = frozenset(
    {"escalation", "limit", "auto_stop", "gone", "could_not_look", "outcome_unknown", "not_recorded", "defect"}
    | {"reload_refused"}
)
# All that happens to a run: the person who started it may be elsewhere.
RUNS = frozenset({"run_started", "run_waiting", "run_may_wait", "run_answered", "run_ended"})
HELD = 1000  # events in a queue
COMMAND_S = 30.0
POST_S = 10.0
VARIABLE = 100_000  # characters of an event that fit into a variable: the kernel's bound is 128 KiB


class Outlet:
    """Delivers escalations and the events of runs, one after the other, in a thread."""

    def __init__(
        self, name: str, deliver: Callable[[str], None], on_error: Callable[[str], None], held: int = HELD
    ) -> None:
        """`deliver` gets one line of JSON, and raises OSError where it failed; `on_error` is called with each failure.

        `lost` counts events without room in the queue, and at the end those left in it.
        """
        self.name, self.lost = name, 0
        self._deliver, self._on_error = deliver, on_error
        self._waiting: queue.Queue[str | None] = queue.Queue(held)
        self._thread = threading.Thread(target=self._run, name=f"stallkit {name}", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Take an event; of a supervisor's only escalations are delivered."""
        if event.name not in ESCALATIONS | RUNS:
            return
        try:
            self._waiting.put_nowait(event.to_json())
        except queue.Full:
            self.lost += 1

    def close(self, timeout_s: float = COMMAND_S) -> None:
        """Deliver what is in the queue, for this long at most, and report how many events were lost."""
        deadline = time.monotonic() + timeout_s
        with suppress(queue.Full):
            self._waiting.put(None, timeout=timeout_s)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        with suppress(queue.Empty):
            while self._thread.is_alive():  # the current one may still arrive
                self.lost += self._waiting.get_nowait() is not None
        if self.lost:
            self._on_error(f"{self.name}: {self.lost} events were lost")
            self.lost = 0

    def _run(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._deliver(line)
            except Exception as error:  # the next event may succeed
                with suppress(Exception):
                    self._on_error(f"{self.name}: {error}")


class Command(Outlet):
    """A command to run for each escalation: the event is one line of JSON on its standard input.

    The event is in ``$STALLKIT_EVENT`` as well, if it fits.  It gets no shell, and at most `timeout_s` seconds.
    Raises ValueError for a command that cannot be split into words.
    """

    def __init__(self, command: str, on_error: Callable[[str], None], timeout_s: float = COMMAND_S) -> None:
        self._timeout_s = timeout_s
        self._words = shlex.split(command)
        if not self._words:
            raise ValueError("the command is empty")
        super().__init__(f"command {self._words[0]}", self._call, on_error)

    def _call(self, line: str) -> None:
        with subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "STALLKIT_EVENT": line[:VARIABLE]},
            start_new_session=True,  # so that it can be killed with its children, and Ctrl-C spares it
        ) as process:
            try:
                _, stderr = process.communicate(line + "\n", timeout=self._timeout_s)
            except subprocess.TimeoutExpired as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise OSError(f"it ran for more than {self._timeout_s:g} s") from error
        if process.returncode:
            said = stderr.strip().splitlines()
            raise OSError(f"exit status {process.returncode}{': ' + redact(said[-1]) if said else ''}")


class Webhook(Outlet):
    """An address to post each escalation to, as one JSON object.  Raises ValueError for an invalid address."""

    def __init__(self, url: str, on_error: Callable[[str], None], timeout_s: float = POST_S) -> None:
        self._timeout_s = timeout_s
        parts = urllib.parse.urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and url.isascii() and url.isprintable()
        if not sound or " " in url or "@" in parts.netloc or parts.port == 0:  # an invalid port raises
            raise ValueError("it is not an http or https address without a user and blanks")  # it may hold a token
        self._url, self._opener = url, urllib.request.build_opener(_Stays)
        super().__init__(f"webhook {parts.hostname}", self._post, on_error)  # the rest of it may hold a token

    def _post(self, line: str) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "stallkit"}
        request = urllib.request.Request(self._url, line.encode(), headers, method="POST")
        try:
            self._opener.open(request, timeout=self._timeout_s).close()
        except urllib.error.HTTPError as error:
            error.close()
            raise OSError(f"it answered {error.code}") from error
        except http.client.HTTPException as error:
            raise OSError(f"it did not answer in HTTP: {type(error).__name__}") from error
        except urllib.error.URLError as error:
            raise OSError(str(error.reason)) from error


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would turn the post into a get, without an error."""

    def redirect_request(self, *_: Any) -> None:
        return None


def outlets(
    stack: ExitStack, command: str | None, webhook: str | None, on_error: Callable[[str], None]
) -> list[Outlet]:
    """The outlets that settings or flags name; `stack` closes them.  Raises ConfigError for invalid ones."""
    made: list[Outlet] = []
    where = "events"
    try:
        if command is not None:
            made.append(Command(command, on_error))
            stack.callback(made[-1].close)
        if webhook:
            where = "webhook"
            made.append(Webhook(webhook, on_error))
            stack.callback(made[-1].close)
    except ValueError as error:
        raise ConfigError(where, str(error), "correct it") from error
    return made


class Metrics:
    """Counts of events, and sessions by state, in the text format of Prometheus; needs the extra ``metrics``."""

    def __init__(self, address: str) -> None:
        """Serve them at ``HOST:PORT``, or ``:PORT`` on loopback.  Raises StallkitError where that fails."""
        host, _, port = address.rpartition(":")
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
        except ImportError as error:
            why, todo = "prometheus_client is not installed", "pip install 'stallkit[metrics]'"
            raise StallkitError("metrics", address, why, todo) from error
        registry = CollectorRegistry()
        self._events = Counter("stallkit_events", "Events since the start.", ["event"], registry=registry)
        self._sessions = Gauge("stallkit_sessions", "Watched sessions by state.", ["state"], registry=registry)
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
        """Take an event."""
        self._events.labels(event.name).inc()
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

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
