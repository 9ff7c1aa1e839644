"""Tells people about events: at once, or in a summary, in every place that settings name.

The decisions are `throttle`'s, which is pure; here are the clock, a thread that waits for the next summary, and the
outlets.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
import uuid
from contextlib import suppress
from datetime import datetime
from typing import Callable, Iterable, Protocol, Sequence
from urllib.parse import quote

from stallkit.press.events import Event
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED
from stallkit_supervisor.notify.throttle import NoticeLimits, Throttle

# --- where events go besides the store ---

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
    """A place that tells a person, or a program of theirs."""

    name: str  # for people: without what may be a secret

    def deliver(self, said: CloudEvent) -> str:
        """Tell it, within seconds; returns what happened, for people.  Raises OSError if nobody can have heard."""

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


def cloud_event(event: Event) -> CloudEvent:
    """The event with an id of its own, told by stallkit on this machine."""
    return CloudEvent(event, f"//{quote(socket.gethostname(), safe='')}/stallkit", str(uuid.uuid4()))


def _local() -> datetime:
    return datetime.now().astimezone()


class Notifier:
    """Takes events; those for people go to the outlets, as far as the limits allow."""

    def __init__(
        self,
        outlets: Sequence[Outlet],
        limits: NoticeLimits,
        on_error: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        local: Callable[[], datetime] = _local,
    ) -> None:
        """`on_error` is called with each failed notice; `local` is the time of day, for quiet hours."""
        self._outlets, self._on_error = outlets, on_error
        self._clock, self._local = clock, local
        self._throttle = Throttle(limits)
        self._changed, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._wait, name="stallkit notifier", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Take an event; only those that a person should know, what clears them, and those of runs go on."""
        if event.name not in ESCALATIONS | RUNS | {CLEARED}:
            return
        with self._changed:
            self._tell(self._throttle.take(event, self._clock(), self._local()))
            self._changed.notify()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Tell what is held back, and let each outlet deliver what it has, for this long at most."""
        with self._changed:
            first, self._closed = not self._closed, True
            if first:
                last, untold = self._throttle.close(self._clock(), self._local())
                self._tell(last)
                if untold:
                    self._on_error(
                        f"{untold} notices of the quiet hours were not told: stallkit report --incidents lists them"
                    )
            self._changed.notify()
        self._thread.join()
        deadline = time.monotonic() + timeout_s
        for outlet in self._outlets:
            outlet.close(max(0.0, deadline - time.monotonic()))

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            said = cloud_event(event)
            for outlet in self._outlets:
                outlet(said)

    def _wait(self) -> None:
        with self._changed:
            while not self._closed:
                self._tell(self._throttle.tick(self._clock(), self._local()))
                self._changed.wait(self._throttle.wait_s(self._clock(), self._local()))
