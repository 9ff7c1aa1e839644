"""How often stallkit may act on one session: in an iteration, in all, and within a window of time.  Pure.

A recovery counts from the moment of the decision, so that one with an unknown outcome counts as well; a refused one,
where nothing was pressed, is given back.
"""

from __future__ import annotations

from attrs import evolve, frozen

__all__ = ["STALL_LIMIT", "Counts", "Limits"]

STALL_LIMIT = "stall_limit"  # the reason in .auto-stop


@frozen
class Limits:
    """The most recoveries of a session: in an iteration, in all, and in a window, which stops endless repetition."""

    per_iteration: int = 3
    total: int = 10
    in_window: int = 5
    window_s: float = 600.0

    def __attrs_post_init__(self) -> None:
        if min(self.per_iteration, self.total, self.in_window) < 0 or not self.window_s > 0:
            raise ValueError("a limit must be 0 or more, and its window longer than 0 s")

    def reached(self, counts: Counts, now: float) -> str | None:
        """The limit that forbids one more; None where none does."""
        if counts.iteration >= self.per_iteration:
            return f"{counts.iteration} recoveries in this iteration, {self.per_iteration} are allowed"
        if counts.total >= self.total:
            return f"{counts.total} recoveries in all, {self.total} are allowed"
        recent = sum(now - at < self.window_s for at in counts.times)
        if recent >= self.in_window:
            return f"{recent} recoveries within {self.window_s:g} s, {self.in_window} are allowed"
        return None


@frozen
class Counts:
    """The recoveries of a session so far; `times` are those of the latest ones, on the clock of `now`."""

    iteration: int = 0
    total: int = 0
    times: tuple[float, ...] = ()

    def one_more(self, now: float, limits: Limits) -> Counts:
        """After one recovery at that time."""
        times = tuple(at for at in self.times if now - at < limits.window_s)
        return Counts(self.iteration + 1, self.total + 1, (*times, now))

    def one_less(self) -> Counts:
        """After the latest one was refused."""
        return Counts(max(0, self.iteration - 1), max(0, self.total - 1), self.times[:-1])

    def new_iteration(self, reset_total: bool = False) -> Counts:
        """After a signal: the iteration's count starts again; the window goes on."""
        return evolve(self, iteration=0, total=0 if reset_total else self.total)
