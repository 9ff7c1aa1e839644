"""From terminal text to plain characters, and how many cells those take.

`strip` removes control sequences; `painted` draws frames that are letters; `fold` makes blanks and tabs plain blanks;
`hides` says whether there are others than it seems; `cells` and `cut` count terminal columns; `escaped` makes what is
left safe to show.
All take any string and never raise.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Iterable

# ECMA-48 (5th edition) 5.4 CSI and 5.6 control strings; 8-bit introducers as in its table 2b.  A control string without
# an end stops at the end of its line: one broken sequence must not blank the screen after it.
_SEQUENCE = re.compile(
    r"""
      (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]                                    # CSI
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]) [^\x07\x18\x1a\x1b\x9c\n]*        # OSC, DCS, SOS, PM, APC ...
      (?:\x07|\x18|\x1a|\x9c|\x1b\\)?                                        # ... up to ST, BEL, CAN or SUB
    | \x1b [ -/]* [0-~]                                                      # other escapes
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]                                          # what is left of C0, DEL and C1
    """,
    re.VERBOSE,
)
_SGR = re.compile(r"(\x1b\[[0-9;:]{0,100}m)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# DEC's line drawing, as a VT100 has it: letters between SO and SI.
_PAINTED = re.compile(r"\x0e([^\x0f]*)")
_PAINT = re.compile(r"\x1b\[[0-9;:]*m|[`-~]")
_DRAWING = str.maketrans("`afgijklmnopqrstuvwxyz{|}~", "◆▒°±␤┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

_ERASED = re.compile(r"(?:\x1b\[|\x9b)2K")  # the line is blank again
_REST_ERASED = re.compile(r"(?:\x1b\[|\x9b)0?K")  # and from the cursor on

_BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
_NOTHING = (
    *(0x00AD, 0x061C, 0x180E, 0xFEFF),
    *range(0x200B, 0x2010),  # zero-width and direction marks
    *range(0x2028, 0x202F),  # separators, bidirectional embedding
    *range(0x2060, 0x2070),  # word joiner, bidirectional isolates
    *range(0xFE00, 0xFE10),  # variation selectors
    *range(0xE0000, 0xE01F0),  # tags, variation selectors supplement
)
_FOLD: dict[int, str | None] = {ord(blank): " " for blank in _BLANKS} | dict.fromkeys(_NOTHING)
_FOLDABLE = frozenset(map(chr, _FOLD))
_TAB = 8  # the terminals' default tab width

# Python calls these printable, but they show nothing: fillers, joiners, variation selectors other than those of emoji.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    map(chr, range(0xE0100, 0xE01F0))
)


def strip(text: str) -> str:
    r"""Text without control sequences; newlines and tabs stay, a ``\r`` redraws its line.

    >>> strip("\x1b[1mProceed?\x1b[0m [y/N]")
    'Proceed? [y/N]'
    >>> strip("10%\r20%")
    '20%'
    """
    if text.replace("\n", " ").isprintable():  # as most captures: without a control character, in a third of the time
        return text
    if "\r" in text or _ERASED.search(text):
        text = "\n".join(_redraw(line) for line in text.replace("\r\n", "\n").split("\n"))
    if _CONTROL.search(text) is None:
        return text
    return _SEQUENCE.sub("", text)


def painted(text: str) -> str:
    r"""Text in which frames are drawn that a capture has as letters between SO and SI; colours among them stay.

    >>> painted("\x0elqk\x0f OK")
    '┌─┐ OK'
    """
    if "\x0e" not in text:
        return text
    return _PAINTED.sub(lambda part: _PAINT.sub(_drawn, part[1]), text).replace("\x0f", "")


def _drawn(found: re.Match[str]) -> str:
    return found[0].translate(_DRAWING) if len(found[0]) == 1 else found[0]


def fold(text: str) -> str:
    """Text with every kind of blank as a plain blank, and without characters of no width."""
    if not text.isascii() and not _FOLDABLE.isdisjoint(text):
        text = text.translate(_FOLD)
    return text.expandtabs(_TAB) if "\t" in text else text


def hides(text: str) -> bool:
    """Whether the text is not what it looks like: with characters that show nothing, or blanks of another kind.

    >>> hides("git\u00a0status"), hides("git status")
    (True, False)
    """
    return not text.isascii() and not (_FOLDABLE.isdisjoint(text) and _UNSEEN.isdisjoint(text))


def escaped(text: str) -> str:
    r"""Text that changes nothing about a terminal: on one line, and nothing in it is hidden or turned around.

    >>> escaped("a\x1b[2J\u202eb\n")
    'a\\x1b[2J\\u202eb\\n'
    """
    return "".join([char if char.isprintable() and char not in _UNSEEN else ascii(char)[1:-1] for char in text])


def coloured(text: str) -> str:
    r"""Text that changes nothing about a terminal but its colours: of its control sequences only SGR is left.

    >>> coloured("\x1b[31mred\x1b[2J \u202e")
    '\x1b[31mred \\u202e'
    """
    lines = [_SGR.split(line) for line in text.split("\n")]
    return "\n".join("".join(part if i % 2 else escaped(strip(part)) for i, part in enumerate(line)) for line in lines)


def cells(text: str) -> int:
    """How many terminal columns the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def cut(text: str, column: int) -> str:
    """The part of a line left of a column (0-based), padded with blanks up to it."""
    if text.isascii():
        return text[:column].ljust(column)
    width = 0
    for index, char in enumerate(text):
        step = _width(char)
        if width + step > column:
            return text[:index] + " " * (column - width)
        width += step
    return text + " " * (column - width)


def replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with others instead of some spans: (start, end, what is shown instead), in their order.

    >>> replaced("one two", [(0, 3, "1"), (4, 7, "2")])
    '1 2'
    """
    parts, at = [], 0
    for start, end, instead in changes:
        parts += [text[at:start], instead]
        at = end
    return "".join([*parts, text[at:]])


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1  # Unicode Annex 11


def _redraw(line: str) -> str:
    """What a line shows after its carriage returns: later text overwrites earlier, unless that was erased."""
    shown = ""
    for part in reversed(_ERASED.split(line)[-1].split("\r")):  # backwards, so that the cost stays linear
        shown += _SEQUENCE.sub("", part)[len(shown) :]
        if _REST_ERASED.search(part):
            break
    return shown
