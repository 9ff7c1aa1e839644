"""How long a screen has been the same, counted in heartbeats: that alone suspects a stall, never proves it.

Pure: the caller passes what it saw and when, in seconds of one monotonic clock.  Beats with a look count, not the time
that passed: a process that slept for ten minutes saw nothing of them.
"""

from __future__ import annotations

import math

from attrs import evolve, field, frozen
from attrs.validators import ge

from stallkit.settings import seconds

INTERVAL_S = 60.0
UNCHANGED = 3  # beats
LOOK_S = 5.0  # between two looks, at most: what appears is told soon, whatever the beats are


@frozen
class Schedule:
    """How often to look, and when to suspect a stall: after `unchanged` equal beats, and `stall_s` at rest.

    `eager_s` is the time between two looks while something looks suspicious, unless the interval is shorter.
    """

    interval_s: float = field(default=INTERVAL_S, converter=float, validator=seconds)
    unchanged: int = field(default=UNCHANGED, validator=ge(1))
    stall_s: float | None = field(default=None, validator=seconds)  # None: unchanged times the interval
    eager_s: float = field(default=1.0, converter=float, validator=seconds)

    @classmethod
    def of(cls, interval_s: float | None = None, stall_s: float | None = None) -> Schedule:
        """The schedule for those settings that are given: a stall time-out alone makes the beats a third of it.

        Raises ValueError for an invalid time.
        """
        if interval_s is None:
            interval_s = INTERVAL_S if stall_s is None else min(INTERVAL_S, stall_s / UNCHANGED)
        return cls(interval_s=interval_s, stall_s=stall_s)

    @property
    def stall_timeout_s(self) -> float:
        """Seconds at rest after which a stall is suspected."""
        return self.interval_s * self.unchanged if self.stall_s is None else self.stall_s


@frozen
class Heartbeat:
    """A screen, since when it has been the same, and for how many beats in a row."""

    fingerprint: str
    since: float
    beat_at: float
    unchanged: int = 0

    def suspected(self, now: float, schedule: Schedule) -> bool:
        """Whether it has been the same for so long that it may be a stall."""
        beaten = self.unchanged * schedule.interval_s * (1 + 1e-9)  # rounding: three thirds may be less than the whole
        long = min(beaten, now - self.since) >= schedule.stall_timeout_s  # time without a look does not count
        return long and self.unchanged >= schedule.unchanged

    def until_suspected(self, now: float, schedule: Schedule) -> float:
        """Seconds from now until it is suspected, if it stays the same and every beat has its look."""
        beats = max(schedule.unchanged, math.ceil(schedule.stall_timeout_s / schedule.interval_s - 1e-9))
        beaten = self.beat_at + (beats - self.unchanged) * schedule.interval_s
        return max(0.0, max(beaten, self.since + schedule.stall_timeout_s) - now)


def beat(before: Heartbeat | None, fingerprint: str, now: float, schedule: Schedule) -> Heartbeat:
    """The heartbeat after a look: any change starts it again, and a beat counts once its interval is over.

    >>> heartbeat = None
    >>> for minute in range(4):
    ...     heartbeat = beat(heartbeat, "same", minute * 60.0, Schedule())
    >>> heartbeat.unchanged, heartbeat.suspected(180.0, Schedule())
    (3, True)
    """
    if before is None or before.fingerprint != fingerprint:
        return Heartbeat(fingerprint, since=now, beat_at=now)
    if now - before.beat_at < schedule.interval_s:
        return before
    return evolve(before, beat_at=now, unchanged=before.unchanged + 1)


def next_look(heartbeat: Heartbeat, now: float, schedule: Schedule, suspicious: bool) -> float:
    """When to look again: at the next beat, or sooner while something looks suspicious."""
    due = min(heartbeat.beat_at + schedule.interval_s, now + LOOK_S)
    return min(due, now + schedule.eager_s) if suspicious else due
