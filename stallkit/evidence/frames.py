"""The rows of a screen without what programs draw around a message: boxes, titled rules, a bar at its left.  Pure.

Where such a drawing begins, a message begins: that row is `EDGE`.
"""

from __future__ import annotations

import re
from typing import Sequence

__all__ = ["EDGE", "unframed"]

EDGE = "\0"  # in place of a row above which another message stands
_SIDE = r"[│┃║]"
_BORDERS = rf"(?:{_SIDE} ?){{0,3}}"
_RIGHT = r"[ │┃║█▀▁▂▃▄▅▆▇▐▕]*$"  # the frames' right sides, and a scroll bar
_TOP = re.compile(rf"^ *{_BORDERS} *[╭┌┏╔].*[─━═╮┐┓╗]{_RIGHT}")
_BOTTOM = re.compile(rf"^ *{_BORDERS} *[╰└┗╚][─━═].*[─━═╯┘┛╝]{_RIGHT}")
_TITLED = re.compile(r"^ *(?:[─━═]{1,4} +\S.{0,60}? +[─━═]{8,}|[─━═]{8,} +\S.{0,60}? +[─━═]{1,4}) *$")
_BOXED = re.compile(rf"^ *(?:{_SIDE} ?)+([^│┃║]*?) *{_SIDE}(?: *[│┃║█▀▁▂▃▄▅▆▇▐▕])* *$")
_TABLE = re.compile(r"[┬┴┼├┤╤╧╪]")
_BAR = re.compile(r"^ {0,3}[┃▌] ?")
_NAMED = re.compile(r"^ {0,3}\S.{0,40}:$")  # who says what stands at the bar below
_PERSON = re.compile(r"^ *(?:you|user|human|me|ich|vous|tú|tu|voce|você|вы|あなた|你|나)\b", re.IGNORECASE)


def unframed(rows: Sequence[str]) -> list[str]:
    """The rows, each at its place; a table keeps its lines, which are a message's own.

    >>> unframed(["╭─ agent ─╮", "│ Done.   │", "╰─────────╯"])
    ['\\x00', 'Done.', '']
    """
    plain = [_without_box(row) for row in rows]
    for at, row in enumerate(plain):
        if _NAMED.match(row.rstrip()) and not _PERSON.match(row) and _is_barred(plain, at + 1):
            plain[at] = EDGE
            for below in range(_first_bar(plain, at + 1), len(plain)):
                if not _BAR.match(plain[below]):
                    break
                plain[below] = _BAR.sub("", plain[below])
    return plain


def _without_box(row: str) -> str:
    if _TABLE.search(row):
        return row
    if _BOTTOM.match(row):
        return ""
    if _TITLED.match(row) or _TOP.match(row):
        return EDGE
    boxed = _BOXED.match(row)
    return boxed[1] if boxed else row


def _is_barred(rows: Sequence[str], at: int) -> bool:
    first = _first_bar(rows, at)
    return first < len(rows) and _BAR.match(rows[first]) is not None


def _first_bar(rows: Sequence[str], at: int) -> int:
    """The first row from there that is not blank."""
    while at < len(rows) and not rows[at].strip():
        at += 1
    return at
