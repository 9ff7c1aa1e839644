"""Words that are drawn rather than written: letters of blocks or strokes over several rows, or of colours alone.  Pure.

A person reads them at a glance, a list of words never does.  What the picture says is not read here either: a person
decides.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Sequence

from stallkit.core import late
from stallkit.core.values import evolve, frozen

__all__ = ["draws", "painted"]

_SIGNS = 4  # that a row of a picture has at least
_CHANGES = 6  # of colour in such a row: three strokes, as of two letters
_TABLE = frozenset("+-=|─━│┃═║┄┈╌")
_EMPTY = frozenset("+-=|")
_LINES = frozenset("jklmnqtuvwx")  # box drawing, as tmux captures it where a program drew it by DEC's other letters
_WORDS = late.compile(r"[^\W\d_]+|\d+")
_RULE = late.compile(r"[─━═]{3}")
_SCROLLED = late.compile(r"\s*├─+(?:[↑↓]\([+-]\)─+)?\d{1,3}%─+┤\s*")  # how far a box of dialog(1) is scrolled
_SEQUENCE = late.compile(r"\x1b\[([0-9;:]*)m")
_LINES_ON = frozenset({4, 9, 21, 53})  # below the text, through it, two below it, above it
_LINES_OFF = {24: frozenset({4, 21}), 29: frozenset({9}), 55: frozenset({53})}


def draws(text: str) -> bool:
    """Whether two rows of the text in a row are nothing but signs, as those are that letters are drawn of.

    Rules, empty rows of tables and boxes, and a run of one sign are none.

    >>> draws("█▀▄ █▀▀ █   █▀▀\\n█ █ █▀▀ █   █▀▀"), draws("==========\\n1 of 2\\n==========")
    (True, False)
    """
    return any(_go_on(above, below) for above, below in pairwise(map(_slice, text.split("\n"))))


def painted(styled: Sequence[str]) -> bool:
    """Whether two rows in a row change their background so often that letters may be painted with it.

    `styled` are a screen's rows with control sequences for colours, as ``tmux capture-pane -e`` prints them.  Lines
    through, above or below blanks count as well.
    """
    paint, rows = _Paint(), list[bool]()
    for row in styled:
        shown = []
        for number, piece in enumerate(_SEQUENCE.split(row)):
            if number % 2:
                paint = paint.changed(piece)
            elif piece:
                shown.append(paint.behind(piece))
        rows.append(sum(one != other for one, other in pairwise(shown)) >= _CHANGES)
    return any(above and below for above, below in pairwise(rows))


def _slice(row: str) -> frozenset[str]:
    """The signs of a row that may be a slice of letters that are drawn; empty for any other row."""
    signs = "".join(row.split())
    if len(signs) < _SIGNS or _SCROLLED.fullmatch(row) or (_TABLE.issuperset(signs) and _RULE.search(row)):
        return frozenset()
    if any(len(set(run)) > 1 and not _LINES.issuperset(run) for run in _WORDS.findall(row)):
        return frozenset()
    return frozenset(signs) - _EMPTY if len(set(signs)) > 1 or len(row.split()) > 1 else frozenset()


def _go_on(above: frozenset[str], below: frozenset[str]) -> bool:
    """Whether two slices may be of one picture; of digits only where the same are in both, as in no table."""
    digits = any(map(str.isdigit, above | below))
    return bool(above and below) and not (digits and above.isdisjoint(below))


@frozen
class _Paint:
    """What is on around the text: its colours, whether they are exchanged, and lines."""

    text: str = "39"
    back: str = "49"
    exchanged: bool = False
    lines: frozenset[int] = frozenset()

    def behind(self, piece: str) -> tuple[str, frozenset[int]]:
        """What is to be seen behind a piece of text."""
        return f"text {self.text}" if self.exchanged else self.back, frozenset() if piece.strip() else self.lines

    def changed(self, codes: str) -> _Paint:
        """After a control sequence (ECMA-48 8.3.117 SGR, ITU-T T.416)."""
        paint, given = self, iter(codes.split(";"))
        for first in given:
            code, number = first, int(first.partition(":")[0] or 0)
            if number in (38, 48):
                kind = "" if ":" in code else next(given, "")
                code = " ".join([code, kind, *(next(given, "") for _ in range({"2": 3, "5": 1}.get(kind, 0)))])
            if number == 0:
                paint = _Paint()
            elif number in (7, 27):
                paint = evolve(paint, exchanged=number == 7)
            elif number in _LINES_ON:
                paint = evolve(paint, lines=paint.lines | {number})
            elif number in _LINES_OFF:
                paint = evolve(paint, lines=paint.lines - _LINES_OFF[number])
            elif number in (*range(30, 40), *range(90, 98)):
                paint = evolve(paint, text=code)
            elif number in (*range(40, 50), *range(100, 108)):
                paint = evolve(paint, back=code)
        return paint
