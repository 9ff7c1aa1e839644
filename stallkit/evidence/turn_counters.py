"""What an agent's screen counts while it works: how long this turn has taken, and its tokens or bytes.  Pure.

As in ``(3m 12s • esc to interrupt)``, ``(12s · ↓ 1.2k tokens)``, ``(esc to cancel, 15s)``, ``Working · 93 B``.
"""

from __future__ import annotations

import re

from attrs import frozen

from stallkit.terminal.screen import Screen

__all__ = ["TurnCounters", "turn_counters"]

ROWS = 14  # above the screen's end, with the composer and its footer
_BRACKETS = re.compile(r"\(([^()]{1,120})\)")
_TIME = re.compile(r"(?:^|[\s·•,])(?:(\d{1,3})h ?)?(?:(\d{1,4})m ?)?(?:(\d{1,6})s)?(?=$|[\s·•,])")
_WORKS = re.compile(r"…|\.\.\.|\besc\b|\btokens?\b", re.IGNORECASE)
_TOKENS = re.compile(r"(?<![\w.])(\d[\d.,]*(?: ?[kKM](?= ))?) ?(?:tokens?|[KM]i?B|B)\b")


@frozen
class TurnCounters:
    """The counters at work, as far as they are shown."""

    elapsed_s: float | None = None
    tokens: str | None = None  # as shown: it is compared, not counted with


def turn_counters(screen: Screen) -> TurnCounters:
    """The counters in the screen's lowest rows; of several, the lowest.

    >>> turn_counters(Screen.from_text("✽ Herding… (3m 12s · ↓ 1.2k tokens)"))
    TurnCounters(elapsed_s=192.0, tokens='1.2k')
    """
    rows = screen.text.rstrip().split("\n")[-ROWS:]
    elapsed = [time for row in rows if _WORKS.search(row) for part in _BRACKETS.findall(row) if (time := _time(part))]
    tokens = [found for row in rows for found in _TOKENS.findall(row)]
    return TurnCounters(elapsed[-1] if elapsed else None, " ".join(tokens) or None)


def _time(text: str) -> float | None:
    """The seconds that a text in brackets counts; None where it counts none, and for none yet."""
    for hours, minutes, seconds in _TIME.findall(text):
        if hours or minutes or seconds:
            return 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + float(seconds or 0)
    return None
