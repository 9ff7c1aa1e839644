"""Which rows of a screen are dim and which are highlighted, if a capture has its colours.  Pure.

Programs draw on another background, or in reverse video, what is selected; and dim what stands in a field instead of a
text.  Only SGR is read (ECMA-48, 8.3.117): 2 and bright black are dim.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from attrs import frozen

from stallkit.terminal.text import strip

_SGR = re.compile(r"\x1b\[([0-9;:]{0,100})m")
_WORD = re.compile(r"[^\W_]")
_BRIGHT_BLACK = 8  # of a palette


@frozen
class Shades:
    """The rows whose words are all dim, and those whose first word has a rarer background than the rows beside it."""

    dim: frozenset[int] = frozenset()
    highlighted: frozenset[int] = frozenset()

    def moved(self, rows: int) -> Shades:
        """The same rows so many further down; those that come to stand above the first are left out.

        >>> Shades(dim=frozenset({1, 4})).moved(-2)
        Shades(dim=frozenset({2}), highlighted=frozenset())
        """
        kept = (frozenset(row + rows for row in each if row + rows >= 0) for each in (self.dim, self.highlighted))
        return Shades(*kept)


class _Pen(NamedTuple):
    faint: bool = False
    grey: bool = False
    reverse: bool = False
    ground: int = 0  # the number of SGR that chose the background, 0 for the terminal's own

    @lru_cache(maxsize=1_024)  # noqa: B019  (a program draws with a few pens)
    def after(self, codes: str) -> _Pen:
        """It after a sequence of SGR with these parameters."""
        pen, numbers = self, iter([int(code or 0) for code in codes.replace(":", ";").split(";")])
        for number in numbers:
            match number:
                case 0:
                    pen = _Pen()
                case 2 | 22:
                    pen = pen._replace(faint=number == 2)
                case 7 | 27:
                    pen = pen._replace(reverse=number == 7)
                case 38 | 48:
                    kind = next(numbers, 0)
                    colour = hash(tuple(next(numbers, 0) for _ in range(1 if kind == 5 else 3)))
                    dark = kind == 5 and colour == hash((_BRIGHT_BLACK,))
                    pen = pen._replace(grey=dark) if number == 38 else pen._replace(ground=colour)
                case _ if 30 <= number <= 39 or 90 <= number <= 97:
                    pen = pen._replace(grey=number == 90)
                case _ if 40 <= number <= 49 or 100 <= number <= 107:
                    pen = pen._replace(ground=0 if number == 49 else number)
        return pen


def read_shades(text: str) -> Shades:
    r"""The shades of a text with its control sequences.

    >>> read_shades("> \x1b[2mAsk me\x1b[0m\n\x1b[7m Yes \x1b[27m\n No")
    Shades(dim=frozenset({0}), highlighted=frozenset({1}))
    """
    pen, written = _Pen(), {}
    for row, line in enumerate(text.split("\n")):
        words = []
        for place, part in enumerate(_SGR.split(line)):
            if place % 2:
                pen = pen.after(part)
            elif _WORD.search(part if part.isprintable() else strip(part)):
                words.append(pen)
        if words:
            written[row] = words
    grounds = [(words[0].reverse, words[0].ground) for words in written.values()]
    rows = Counter(grounds)
    beside = [[*grounds[max(0, at - 1) : at], *grounds[at + 1 : at + 2]] for at in range(len(grounds))]
    return Shades(
        frozenset(row for row, words in written.items() if all(pen.faint or pen.grey for pen in words)),
        frozenset(
            row
            for row, own, others in zip(written, grounds, beside, strict=True)
            if others and all(rows[other] > rows[own] for other in others)
        ),
    )
