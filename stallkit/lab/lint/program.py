"""A pattern as a program for a plain backtracker (`steps`), made of the parse tree of `re`. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _compiler, _parser  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from re import _constants as op  # type: ignore[attr-defined]  # the same
from typing import Any

from attrs import define, field

from stallkit.core.signature import Clause
from stallkit.lab.lint.tree import parse

__all__ = ["Program", "Uncounted", "program"]

_LARGEST = 20_000  # instructions; only repeats of repeats with large bounds have more
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
_REPEATS = {op.MAX_REPEAT: "greedy", op.MIN_REPEAT: "lazy", op.POSSESSIVE_REPEAT: "possessive"}

# One of: one (character), run (of characters), at (a place), split (two ways), jump, mark (a place), unmark, loop,
# again (the text between two marks), look (around), atomic, fail.  The fields after the name are for `steps`.
Instruction = tuple[Any, ...]
Program = list[Instruction]


class Uncounted(Exception):
    """The pattern's steps are not counted: it tests whether a group matched, or is too large."""


@lru_cache(maxsize=512)
def program(clause: Clause) -> tuple[Program, int]:
    """The program of a clause's pattern, and the number of marks it needs.  Raises Uncounted."""
    tree = parse(clause.pattern or "", clause.ignore_case)
    made = _Maker(2 * tree.state.groups)
    made.sequence(tree, tree.state.flags)
    return made.code, made.marks


class _Accepts(dict[str, bool]):
    """Which characters one item of a pattern takes, by `re`, each tested once."""

    def __init__(self, item: Any, flags: int) -> None:
        self._match = _compiled(item, flags).match

    def __missing__(self, char: str) -> bool:
        self[char] = taken = self._match(char) is not None
        return taken


def _compiled(item: Any, flags: int) -> re.Pattern[str]:
    state = _parser.State()
    state.flags = flags
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [item]))
    return found


@define
class _Maker:
    """The program so far; `marks` are those of its groups and loops."""

    marks: int
    code: Program = field(factory=list)

    def sequence(self, items: Any, flags: int) -> None:
        for code, value in items:
            self._item(code, value, flags)
            if len(self.code) > _LARGEST:
                raise Uncounted

    def _item(self, code: Any, value: Any, flags: int) -> None:
        if code in _SINGLE:
            self.code.append(("one", _Accepts((code, value), flags)))
        elif code is op.AT:
            self.code.append(("at", _compiled((code, value), flags)))
        elif code is op.SUBPATTERN:
            group, add, remove, inner = value
            self._group(group, inner, flags & ~remove | add)
        elif code is op.BRANCH:
            self._branch(value[1], flags)
        elif code in _REPEATS:
            low, high, inner = value
            self._repeat(_REPEATS[code], low, high, inner, flags)
        elif code in (op.ASSERT, op.ASSERT_NOT):
            direction, inner = value
            back = inner.getwidth()[0] if direction < 0 else 0
            self.code.append(("look", self._apart(inner, flags), back, code is op.ASSERT))
        elif code is op.ATOMIC_GROUP:
            self.code.append(("atomic", self._apart(value, flags)))
        elif code is op.GROUPREF:
            self.code.append(("again", 2 * value, bool(flags & re.IGNORECASE)))
        elif code is op.FAILURE:
            self.code.append(("fail",))
        else:
            raise Uncounted

    def _apart(self, items: Any, flags: int) -> Program:
        """A program of its own, which shares the marks."""
        inner = _Maker(self.marks)
        inner.sequence(items, flags)
        self.marks = inner.marks
        return inner.code

    def _later(self) -> int:
        """The place of an instruction that is written once its successor is known."""
        self.code.append(("fail",))
        return len(self.code) - 1

    def _group(self, group: int | None, inner: Any, flags: int) -> None:
        if group is not None:
            self.code.append(("mark", 2 * group))
        self.sequence(inner, flags)
        if group is not None:
            self.code.append(("mark", 2 * group + 1))

    def _branch(self, branches: Any, flags: int) -> None:
        ends = []
        for branch in branches[:-1]:
            at = self._later()
            self.sequence(branch, flags)
            ends.append(self._later())
            self.code[at] = ("split", at + 1, len(self.code))
        self.sequence(branches[-1], flags)
        for end in ends:
            self.code[end] = ("jump", len(self.code))

    def _repeat(self, sort: str, low: int, high: Any, inner: Any, flags: int) -> None:
        if len(inner) == 1 and inner[0][0] in _SINGLE:
            most = None if high is op.MAXREPEAT else high
            self.code.append(("run", _Accepts(inner[0], flags), low, most, sort))
        elif sort == "possessive":
            self.code.append(("atomic", self._apart([(op.MAX_REPEAT, (low, high, inner))], flags)))
        else:
            for _ in range(low):
                self.sequence(inner, flags)
            if high is op.MAXREPEAT:
                self._loop(sort, inner, flags)
            else:
                self._some(sort, high - low, inner, flags)

    def _loop(self, sort: str, inner: Any, flags: int) -> None:
        number, self.marks = self.marks, self.marks + 1
        self.code.append(("unmark", number))
        at = self._later()
        self.sequence(inner, flags)
        self.code.append(("jump", at))
        self.code[at] = ("loop", number, len(self.code), sort)

    def _some(self, sort: str, count: int, inner: Any, flags: int) -> None:
        splits = []
        for _ in range(count):
            splits.append(self._later())
            self.sequence(inner, flags)
        for at in splits:
            ways = (at + 1, len(self.code))
            self.code[at] = ("split", *(ways if sort == "greedy" else ways[::-1]))
