"""The parse tree of `re`, for rules that look into a pattern: what it repeats, where it branches, what an item takes.

`re` promises nothing of it to anybody, so nothing but lint looks at it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from re import _parser  # type: ignore[attr-defined]  # the same
from typing import Any, Callable

__all__ = ["BLANKS", "FOLDS", "OTHERWISE", "parse", "takes_line_end"]

BLANKS = "".join(char for char in map(chr, range(0x3001)) if char.isspace())
# Unicode folds these to k, s, i and i: a pattern that ignores case finds them.
FOLDS = "\u212a\u017f\u0130\u0131"
# What `re` takes for other characters than `regex` does: POSIX classes, and fuzzy matching.
OTHERWISE = r"\[:\^?\w+:\]|\{[\s\d,<=+eisd]*[eisd][\s\d,<=+eisd]*(?::[^{}]*)?\}"
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


@lru_cache(maxsize=1024)
def parse(pattern: str, ignore_case: bool = False) -> Any:
    """The parse tree of `re`; raises re.error (with position) for a pattern that `re` does not accept."""
    return _parser.parse(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


def takes_line_end(code: Any, value: Any, flags: int) -> bool:
    """Whether an item can match the end of a line; True also where that is not known."""
    if code is op.LITERAL:
        return bool(value == 10)
    if code is op.NOT_LITERAL:
        return bool(value != 10)
    if code is op.ANY:
        return bool(flags & re.DOTALL)
    if code is op.IN:
        return _class_takes_line_end(value)
    return _any_within(code, value, flags, takes_line_end)


def _class_takes_line_end(members: Any) -> bool:
    negated = taken = False
    for code, value in members:
        if code is op.NEGATE:
            negated = True
        elif code is op.LITERAL:
            taken = taken or value == 10
        elif code is op.RANGE:
            taken = taken or value[0] <= 10 <= value[1]
        elif code is op.CATEGORY and value in (op.CATEGORY_SPACE, op.CATEGORY_NOT_WORD, op.CATEGORY_NOT_DIGIT):
            taken = True
        elif code is not op.CATEGORY or value not in (op.CATEGORY_NOT_SPACE, op.CATEGORY_WORD, op.CATEGORY_DIGIT):
            return True
    return taken != negated


def _any_within(code: Any, value: Any, flags: int, holds: Callable[[Any, Any, int], bool]) -> bool:
    """Whether it holds for some item inside of this one; True for an item of an unknown kind."""
    if code is op.SUBPATTERN:
        _, add_flags, del_flags, inner = value
        flags, items = (flags | add_flags) & ~del_flags, inner.data
    elif code is op.BRANCH:
        items = [item for branch in value[1] for item in branch.data]
    elif code is op.ATOMIC_GROUP:
        items = value.data
    elif code in _REPEATS:
        items = value[2].data
    elif code in (op.ASSERT, op.ASSERT_NOT):
        items = value[1].data
    else:
        return code is not op.AT
    return any(holds(inner_code, inner, flags) for inner_code, inner in items)
