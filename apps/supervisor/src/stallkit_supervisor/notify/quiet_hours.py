"""The hours of the day in which nobody is to be disturbed, by the wall clock.  Pure."""

from __future__ import annotations

import re
from datetime import datetime, time

from attrs import frozen

__all__ = ["QuietHours"]

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
        """Hours as ``22:00-07:00``.  Raises ValueError for anything else, and where both are the same.

        >>> QuietHours.parse("22:00-07:00").holds(datetime(2026, 11, 23, 3, 30))
        True
        """
        found = _SPAN.fullmatch(text)
        try:
            start, end = (datetime.strptime(part, "%H:%M").time() for part in (found.groups() if found else (text, "")))
        except ValueError as error:
            raise ValueError(f"quiet is hours such as 22:00-07:00, not {text!r}") from error
        if start == end:
            raise ValueError(f"quiet hours have a begin and another end, not {text!r}")
        return cls(start, end)

    def holds(self, local: datetime) -> bool:
        """Whether it is quiet at this local time."""
        now = local.time()
        if self.start < self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end
