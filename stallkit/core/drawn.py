"""Words that are drawn rather than written: letters of blocks or strokes over several rows, or of colours alone.  Pure.

A person reads them at a glance, a list of words never does.  What the picture says is not read here either: a person
decides.
"""

from __future__ import annotations

import re
from typing import Iterable, Sequence

__all__ = ["draws", "painted"]

_SIGNS = 4  # that a row of a picture has at least
_CHANGES = 6  # of colour in such a row: three strokes, as of two letters
_TABLE = frozenset("+-=|─━│┃═║┄┈╌")
_EMPTY = frozenset("+-=|")
_LINES = frozenset("jklmnqtuvwx")  # box drawing, as tmux captures it where a program drew it by DEC's other letters
_LETTERS = re.compile(r"[^\W\d_]+")
_RULE = re.compile(r"[─━═]{3}")
_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")


def draws(text: str) -> bool:
    """Whether two rows of the text in a row are nothing but signs, as those are that letters are drawn of.

    Rules, empty rows of tables and boxes, and a run of one sign are none.

    >>> draws("█▀▄ █▀▀ █   █▀▀\\n█ █ █▀▀ █   █▀▀"), draws("==========\\n1 of 2\\n==========")
    (True, False)
    """
    return _twice(map(_slices, text.split("\n")))


def painted(styled: Sequence[str]) -> bool:
    """Whether the background of two rows in a row changes so often that letters may be painted with it.

    `styled` are a screen's rows with control sequences for colours, as ``tmux capture-pane -e`` prints them.
    """
    paint, rows = _NO_PAINT, list[bool]()
    for row in styled:
        changes, last = 0, ""
        for number, piece in enumerate(_COLOUR.split(row)):
            if number % 2:
                paint = _painted_with(piece, paint)
            elif piece:
                changes += bool(last) and last != _shown(paint)
                last = _shown(paint)
        rows.append(changes >= _CHANGES)
    return _twice(rows)


def _twice(rows: Iterable[bool]) -> bool:
    before = False
    for row in rows:
        if row and before:
            return True
        before = row
    return False


def _slices(row: str) -> bool:
    """Whether a row may be a slice of letters that are drawn."""
    signs = "".join(row.split())
    if len(signs) < _SIGNS or any(map(str.isdigit, signs)) or _EMPTY.issuperset(signs):
        return False
    if _TABLE.issuperset(signs) and _RULE.search(row):
        return False
    if any(len(set(run)) > 1 and not _LINES.issuperset(run) for run in _LETTERS.findall(row)):
        return False
    return len(set(signs)) > 1 or len(row.split()) > 1


_Paint = tuple[str, str, bool]  # foreground, background, and whether they are exchanged
_NO_PAINT: _Paint = ("39", "49", False)


def _shown(paint: _Paint) -> str:
    """The colour behind the text."""
    text, behind, exchanged = paint
    return f"text {text}" if exchanged else behind


def _painted_with(codes: str, paint: _Paint) -> _Paint:
    """What a control sequence for colours and the like makes of them (ECMA-48 8.3.117 SGR, ITU-T T.416)."""
    text, behind, exchanged = paint
    given = iter(codes.split(";"))
    for code in given:
        number = int(code.partition(":")[0] or 0)
        if number in (38, 48):
            kind = "" if ":" in code else next(given, "")
            colour = " ".join([code, kind, *(next(given, "") for _ in range({"2": 3, "5": 1}.get(kind, 0)))])
            text, behind = (colour, behind) if number == 38 else (text, colour)
        elif number == 0:
            text, behind, exchanged = _NO_PAINT
        elif number in (7, 27):
            exchanged = number == 7
        elif number in (*range(30, 38), 39, *range(90, 98)):
            text = code
        elif number in (*range(40, 48), 49, *range(100, 108)):
            behind = code
    return text, behind, exchanged
