"""How many steps a backtracking search through a region takes at most: a bound that is proven, not counted.

Pure, from the parse tree of `re`.  A step is a character, place, choice or return that a plain backtracker tries
(`lab.lint.steps` counts them).  The bound is what the worst text could cost if each repeat ended at every place where
it can, so it is far above most counts; what has no useful bound is *unproven*, which says nothing against a pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _compiler, _parser  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from re import _constants as op  # type: ignore[attr-defined]  # the same
from typing import Any, NamedTuple, Sequence

from stallkit.core.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT
from stallkit.core.signature import Clause
from stallkit.lab.lint.tree import BLANKS, FOLDS, OTHERWISE, parse, takes_line_end

__all__ = ["Room", "most_steps"]

_ONE_LINE = ("prompt_line", "above", "title")  # regions of one line
_UNPROVEN = 10**12  # from here on a bound is no bound
_MATCH = 50  # steps that a match counts for, as in `lab.lint.steps`
_IGNORECASE, _MULTILINE = int(re.IGNORECASE), int(re.MULTILINE)  # as flags they are slow
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_FUZZY = r"\{[\s\d,<=+]*[eisd]"  # `re` takes it for plain characters, `regex` perhaps not
_FEW = 600  # characters of a class that are tried one by one


class Room(NamedTuple):
    """How much a region can hold: lines, and characters in all of them.  Of several lines, none ends in blanks."""

    rows: int
    characters: int
    line: int = REGION_COLUMNS  # characters of the longest one

    @classmethod
    def of(cls, where: str) -> Room:
        """The size of a region by its name."""
        if where in _ONE_LINE:
            return cls(1, REGION_COLUMNS)
        count = re.search(r"\d+", where)
        rows = min(int(count[0]), MAX_LINES) if count else MAX_LINES
        return cls(rows, min(rows * (REGION_COLUMNS + 1) - 1, REGION_TEXT))


class _Cost(NamedTuple):
    """Of a part of a pattern, tried once: how often what follows is tried, and the steps within."""

    ways: int
    steps: int


def most_steps(clause: Clause, room: Room) -> int:
    """The most steps of a search for every place of the clause in a text of that size; huge where it is not known."""
    if clause.pattern is None or re.search(f"{OTHERWISE}|{_FUZZY}", clause.pattern):
        return _UNPROVEN
    tree = parse(clause.pattern, clause.ignore_case)
    return min(_search(tree.data, int(tree.state.flags), room) + 2 * room.characters + 20, _UNPROVEN)


def _search(items: Sequence[Any], flags: int, room: Room) -> int:
    if len(items) == 1 and items[0][0] is op.BRANCH:
        return sum(_search(branch.data, flags, room) for branch in items[0][1][1])
    if len(items) == 1 and items[0][0] is op.SUBPATTERN:
        _, add, remove, inner = items[0][1]
        return 2 * _search(inner.data, flags & ~remove | add, room)
    cost = _sequence(items, flags, room).steps + _MATCH
    if items and items[0] == (op.AT, op.AT_BEGINNING_STRING):
        return cost
    if not items or items[0] != (op.AT, op.AT_BEGINNING) or not flags & _MULTILINE:
        return (room.characters // _period(items, flags) + 1) * cost
    # From the beginning of each line: the cost grows with its length at least as fast, and the lengths have a sum.
    full, short = room.characters // max(1, room.line) + 1, Room(room.rows, room.characters, 0)
    return min(room.rows, full) * cost + room.rows * (_sequence(items, flags, short).steps + _MATCH)


def _period(items: Sequence[Any], flags: int) -> int:
    """How far two places are apart, at least, at which the literal in front may stand."""
    text = ""
    for code, value in items:
        if code is op.LITERAL:
            text += chr(value)
        elif code is not op.AT:
            break
    if flags & _IGNORECASE:
        text = text.lower() if text.isascii() else ""
    return next((by for by in range(1, len(text)) if text.startswith(text[by:])), max(1, len(text)))


def _sequence(items: Sequence[Any], flags: int, room: Room) -> _Cost:
    """The cost of items one after the other."""
    ways, steps = 1, 0
    for place, (code, value) in enumerate(items):
        cost = _item(code, value, flags, items[place + 1 :], room)
        steps += ways * (cost.steps + 1)
        ways *= cost.ways
        if steps > _UNPROVEN:
            return _Cost(_UNPROVEN, _UNPROVEN)
    return _Cost(ways, steps)


def _item(code: Any, value: Any, flags: int, rest: Sequence[Any], room: Room) -> _Cost:
    if code in _SINGLE or code is op.AT:
        return _Cost(1, 1)
    if code is op.SUBPATTERN:
        _, add, remove, inner = value
        cost = _sequence(list(inner), flags & ~remove | add, room)
        return _Cost(cost.ways, cost.steps + 2)
    if code is op.BRANCH:
        return _branch([branch.data for branch in value[1]], flags, room)
    if code in (op.ASSERT, op.ASSERT_NOT):
        return _Cost(1, _sequence(list(value[1]), flags, room).steps + 2)
    if code is op.ATOMIC_GROUP:
        return _Cost(1, _sequence(list(value), flags, room).steps + 2)
    if code is op.GROUPREF:
        return _Cost(1, 2)
    if code in _REPEATS:
        low, high, inner = value
        return _repeat(code, low, high, inner, flags, rest, room)
    return _Cost(_UNPROVEN, _UNPROVEN)


def _branch(branches: Sequence[Sequence[Any]], flags: int, room: Room) -> _Cost:
    """Of branches that begin with different characters, only those of one character go further than that."""
    anyway, by_char = _Cost(0, 0), dict[str, _Cost]()
    for branch in branches:
        cost, chars = _sequence(branch, flags, room), _first(branch, flags)
        if chars is None:
            anyway = _Cost(anyway.ways + cost.ways, anyway.steps + cost.steps)
        for char in chars or ():
            known = by_char.get(char, _Cost(0, 0))
            by_char[char] = _Cost(known.ways + cost.ways, known.steps + cost.steps)
    ways = anyway.ways + max([cost.ways for cost in by_char.values()], default=0)
    steps = anyway.steps + max([cost.steps for cost in by_char.values()], default=0)
    return _Cost(ways, steps + sum([4 + _refusal(branch, flags, room) for branch in branches]))


def _refusal(items: Sequence[Any], flags: int, room: Room) -> int:
    """The most steps until a sequence has refused a character that it cannot begin with."""
    taken = 2
    for place, (code, value) in enumerate(items):
        if code is op.SUBPATTERN:
            return taken + _refusal([*value[3].data, *items[place + 1 :]], flags, room)
        if code is op.ATOMIC_GROUP:
            return taken + _refusal([*value.data, *items[place + 1 :]], flags, room)
        if code is op.BRANCH:
            return taken + sum([2 + _refusal([*one.data, *items[place + 1 :]], flags, room) for one in value[1]])
        if code in _REPEATS:
            taken += 2 + _refusal(value[2].data, flags, room)
            if value[0]:
                return taken
        elif code in (op.ASSERT, op.ASSERT_NOT):
            taken += 2 + _sequence(value[1].data, flags, room).steps
        else:
            taken += 2
            if code is not op.AT:
                return taken
    return taken


def _first(items: Sequence[Any], flags: int) -> set[str] | None:
    """The characters that a sequence can begin with, in every case; None where they are many, or not known."""
    for code, value in items:
        if code is op.SUBPATTERN and not value[1] | value[2]:
            return _first([*value[3].data, *items[1:]], flags)
        if code is op.AT and value in (op.AT_BOUNDARY, op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return _first(items[1:], flags)
        if code in _REPEATS and value[0]:
            return _first([*value[2].data, *items[1:]], flags)
        if code is op.BRANCH:
            found = [_first([*branch.data, *items[1:]], flags) for branch in value[1]]
            return None if None in found else set[str]().union(*[one for one in found if one is not None])
        chars = _characters((code, value)) if code in _SINGLE else None
        return chars and _forms(chars, flags)
    return None


def _repeat(code: Any, low: int, high: Any, inner: Any, flags: int, rest: Sequence[Any], room: Room) -> _Cost:
    items = list(inner)
    limit = room.characters if any(takes_line_end(one, what, flags) for one, what in items) else room.line
    if all(_only_blanks(item) for item in items):
        limit = min(limit, room.line + room.rows)  # blanks at the end of a line are cut off
    if (op.LITERAL, 10) in items:
        limit = min(limit, room.rows)
    times = max(low, limit if high is op.MAXREPEAT else min(int(high), limit))
    if len(items) == 1 and items[0][0] in _SINGLE:
        if code is op.POSSESSIVE_REPEAT:
            return _Cost(1, 2 * times + 2)
        if _apart(items[0], rest, flags):
            return _Cost(1, 2 * times + 2 + (times - low) * _refusal(rest, flags, room))
        return _Cost(times - low + 1, 2 * times + 2)
    once = _sequence(items, flags, room)
    if (low, high) == (0, 1):
        if items and items[0][0] in _SINGLE and _apart(items[0], rest, flags):
            return _Cost(once.ways, once.steps + 2 + _refusal(rest, flags, room))
        return _Cost(once.ways + 1, once.steps + 2)
    if not inner.getwidth()[0] and high is op.MAXREPEAT:
        return _Cost(_UNPROVEN, _UNPROVEN)
    if once.ways > 1 and times > 1:
        if times > 12:
            return _Cost(_UNPROVEN, _UNPROVEN)
        ways = sum(once.ways**count for count in range(low, times + 1))
        steps = sum(once.ways**count for count in range(times + 1)) * (once.steps + 4)
    else:
        ways = (times - low) * once.ways + 1
        steps = (times + 1) * (once.steps + 4)
    return _Cost(1 if code is op.POSSESSIVE_REPEAT else ways, steps)


def _only_blanks(item: Any) -> bool:
    chars = _characters(item)
    return chars is not None and all(map(str.isspace, chars))


def _apart(item: Any, rest: Sequence[Any], flags: int) -> bool:
    """Whether what must follow takes none of the item's characters: then a run of it can end at one place alone."""
    for place, (code, value) in enumerate(rest):
        after = rest[place + 1 :]
        if code is op.AT and value in (op.AT_END, op.AT_END_STRING):
            return not takes_line_end(item[0], item[1], flags)
        if code is op.AT or code in (op.ASSERT, op.ASSERT_NOT):
            continue
        if code in _SINGLE:
            return _disjoint(_hashable(item), _hashable((code, value)), flags)
        if code is op.SUBPATTERN and not value[1] | value[2]:
            return _apart(item, [*value[3].data, *after], flags)
        if code is op.ATOMIC_GROUP:
            return _apart(item, [*value.data, *after], flags)
        if code is op.BRANCH:
            return all(_apart(item, [*branch.data, *after], flags) for branch in value[1])
        if code not in _REPEATS or not _apart(item, [*value[2].data, *after], flags):
            return False
        if value[0]:
            return True
    return False


