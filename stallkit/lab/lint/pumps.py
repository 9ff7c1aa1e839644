"""Texts that may make a pattern run long, from its parse tree: what a repeat takes, many times, then what it cannot.

Pure, and simple: it finds repeats in repeats, neighbours that take the same characters, and beginnings that may fill a
text.  recheck (`runaways`) looks deeper and takes longer.
"""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from typing import Any, Iterator

from stallkit.core.signature import Clause
from stallkit.lab.lint.tree import parse

__all__ = ["NOTHING", "pumps"]

NOTHING = "\u00a4"  # the currency sign: hardly any pattern has it
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)  # possessive ones give nothing back
_MANY = 30  # a bound below it multiplies the time by no more
_USUAL = " a0-:\n"
_ANYWHERE = (" ", "a", "a ", "0", "-", "? ", "(y) ", "y/n ", "a: ", "\n", "a\n")  # what may fill a screen
_MOST = 8  # pumps tried at one repeat
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def pumps(clause: Clause) -> Iterator[tuple[str, str, str]]:
    """Triples of a text that leads to a repeat, one that it repeats, and an end, each once; some lead to no repeat.

    The pattern does not take the end there.
    """
    tree = parse(clause.pattern or "", clause.ignore_case)
    alphabet = "".join(dict.fromkeys([*_USUAL, *_literals(tree)]))
    repeats = list(_repeats(tree, ""))
    made = [("", pump) for pump in (*_ANYWHERE, *_samples(tree, "")[:_MOST], *(before for before, _ in repeats))]
    for before, inner in repeats:
        made += [(before, text) for text in _samples(inner, alphabet)[:_MOST]]
    for before, pump in dict.fromkeys(made):
        if pump:
            yield before, pump, NOTHING


def _repeats(items: Any, before: str) -> Iterator[tuple[str, Any]]:
    """Every repeat without a near bound, with a text that leads to it."""
    for item in items:
        code, value = item
        if code in _REPEATS:
            if value[1] is op.MAXREPEAT or value[1] > _MANY:
                yield before, value[2]
            yield from _repeats(value[2], before)
        elif code is op.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        before += next(iter(_samples([item], "")), "")


def _samples(items: Any, alphabet: str) -> list[str]:
    """Texts that a sequence takes, the shortest first: one for each branch and, for a class, each of the alphabet."""
    found = [""]
    for code, value in items:
        found = [head + tail for head in found for tail in _choices(code, value, alphabet)][:_MOST]
    return found


def _choices(code: Any, value: Any, alphabet: str) -> list[str]:
    if code is op.LITERAL:
        return [chr(value)]
    if code in (op.IN, op.ANY, op.NOT_LITERAL):
        of = [char for char in alphabet or _USUAL if _takes(code, value, char)]
        return of or [chr(first) for first in _first(code, value)]
    if code in (*_REPEATS, op.POSSESSIVE_REPEAT):
        one = _samples(value[2], alphabet)
        return [text * value[0] for text in one] if value[0] else [*one[:1], ""] if alphabet else [""]
    if code is op.SUBPATTERN:
        return _samples(value[3], alphabet)
    if code is op.ATOMIC_GROUP:
        return _samples(value, alphabet)
    if code is op.BRANCH:
        return [text for branch in value[1] for text in _samples(branch, alphabet)]
    return [""]


def _takes(code: Any, value: Any, char: str) -> bool:
    if code is op.ANY:
        return char != "\n"
    if code is op.NOT_LITERAL:
        return bool(ord(char) != value)
    held: bool = False
    negated = False
    for kind, part in value:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            held = held or ord(char) == part
        elif kind is op.RANGE:
            held = held or part[0] <= ord(char) <= part[1]
        else:
            held = held or re.match(_CATEGORIES[part], char) is not None
    return held != negated


def _first(code: Any, value: Any) -> list[int]:
    if code is not op.IN:
        return [ord("x")]
    return [part if kind is op.LITERAL else part[0] for kind, part in value if kind in (op.LITERAL, op.RANGE)][:1]


def _literals(items: Any) -> Iterator[str]:
    for code, value in items:
        if code is op.LITERAL:
            yield chr(value)
        elif code is op.SUBPATTERN:
            yield from _literals(value[3])
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _literals(value[2])
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _literals(branch)
        elif code is op.IN:
            yield from (chr(part) for kind, part in value if kind is op.LITERAL)
