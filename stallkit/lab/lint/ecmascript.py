"""A pattern in JavaScript's syntax and as a true regular expression, for a checker that reads nothing else.

Pure, from the parse tree of `re`.  The result is wider than the pattern, so that the checker takes fractions of a
second: lookarounds are left out, atomic groups are plain ones, ``{0,80}`` is ``*``.  So the checker may report a false
danger: each is tried first (`runaways`).
"""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from typing import Any

from stallkit.core.signature import Clause
from stallkit.lab.lint.tree import parse

__all__ = ["ecmascript"]

_AT = {op.AT_BOUNDARY: r"\b", op.AT_NON_BOUNDARY: r"\B", op.AT_END: "$", op.AT_END_STRING: "$"}
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_MANY = 4  # a higher bound is dropped: each step of a repeat is a state of the checker's automaton


def ecmascript(clause: Clause) -> str:
    """The pattern of a clause, to be read with the flag ``m``."""
    tree = parse(clause.pattern or "", clause.ignore_case)
    return _sequence(tree, tree.state.flags)


def _sequence(items: Any, flags: int) -> str:
    return "".join(_item(code, value, flags) for code, value in items)


def _item(code: Any, value: Any, flags: int) -> str:
    if code is op.LITERAL:
        return _literal(value, flags)
    if code is op.NOT_LITERAL:
        return f"[^{_character(value)}]"
    if code is op.ANY:
        return r"[\s\S]" if flags & re.DOTALL else r"[^\n]"
    if code is op.IN:
        return _class(value, flags)
    if code is op.AT:
        return _AT.get(value, "^")
    if code is op.BRANCH:
        return "(?:" + "|".join(_sequence(branch, flags) for branch in value[1]) + ")"
    if code is op.SUBPATTERN:
        _, add, remove, inner = value
        return f"(?:{_sequence(inner, flags & ~remove | add)})"
    if code in _REPEATS:
        low, high, inner = value
        most = "" if high is op.MAXREPEAT or high > _MANY else high
        return f"(?:{_sequence(inner, flags)}){{{min(low, _MANY)},{most}}}"
    if code is op.ATOMIC_GROUP:
        return f"(?:{_sequence(value, flags)})"
    if code is op.GROUPREF_EXISTS:
        _, yes, no = value
        return f"(?:{_sequence(yes, flags)}|{_sequence(no or [], flags)})"
    return r"[^\n]*" if code is op.GROUPREF else "(?:)"


def _literal(code: int, flags: int) -> str:
    cases = _cases(code) if flags & re.IGNORECASE else _character(code)
    return f"[{cases}]" if len(cases) > len(_character(code)) else cases


def _class(items: Any, flags: int) -> str:
    inner = ""
    negated = False
    for code, value in items:
        if code is op.NEGATE:
            negated = True
        elif code is op.RANGE:
            inner += f"{_character(value[0])}-{_character(value[1])}"
        elif code is op.CATEGORY:
            inner += _CATEGORIES[value]
        else:
            inner += _cases(value) if flags & re.IGNORECASE else _character(value)
    return f"[{'^' if negated else ''}{inner}]"


def _cases(code: int) -> str:
    both = dict.fromkeys(case for case in (chr(code).lower(), chr(code).upper()) if len(case) == 1)
    return "".join(_character(ord(case)) for case in both) or _character(code)


def _character(code: int) -> str:
    """One character, in a class or outside; all beyond 16 bits are treated as equal."""
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\u{min(code, 0xFFFF):04x}"
