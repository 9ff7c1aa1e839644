"""Time that passes only by its own `sleep`: `FakeClock`."""

from __future__ import annotations

from typing import Callable

__all__ = ["FakeClock"]


class FakeClock:
    """A clock and its sleep, for functions that take both: ``send(..., clock=clock, sleep=clock.sleep)``.

    `then` is called after each sleep with the seconds that have passed since the clock was made; it may change what a
    session shows.  `now` is the current time, in seconds; `start` the first.
    """

    def __init__(self, then: Callable[[float], object] = lambda passed: None, start: float = 100.0) -> None:
        self.start = self.now = start
        self.then = then

    @property
    def passed(self) -> float:
        """Seconds slept so far."""
        return self.now - self.start

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the seconds pass at once.  Raises ValueError for a negative number, as time.sleep does."""
        if seconds < 0:
            raise ValueError(f"sleep length must be non-negative, not {seconds}")
        self.now += seconds
        self.then(self.passed)
