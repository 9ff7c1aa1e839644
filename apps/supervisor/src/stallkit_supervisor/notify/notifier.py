"""Tells people about events: at once, or in a summary, in every place that settings name.

The decisions are `throttle`'s, which is pure; here are the clock, a thread that waits for the next summary, and the
outlets.
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from datetime import datetime
from typing import Callable, Iterable, Sequence
from urllib.parse import quote

from stallkit.press.events import Event
from stallkit_supervisor.notify.cloud_event import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED
from stallkit_supervisor.notify.sinks import CLOSE_S, ESCALATIONS, RUNS, Outlet
from stallkit_supervisor.notify.throttle import NoticeLimits, Throttle

__all__ = ["Notifier", "cloud_event"]


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
        """`on_error` is called with what could not be told; `local` is the time of day, for quiet hours."""
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
                    self._on_error(f"{untold} notices of the quiet hours were not told: stallkit incidents lists them")
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
