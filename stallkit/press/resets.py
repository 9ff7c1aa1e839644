"""When a usage limit is free again, as a quota screen says it: "resets Nov 25, 8:07am (UTC)", "try again in 2 hours".

Pure: the caller gives the time.  Only text on the matched lines counts, so that no date is taken from the rest of the
screen.  The forms are those of the captured screens of `tests/corpus`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Iterator
from zoneinfo import ZoneInfo

from stallkit.detect.signature import State
from stallkit.judging.verdict import Verdict

_LEAD = r"\b(?:reset(?:s|ting)?|tr(?:y|ied)\s+again|retry(?:ing)?|available(?:\s+again)?|continuing\s+automatically)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = re.compile(
    rf"""{_LEAD}\s+(?:(?:at|on|after)\s+)?
        (?:(?P<month>{"|".join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?:(?P<year>\d{{4}}),?\s+)?(?:at\s+)?)?
        (?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\b)?
        (?:\s*\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+-]+)+)\)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_ISO = re.compile(
    rf"{_LEAD}\s+(?:(?:at|on|after)\s+)?(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)", re.IGNORECASE
)
_SPAN = re.compile(rf"{_LEAD}\s+in\s+((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?){{1,4}})", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def resets_at(verdict: Verdict, now: datetime) -> datetime | None:
    """When the limit of a quota verdict is free again; None for another state, or where the screen does not say it.

    `now` is the time of the look, with its zone: it supplies the day, and the zone where the screen names none.
    """
    if verdict.state is not State.QUOTA or verdict.match is None:
        return None
    lines = "\n".join(span.text for span in verdict.match.spans)
    return reset_time(f"{lines}\n{verdict.match.line}", now)


def reset_time(text: str, now: datetime) -> datetime | None:
    """The first time that a text names for a limit's end; a clock time that has passed today is tomorrow's.

    Raises ValueError if `now` has no zone.

    >>> from datetime import datetime, timezone
    >>> now = datetime(2026, 11, 22, 20, 0, tzinfo=timezone.utc)
    >>> reset_time("limit reached ∙ resets 8:10am", now).isoformat()
    '2026-11-23T08:10:00+00:00'
    """
    if now.tzinfo is None:
        raise ValueError("now has no zone: take datetime.now().astimezone()")
    return next((found for found in _times(text, now) if found is not None), None)


def _times(text: str, now: datetime) -> Iterator[datetime | None]:
    for iso in _ISO.finditer(text):
        yield _iso(iso[1], now)
    for span in _SPAN.finditer(text):
        yield _after(span[1], now)
    for clock in _CLOCK.finditer(text):
        yield _clock(clock, now)


def _iso(text: str, now: datetime) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.replace(" ", "T"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


def _after(text: str, now: datetime) -> datetime | None:
    parts = [(float(number), unit[0].lower()) for number, unit in _PART.findall(text)]
    if not parts or any(unit not in _UNITS for _, unit in parts):
        return None
    try:
        return now + timedelta(seconds=sum(number * _UNITS[unit] for number, unit in parts))
    except OverflowError:  # a number with twenty digits
        return None


def _clock(found: re.Match[str], now: datetime) -> datetime | None:
    if not (found["half"] or found["minute"]):
        return None  # "try again 3": a number, not a time
    zone = _zone(found["zone"], now)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"].lower().startswith("p") else 0)
    if zone is None:
        return None
    here = now.astimezone(zone)
    try:
        if found["month"] is None:
            when = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return when if when > here else when + timedelta(days=1)
        month, year = _MONTHS.index(found["month"].lower()[:3]) + 1, int(found["year"] or here.year)
        when = datetime(year, month, int(found["day"]), hour, minute, tzinfo=zone)
        return when.replace(year=year + 1) if when < here and not found["year"] else when
    except (OverflowError, ValueError):  # 31 Feb, 25:00
        return None


def _zone(name: str | None, now: datetime) -> tzinfo | None:
    """The zone of that name; that of `now` where none is named; None for one unknown to this system."""
    if name is None:
        return now.tzinfo
    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
