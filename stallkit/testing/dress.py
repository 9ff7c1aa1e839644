"""The same screen as another terminal or capture would deliver it: `dressed`.

It changes only what `Screen.from_text` undoes, so a dressed screen shows the same lines.
"""

from __future__ import annotations

from typing import Sequence

from attrs import evolve, frozen
from hypothesis import strategies as st

from stallkit.terminal.screen import Screen, join_wraps
from stallkit.terminal.text import cells

__all__ = ["Physical", "dressed"]

_NOISE = ["\x1b[0m", "\x1b[1;31m", "\x1b[38;5;12m", "\x1b[48;2;1;2;3m", "\x9b7m", "\x1b(B"]
_NOISE += ["\ufe0f", "\u200b", "\u2060"]
_WIDTHS = [None, None, 10, 20, 40, 80, 132]
_REDRAWS = ["Loading 12%\r\x1b[2K", "\x1b[32m⠹\x1b[0m\r\x1b[2K", "old text that was longer than what came\x1b[2K\r"]


@frozen
class Physical:
    """Lines and the cursor in them (column, row), before a terminal wraps and colours them."""

    lines: tuple[str, ...]
    cursor: tuple[int, int] | None
    visible: bool | None = None
    columns: int | None = None
    rows: int = 0
    title: str | None = None
    alternate: bool | None = None

    @classmethod
    def of(cls, screen: Screen) -> Physical:
        """What a screen shows."""
        cursor, size = screen.cursor, screen.size
        missing = cursor.row + 1 - len(screen.lines) if cursor else 0  # rows that a capture left out at its end
        return cls(
            (*screen.lines, *[""] * missing),
            (cursor.column, cursor.row) if cursor else None,
            cursor.visible if cursor else None,
            size.columns if size else None,
            size.rows if size else 0,
            screen.title,
            screen.alternate,
        )

    def under(self, lines: Sequence[str]) -> Physical:
        """A copy with lines above it."""
        cursor = self.cursor and (self.cursor[0], self.cursor[1] + len(lines))
        return evolve(self, lines=(*lines, *self.lines), cursor=cursor)

    def above(self, lines: Sequence[str]) -> Physical:
        """A copy with lines below it."""
        return evolve(self, lines=(*self.lines, *lines))

    def with_cursor_behind(self) -> Physical:
        """A copy with the cursor after its last line that is not blank."""
        row = max((number for number, line in enumerate(self.lines) if line.strip()), default=0)
        return evolve(self, cursor=(cells(self.lines[row]) if self.lines else 0, row))

    def with_cursor_below(self) -> Physical:
        """A copy with the cursor at the start of a new line."""
        return evolve(self, lines=(*self.lines, ""), cursor=(0, len(self.lines)), visible=True)


@st.composite
def dressed(draw: st.DrawFn, shown: Physical) -> Screen:
    """The screen: wrapped and joined again, coloured, redrawn, with no-break spaces and characters without width."""
    lines, cursor = list(shown.lines), shown.cursor
    width = draw(st.sampled_from(_WIDTHS))
    if width is not None:
        lines, moved = _wrapped_and_joined(lines, cursor or (0, 0), width)
        cursor = moved if cursor else None
    noise = st.tuples(st.integers(0, len(lines) - 1), st.integers(0, 200), st.sampled_from(_NOISE))
    inserted = draw(st.lists(noise, max_size=6)) if lines else []
    if draw(st.booleans()):
        lines = [line.replace(" ", "\u00a0") if draw(st.booleans()) else line for line in lines[:24]] + lines[24:]
    dirty = lines.copy()
    for row in range(len(lines)):
        at = sorted(((min(place, len(lines[row])), text) for r, place, text in inserted if r == row), reverse=True)
        for place, text in at:
            dirty[row] = dirty[row][:place] + text + dirty[row][place:]
    redrawn = draw(st.lists(st.tuples(st.integers(0, len(lines) - 1), st.sampled_from(_REDRAWS)), max_size=2))
    for row, before in redrawn if lines else []:
        dirty[row] = before + dirty[row]
    size = (shown.columns, max(shown.rows, len(lines))) if shown.columns else None
    text = "\n".join(dirty) + "\n"  # as a capture ends: the last newline is not a row
    return Screen.from_text(text, cursor, size, shown.visible, shown.title, shown.alternate)


def _wrapped_and_joined(lines: Sequence[str], cursor: tuple[int, int], width: int) -> tuple[list[str], tuple[int, int]]:
    """The lines as a terminal of that width wraps them, joined from its own flags, as every transport does."""
    rows: list[str] = []
    wraps: list[bool] = []
    at = cursor
    for number, line in enumerate(lines):
        pieces = _pieces(line, width)
        if number == cursor[1]:
            at = _place(pieces, cursor[0], len(rows))
        rows += pieces
        wraps += [True] * (len(pieces) - 1) + [False]
    return join_wraps(rows, wraps, at)


def _pieces(line: str, width: int) -> list[str]:
    pieces, begun, used = [], 0, 0
    for index, char in enumerate(line):
        step = cells(char)
        if used + step > width:
            pieces.append(line[begun:index])
            begun, used = index, 0
        used += step
    return [*pieces, line[begun:]]


def _place(pieces: Sequence[str], column: int, first: int) -> tuple[int, int]:
    """Where a column of a line is after wrapping; a column after its end stays in its last row."""
    for number, piece in enumerate(pieces[:-1]):
        if column < cells(piece):
            return column, first + number
        column -= cells(piece)
    return column, first + len(pieces) - 1
