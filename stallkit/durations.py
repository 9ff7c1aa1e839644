"""Spans of time as people write them: ``10s``, ``2m``, ``1h30m``, ``500ms``."""

from __future__ import annotations

import math
import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART = r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)"
SPAN = rf"^(?:{_PART}\s*)+$"
_WHOLE = re.compile(SPAN)


def seconds_of(text: str, unit: str = "s") -> float:
    """The seconds that are meant; a bare number is in `unit`.  Raises ValueError.

    >>> seconds_of("2m"), seconds_of("1h30m"), seconds_of("90"), seconds_of("90", unit="m")
    (120.0, 5400.0, 90.0, 5400.0)
    """
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return sum(float(number) * UNITS[name] for number, name in re.findall(_PART, text))
    try:
        seconds = float(text) * UNITS[unit]
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):  # no range refuses it
        raise ValueError(f"{text!r} is no time: write 10s, 2m, 1h30m, or a number of {_NAMES[unit]}")
    return seconds


_NAMES = {"s": "seconds", "m": "minutes", "h": "hours"}


def in_words(seconds: float) -> str:
    """A span for a person, in one unit.

    >>> in_words(12.3), in_words(150), in_words(9_000), in_words(200_000)
    ('12 s', '2 min', '2.5 h', '2.3 days')
    """
    if seconds < UNITS["m"]:
        return f"{max(0.0, seconds):.0f} s"
    if seconds < UNITS["h"]:
        return f"{seconds / UNITS['m']:.0f} min"
    return f"{seconds / UNITS['h']:.1f} h" if seconds < UNITS["d"] else f"{seconds / UNITS['d']:.1f} days"
