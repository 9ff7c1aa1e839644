"""Does a dialog that shows somebody else's text begin where it seems to, with sides that are its own?  Pure.

A command of many rows can draw the dialog's own rows, and push the real ones out of sight.  What it cannot do is draw
left of the dialog, or outside of its box: so there, right above the first row, something else must stand.
"""

from __future__ import annotations

from typing import Collection, Sequence

from stallkit.detect.dialog import RULE

__all__ = ["JOINTS", "MOST_ROWS", "SIDES", "outside_above", "same_sides", "side_alone"]

SIDES = "│┃|║▌▐▏▕┆╎█"
JOINTS = "├╠╟┠┣"
MOST_ROWS = 60  # of a dialog: as many as a command may take, so that no reading is lost for its length


def outside_above(lines: Sequence[str], rows: Sequence[tuple[int, str]], options: Collection[str]) -> bool | None:
    """Whether the row above a dialog is none that a field of it could have drawn; None where there is no row above.

    `rows` are the dialog's rows, each with what it was recognised as; `options` is what its options are recognised as.
    """
    first, own = rows[0][0], [lines[row] for row in _down_to_its_footer(rows, options)]
    margin = min(map(_column, own))
    bars = {_left(line)[0] if _left(line)[1] else None for line in own}
    bar = bars.pop() if len(bars) == 1 else None
    for line in reversed(lines[:first]):
        if line.strip()[:1] in tuple(JOINTS):
            return False
        if bar is not None and line[bar : bar + 1] not in tuple(SIDES):
            return True
        if line.strip(" " + SIDES):
            return _column(line) < margin
    return None


def same_sides(lines: Sequence[str], first: int, row: int) -> bool:
    """Whether a row has the sides of a box where the dialog's first row has them, so that none of them is its text."""
    return _left(lines[row]) == _left(lines[first]) and _right(lines[row]) == _right(lines[first])


def side_alone(lines: Sequence[str], first: int, row: int) -> bool:
    """Whether a row without content shows nothing but sides that the dialog's first row has too: it is no text."""
    (start, left), (end, right) = _left(lines[first]), _right(lines[first])
    own = {*range(start, start + left), *range(end - right, end)}
    return all(char == " " or column in own for column, char in enumerate(lines[row]))


def _down_to_its_footer(rows: Sequence[tuple[int, str]], options: Collection[str]) -> list[int]:
    """The rows as far as the one below the options, which stands furthest left; where none does, the options' too."""
    last = max((place for place, (_, source) in enumerate(rows) if source in options), default=len(rows) - 1)
    footer = rows[last + 1 : last + 2]
    if footer and footer[0][1] != RULE:
        return [row for row, source in rows[: last + 2] if source not in options and source != RULE]
    return [row for row, source in rows[: last + 1] if source != RULE]


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" " + SIDES))


def _left(line: str) -> tuple[int, int]:
    start = len(line) - len(line.lstrip())
    return (start, run) if (run := len(line) - start - len(line.lstrip().lstrip(SIDES))) else (0, 0)


def _right(line: str) -> tuple[int, int]:
    text = line.rstrip()
    return (len(text), run) if (run := len(text) - len(text.rstrip(SIDES))) else (0, 0)
