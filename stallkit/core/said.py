"""What a person typed, on the screen of a program that talks with them: a message quotes what it is about.  Pure."""

from __future__ import annotations

import re

from stallkit.core import late
from stallkit.core.screen import Screen

__all__ = ["said_by_person"]

_ROWS = 40  # of one message, looked at
_NAMES = r"(?:You|User|Human|Me)"
# A message begins with its person's mark or name; a numbered row with such a mark is the selected one of a menu.
_BEGINS = late.compile(
    rf"^[ │|]{{0,4}}(?:[>❯›▌]\s*(?!\d+[.)])[^\s─━]|{_NAMES}\s?[:>❯›]\s*\S|{_NAMES}\s*:?\s*$)", re.IGNORECASE
)

_GOES_ON = late.compile(
    r"^ {2,6}[\w\"'(\[`/]"
)  # indented below its mark; what a program adds to it has a mark of its own


def said_by_person(screen: Screen, row: int) -> bool:
    """Whether a row belongs to a message that a person typed: it has their mark, or goes on from a row that has it.

    >>> said_by_person(Screen.from_text("> It fails with\\n  rate limit exceeded"), 1)
    True
    >>> said_by_person(Screen.from_text("> It fails\\n\\n  rate limit exceeded"), 2)
    False
    """
    for at in range(min(row, len(screen.lines) - 1), max(-1, row - _ROWS), -1):
        line = screen.lines[at]
        if _BEGINS.match(line):
            return True
        if not _GOES_ON.match(line):
            return False
    return False