@lru_cache(maxsize=2048)
def _disjoint(one: Any, other: Any, flags: int) -> bool:
    """Whether no character is taken by both of two single items."""
    for few, against in ((one, other), (other, one)):
        chars = _characters(few)
        if chars is not None:
            match = _match(against, flags).match
            return not any(match(char) for char in _forms(chars, flags))
    return {_category(one), _category(other)} in _APART


def _forms(chars: set[str], flags: int) -> set[str]:
    if not flags & _IGNORECASE:
        return chars
    folding = {*FOLDS} if any(char in "kKsSiI" for char in chars) else set()
    return {form for char in chars for form in (char, char.lower(), char.upper())} | folding


def _characters(item: Any) -> set[str] | None:
    """The characters that an item takes, case apart; None where they are many."""
    code, value = item
    if code is op.LITERAL:
        return {chr(value)}
    if code is not op.IN:
        return None
    found: set[str] = set()
    for kind, part in value:
        if kind is op.LITERAL:
            found.add(chr(part))
        elif kind is op.RANGE and part[1] - part[0] < _FEW:
            found.update(map(chr, range(part[0], part[1] + 1)))
        elif kind is op.CATEGORY and part is op.CATEGORY_SPACE:
            found.update(BLANKS)
        else:
            return None
    return found


_APART = (
    {op.CATEGORY_SPACE, op.CATEGORY_NOT_SPACE},
    {op.CATEGORY_WORD, op.CATEGORY_NOT_WORD},
    {op.CATEGORY_DIGIT, op.CATEGORY_NOT_DIGIT},
    {op.CATEGORY_SPACE, op.CATEGORY_WORD},
    {op.CATEGORY_SPACE, op.CATEGORY_DIGIT},
    {op.CATEGORY_NOT_WORD, op.CATEGORY_DIGIT},
)


def _category(item: Any) -> Any:
    """The category that an item is, such as ``\\w``; None where it is another class or a character."""
    code, value = item
    return value[0][1] if code is op.IN and len(value) == 1 and value[0][0] is op.CATEGORY else None


@lru_cache(maxsize=512)
def _match(item: Any, flags: int) -> re.Pattern[str]:
    state = _parser.State()
    state.flags = flags
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [_listed(item)]))
    return found


def _hashable(item: Any) -> Any:
    code, value = item
    return (code, tuple(value)) if code is op.IN else item


def _listed(item: Any) -> Any:
    code, value = item
    return (code, list(value)) if code is op.IN else item
