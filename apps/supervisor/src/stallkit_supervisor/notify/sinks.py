"""Where events go besides the store: which of them, and how none of those places can delay the watch.

Each has a queue and a thread of its own; events that do not fit into it are counted and dropped.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from typing import Callable, Protocol

from stallkit_supervisor.notify.cloud_event import CloudEvent

__all__ = ["ESCALATIONS", "RUNS", "Channel", "Outlet"]

# What a person should know at once.
ESCALATIONS = frozenset(
    {"escalation", "limit", "auto_stop", "gone", "could_not_look", "outcome_unknown", "not_recorded", "defect"}
    | {"incident", "reload_refused"}
)
# All that happens to a run: the person who started it may be elsewhere.
RUNS = frozenset({"run_started", "run_waiting", "run_may_wait", "run_answered", "run_ended"})
HELD = 1000  # events in a queue
CLOSE_S = 30.0


class Channel(Protocol):
    """A place where a person, or a program of theirs, is told."""

    name: str  # for people: without what may be a secret

    def deliver(self, said: CloudEvent) -> str:
        """Tell it, within seconds; returns what happened, for people.  Raises OSError where nobody can have heard."""

    def close(self) -> None:
        """Take away what would stay."""


class Outlet:
    """Delivers to one channel, one event after the other, in a thread."""

    def __init__(self, channel: Channel, on_error: Callable[[str], None], held: int = HELD) -> None:
        """`on_error` is called with each failure.

        `lost` counts events without room in the queue, and at the end those left in it.
        """
        self.name, self.lost = channel.name, 0
        self._channel, self._on_error = channel, on_error
        self._waiting: queue.Queue[CloudEvent | None] = queue.Queue(held)
        self._thread = threading.Thread(target=self._run, name=f"stallkit {channel.name}", daemon=True)
        self._thread.start()

    def __call__(self, said: CloudEvent) -> None:
        """Take an event."""
        try:
            self._waiting.put_nowait(said)
        except queue.Full:
            self.lost += 1

    def close(self, timeout_s: float = CLOSE_S) -> None:
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
        while (said := self._waiting.get()) is not None:
            self._try(lambda said=said: self._channel.deliver(said))  # type: ignore[misc]
        self._try(self._channel.close)

    def _try(self, do: Callable[[], object]) -> None:
        try:
            do()
        except Exception as error:  # the next event may succeed
            with suppress(Exception):
                self._on_error(f"{self.name}: {error}")
