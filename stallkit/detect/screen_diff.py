"""What moves on a screen that is otherwise the same: a spinner behind a dialog, a clock bar, a status line.  Pure."""

from __future__ import annotations

import re

from stallkit.detect.engine import Match
from stallkit.terminal.screen import Screen

__all__ = ["LITTLE", "moved", "only_a_clock", "stays"]

LITTLE = 3  # rows: a spinner, a status line, a clock
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}(?::[0-5]\d){1,2}(?![\d:])")


def moved(before: Screen, now: Screen) -> frozenset[int] | None:
    """The rows on which two screens differ; None where they are not of one size, or one is a full screen alone.

    >>> sorted(moved(Screen.from_text("|\\nGo? "), Screen.from_text("/\\nGo? ")))
    [0]
    """
    if (before.size, before.alternate, len(before.lines)) != (now.size, now.alternate, len(now.lines)):
        return None
    pairs = enumerate(zip(before.lines, now.lines, strict=True))
    return frozenset(row for row, (was, is_now) in pairs if was.rstrip() != is_now.rstrip())


def only_a_clock(before: Screen, now: Screen) -> bool:
    """Whether a full-screen program rests but for the clock that it shows on one row."""
    if not now.alternate or before.cursor != now.cursor:
        return False
    rows = moved(before, now)
    if rows is None or len(rows) != 1:
        return False
    (row,) = rows
    was, is_now = (_CLOCK.sub("0:00", screen.lines[row].rstrip()) for screen in (before, now))
    return was == is_now


def stays(match: Match, before: Screen, now: Screen) -> bool:
    """Whether the rows of a prompt, and the cursor in it, are the same although a few others moved."""
    rows = moved(before, now)
    if rows is None or len(rows) > LITTLE or before.cursor != now.cursor:
        return False
    own = {span_row for span in match.spans for span_row in range(span.line, span.last_line + 1)}
    return rows.isdisjoint(own | {now.prompt_line.row})
