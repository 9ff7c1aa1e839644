"""How much of a text a clause can be shown, and what is proven of a search in so much."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from stallkit.core.needs import ONE_LINE, by_line
from stallkit.core.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT
from stallkit.core.signature import Clause

__all__ = ["Room", "proven", "rooms"]

_SIZES = (30, 80, 160, 1_000, 4_000)


class Room(NamedTuple):
    """How much a region can hold: lines, and characters in all of them.  Of several lines, none ends in blanks."""

    rows: int
    characters: int
    line: int = REGION_COLUMNS  # characters of the longest one

    @classmethod
    def of(cls, where: str) -> Room:
        """The size of a region by its name."""
        if where in ONE_LINE:
            return cls(1, REGION_COLUMNS)
        count = re.search(r"\d+", where)
        rows = min(int(count[0]), MAX_LINES) if count else MAX_LINES
        return cls(rows, min(rows * (REGION_COLUMNS + 1) - 1, REGION_TEXT))


def rooms(clause: Clause) -> list[Room]:
    """What a bound is worked out for: some sizes, then the whole region, or one line where each is looked at alone."""
    room = Room(1, REGION_COLUMNS) if by_line(clause) else Room.of(clause.where)
    sizes = [size for size in _SIZES if size < room.characters]
    return [*(Room(min(room.rows, size), size, min(size, REGION_COLUMNS)) for size in sizes), room]


def proven(clause: Clause, length: int) -> tuple[int, bool]:
    """Whether no search in a text of that length takes more than `bounds.MOST` steps, and the size that this was worked
    out for: a text between the two is as this one.

    >>> proven(Clause(pattern=r"(a|aa)+!$", where="prompt_line"), 20)
    (30, False)
    """
    room = next((room for room in rooms(clause) if length <= room.characters), None)
    return (length, False) if room is None else (room.characters, _is_short(clause, room))


@lru_cache(maxsize=8192)
def _is_short(clause: Clause, room: Room) -> bool:
    from stallkit.core.bounds import MOST, most_steps  # it imports this module

    return most_steps(clause, room) <= MOST
