"""Which notices go out now, and which wait for a summary: limits by session and overall, and quiet hours.  Pure.

What is held back is counted, and told in one summary, `SUMMARY`: after `window_s` for what went beyond a limit, at the
end of the quiet hours for what came in them.  What went away meanwhile is counted as over.  An event `CLEARED` goes out
where what it clears did.  Times are seconds of a clock that does not go back, beside the local time of day.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, time
from typing import Any

from attrs import define, field, frozen, validators

from stallkit.press.events import Event
from stallkit_supervisor.notify.notice import CLEARED, SUMMARY, duration, short, what_of

# --- how often something may happen ---


@define
class TokenBucket:
    """Room for `size` tokens, which come back evenly, all of them in `window_s` seconds; it is full at first.

    >>> bucket = TokenBucket(2, window_s=60)
    >>> bucket.refilled(now=0), bucket.refilled(now=30)
    (2.0, 2.0)
    >>> bucket.tokens = 0.0
    >>> bucket.refilled(now=60)
    1.0
    """

    size: int
    window_s: float
    tokens: float = 0.0
    at: float = -math.inf

    def refilled(self, now: float) -> float:
        """The tokens at another time; a clock that went back brings none."""
        passed, self.at = max(0.0, now - self.at), now
        self.tokens = min(float(self.size), self.tokens + passed * self.size / self.window_s)
        return self.tokens


# --- the hours of the day in which nobody is to be disturbed, by the wall clock ---

_SPAN = re.compile(r"\s*(\d\d?:\d\d)\s*[-\u2013]\s*(\d\d?:\d\d)\s*")


@frozen
class QuietHours:
    """From `start` up to `end`, over midnight where the end is the earlier one.

    It is what a clock on the wall shows that counts: a night in which the clocks are changed is an hour shorter or
    longer, and begins and ends at the same times as any other.
    """

    start: time
    end: time

    @classmethod
    def parse(cls, text: str) -> QuietHours:
        """Hours as ``22:00-07:00``.  Raises ValueError for anything else, and if both are the same.

        >>> QuietHours.parse("22:00-07:00").holds(datetime(2026, 11, 23, 3, 30))
        True
        """
        found = _SPAN.fullmatch(text)
        try:
            start, end = (datetime.strptime(part, "%H:%M").time() for part in (found.groups() if found else (text, "")))
        except ValueError as error:
            raise ValueError(f"quiet is hours such as 22:00-07:00, not {text!r}") from error
        if start == end:
            raise ValueError(f"quiet hours need a start and another end, not {text!r}")
        return cls(start, end)

    def holds(self, local: datetime) -> bool:
        """Whether it is quiet at this local time."""
        now = local.time()
        if self.start < self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


NAMED = 5  # sessions that a summary's text names
LISTED = 100  # sessions in its facts
LOOK_S = 30.0  # at least so often is it looked whether the quiet hours are over: a machine may have slept

_at_least_one = validators.ge(1)


@frozen
class NoticeLimits:
    """At most `per_session` and `overall` notices in `window_s` seconds; in `quiet` hours those of `quiet_except`.

    Raises ValueError for a number below 1, and a window that is no time over 0.
    """

    per_session: int = field(default=6, validator=_at_least_one)
    overall: int = field(default=30, validator=_at_least_one)
    window_s: float = field(default=300.0, validator=[validators.gt(0), validators.lt(math.inf)])
    quiet: QuietHours | None = None
    quiet_except: frozenset[str] = frozenset()


@define
class _Held:
    """What is held back of one session."""

    count: int = 0
    what: str = ""
    over: int = 0


class Throttle:
    """Takes events, each with its time, and returns those that go out; `wait_s` says when to look again."""

    def __init__(self, limits: NoticeLimits) -> None:
        self._limits = limits
        self._overall = TokenBucket(limits.overall, limits.window_s)
        self._own: dict[str, TokenBucket] = {}
        self._told: set[str] = set()  # sessions whose latest notice went out and was not cleared yet
        self._held: dict[str, _Held] = {}
        self._since: tuple[float, datetime] | None = None  # the first that is held
        self._by_quiet = False  # whether some are held because of the hour

    def take(self, event: Event, now: float, local: datetime) -> list[Event]:
        """The events that go out because of this one: itself, or nothing yet."""
        if event.name.startswith("run_"):
            return [event]  # of the one run that a process has
        if event.name == CLEARED:
            return self._cleared(event)
        if event.name == "gone" and "incident" in event.facts:
            return []  # it is told with the others
        quiet = self._is_quiet(local) and what_of(event) not in self._limits.quiet_except
        if quiet or not self._has_room(event.target, now):
            self._hold(event, now, local, quiet)
            return []
        self._told.add(event.target)
        return [event]

    def tick(self, now: float, local: datetime) -> list[Event]:
        """A summary of what was held back, if it is time for one."""
        if self._since is None or self._is_quiet(local):
            return []
        if not self._by_quiet and now - self._since[0] < self._limits.window_s:
            return []
        return self._summary(now)

    def close(self, now: float, local: datetime) -> tuple[list[Event], int]:
        """What goes out at the end; and how many notices stay untold, if it is quiet."""
        untold = sum(one.count - one.over for one in self._held.values())
        if self._since is None:
            return [], 0
        return ([], untold) if self._is_quiet(local) else (self._summary(now), 0)

    def wait_s(self, now: float, local: datetime) -> float | None:
        """Seconds until the next `tick`; None while nothing is held back."""
        if self._since is None:
            return None
        if self._is_quiet(local):
            return LOOK_S
        left = 0.0 if self._by_quiet else self._limits.window_s - (now - self._since[0])
        return min(max(left, 0.0), LOOK_S)

    def _is_quiet(self, local: datetime) -> bool:
        return self._limits.quiet is not None and self._limits.quiet.holds(local)

    def _has_room(self, target: str, now: float) -> bool:
        """Whether both limits leave room for one more, which is taken then."""
        own = self._own.setdefault(target, TokenBucket(self._limits.per_session, self._limits.window_s))
        room = min(own.refilled(now), self._overall.refilled(now)) >= 1
        if room:
            own.tokens, self._overall.tokens = own.tokens - 1, self._overall.tokens - 1
            self._own = {name: one for name, one in self._own.items() if one.refilled(now) < one.size}  # like new
        return room

    def _hold(self, event: Event, now: float, local: datetime, quiet: bool) -> None:
        held = self._held.setdefault(event.target, _Held())
        held.count, held.what = held.count + 1, what_of(event)
        self._since = self._since or (now, local)
        self._by_quiet = self._by_quiet or quiet

    def _cleared(self, event: Event) -> list[Event]:
        held = self._held.get(event.target)
        if held is not None:
            held.over = held.count
        told = event.target in self._told
        self._told.discard(event.target)
        return [event] if told else []

    def _summary(self, now: float) -> list[Event]:
        held, since, quiet = self._held, self._since, self._by_quiet
        if since is None:
            return []
        self._held, self._since, self._by_quiet = {}, None, False
        self._told |= {target for target, one in held.items() if one.over < one.count}
        seconds = max(0.0, now - since[0])
        by_count = sorted(held.items(), key=lambda item: (item[1].over == item[1].count, -item[1].count, item[0]))
        facts: dict[str, Any] = {
            "count": sum(one.count for one in held.values()),
            "over": sum(one.over for one in held.values()),
            "since": since[1].isoformat(timespec="seconds"),
            "seconds": round(seconds),
            "held": "quiet hours" if quiet else "limits",
            "sessions": {
                target: {"count": one.count, "what": one.what, "over": one.over} for target, one in by_count[:LISTED]
            },
        }
        return [Event(SUMMARY, "", {**facts, "why": _said(facts, by_count)})]


def _said(facts: dict[str, Any], by_count: list[tuple[str, _Held]]) -> str:
    """A summary for people: how many, from which sessions, and how many are over."""
    names = [
        short(target) + (f" {one.count}" if one.count > 1 else "") + (" (over)" if one.over == one.count else "")
        for target, one in by_count[:NAMED]
    ]
    more = len(by_count) - len(names)
    who = ", ".join([*names, *([f"{more} more sessions"] if more else [])])
    over = f"; {facts['over']} of them over" if facts["over"] else ""
    return f"{facts['count']} more in {duration(facts['seconds'])}: {who}{over}"
