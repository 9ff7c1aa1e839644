"""What the parse tree of a pattern says of its two ends: does it begin at a line's start, does it end in a blank.

Pure, over the tree of `re`; like `core/literals.py` it errs on the side of *no*.
"""

from __future__ import annotations

from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from typing import Any, Sequence

from stallkit.core.literals import parse
from stallkit.core.signature import Clause

__all__ = ["begins_line", "ends_in_blank", "ends_line"]

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_BLANKS = {(op.LITERAL, ord(" ")), (op.LITERAL, ord("\t"))}
_LINE_ENDS = (op.AT_END, op.AT_END_STRING)


def begins_line(tree: Any) -> bool:
    """Whether every match begins at the start of a line (or of the text)."""
    for code, value in tree:
        if code is op.AT:
            return value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING)
        if code is op.SUBPATTERN:
            return begins_line(value[3])
        if code is op.BRANCH:
            return all(begins_line(branch) for branch in value[1])
        if code not in (op.ASSERT, op.ASSERT_NOT):
            return False
    return False


def ends_line(tree: Any) -> bool:
    """Whether every match ends at the end of a line (or of the text), told by the pattern's last item."""
    items = list(tree)
    if not items:
        return False
    code, value = items[-1]
    if code is op.SUBPATTERN:
        return ends_line(value[3])
    if code is op.BRANCH:
        return all(ends_line(branch) for branch in value[1])
    return code is op.AT and value in _LINE_ENDS


def ends_in_blank(clause: Clause) -> bool:
    """Whether some way to match the pattern needs a blank as its last character."""
    return _ends_in_blank(list(parse(clause.pattern or "", clause.ignore_case)))


def _ends_in_blank(items: Sequence[Any]) -> bool:
    items = list(items)
    while items and items[-1][0] is op.AT and items[-1][1] in _LINE_ENDS:
        items.pop()
    while items and _only_perhaps_blanks(items[-1]):
        items.pop()  # [ ]* says nothing, what is before it does
    if not items:
        return False
    code, value = items[-1]
    if code is op.SUBPATTERN:
        return _ends_in_blank(value[3])
    if code is op.ATOMIC_GROUP:
        return _ends_in_blank(value)
    if code is op.BRANCH:
        return any(_ends_in_blank(branch) for branch in value[1])
    if code in _REPEATS:
        return _ends_in_blank(value[2])
    if code is op.IN:
        return all(item in _BLANKS for item in value)
    return items[-1] in _BLANKS


def _only_perhaps_blanks(item: Any) -> bool:
    code, value = item
    return code in _REPEATS and value[0] == 0 and _ends_in_blank(value[2])
