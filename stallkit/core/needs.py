"""What a signature needs of a screen: the texts and characters that must be there, and which of them on one line.

Sound: where a clause holds, its needs are met.  They are wider than the clause, and come from the parse tree of `re`:
look-around, back-references, places and order are left out, a possessive or atomic part counts as a plain one, and
whatever is not understood needs nothing.  Everything here is a plain value made from one signature alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from typing import Any, Callable, NamedTuple, Sequence

from stallkit.core.literals import needs_ink, parse
from stallkit.core.signature import Clause

__all__ = [
    "BEYOND_ASCII",
    "INK",
    "LINE_END",
    "MARGIN",
    "ONE_LINE",
    "OTHERWISE",
    "Atom",
    "ClauseNeeds",
    "by_line",
    "of_clause",
    "takes_line_end",
    "worth",
]

ONE_LINE = ("prompt_line", "above", "title")  # regions of one line

_MOST_WAYS = 24  # alternatives of one clause; of more, the rarest text of each is kept
_MOST_TIMES = 5  # of what is repeated over several lines
_MOST_TEXTS = 100  # alternatives of one text
_MOST_CHARACTERS = 512  # of one class; braille has 256
_IGNORECASE, _MULTILINE, _DOTALL = int(re.IGNORECASE), int(re.MULTILINE), int(re.DOTALL)  # as flags they are slow
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
# What `re` takes for other characters than `regex` does: POSIX classes, and fuzzy matching.
OTHERWISE = r"\[:\^?\w+:\]|\{[\s\d,<=+eisd]*[eisd][\s\d,<=+eisd]*(?::[^{}]*)?\}"
_DIGITS = frozenset("0123456789")

MARGIN = "│┃|"  # with blanks, what a line may begin and end with before it says something
_BEGINS = ((op.LITERAL, 10), (op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))
_ENDS = ((op.LITERAL, 10), (op.AT, op.AT_END), (op.AT, op.AT_END_STRING))

BEYOND_ASCII = ""  # stands for all characters beyond ASCII


class Atom(NamedTuple):
    """Something that a line has: ``any`` of some texts (ASCII lowered) and characters, some ``ink``, a ``head`` or a
    ``foot`` (the first and the last character that is no blank and no margin).
    """

    sort: str
    any_of: frozenset[str] = frozenset()  # what is longer than one character is lowered
    folds: bool = False  # case is ignored, so that characters beyond ASCII may stand for those of ASCII


Piece = frozenset[Atom]  # all of it is on one line
Way = tuple[Piece, ...]  # each piece is on some line of the region, not above that of the one before


class ClauseNeeds(NamedTuple):
    """A clause's region, and the ways in which it may be met: at least one of them is.

    `by_line`: it holds on a text exactly where it holds on one of its lines alone.
    """

    where: str
    ways: tuple[Way, ...]
    by_line: bool


INK = Atom("ink")
_NOTHING: Piece = frozenset()
LINE_END: Piece = frozenset({Atom("line end")})  # between two pieces: they are on two lines
_FREE: tuple[Way, ...] = ((_NOTHING,),)  # needs nothing, on the same line
_APART: tuple[Way, ...] = ((_NOTHING, _NOTHING),)  # needs nothing, and what follows may be on another line
_BELOW: tuple[Way, ...] = ((_NOTHING, LINE_END, _NOTHING),)  # the same, but it is on another line


@lru_cache(maxsize=8192)  # more than any set of packs has; a fuzzer must not fill the memory
def of_clause(clause: Clause) -> ClauseNeeds:
    """What a clause needs of its region: a value made from it alone, which can be pickled and kept."""
    one_line = clause.where in ONE_LINE
    by_line = True
    if clause.text is not None:
        flags = _IGNORECASE if clause.ignore_case else 0
        parts = [part for line in clause.text.split("\n") for part in ("\n", line)][1:]
        ways = _joined([_of_text(part, flags) for part in parts])
        by_line = "\n" not in clause.text
    elif re.search(OTHERWISE, clause.pattern or ""):
        ways, by_line = _FREE, False
    else:
        tree = parse(clause.pattern or "", clause.ignore_case)
        flags, items = int(tree.state.flags), tree.data
        ways = _sequence(items, flags, one_line)
        by_line = one_line or not any(_is_across(code, value, flags) for code, value in items)
    if clause.where == "prompt_line" and needs_ink(clause):
        ways = tuple((way[0] | {INK}, *way[1:]) for way in ways)
    ways = tuple(dict.fromkeys(tuple(filter(None, way)) for way in ways))
    return ClauseNeeds(clause.where, ways if all(map(_says, ways)) else (), one_line or by_line)


def by_line(clause: Clause) -> bool:
    """Whether it holds on a text exactly where it holds on one of its lines alone."""
    return of_clause(clause).by_line


@lru_cache(maxsize=8192)
def worth(atom: Atom) -> tuple[int, int]:
    """Greater for a rarer one: a guess from lengths."""
    if not atom.any_of or BEYOND_ASCII in atom.any_of:
        return 0, 0
    shortest = min([len(text.encode("utf-8", "surrogatepass")) for text in atom.any_of])
    return shortest + (atom.sort != "any"), -len(atom.any_of)


def _of_text(text: str, flags: int) -> tuple[Way, ...]:
    if text == "\n":
        return _BELOW
    ignores = bool(flags & _IGNORECASE)
    if ignores:  # only ASCII is lowered in what is searched: other letters with a case cut the text
        text = "".join(char if char.isascii() or char.lower() == char.upper() else "\n" for char in text)
    longest = max((part.strip() for part in text.split("\n")), key=len)
    if not longest:
        return _FREE
    if len(longest) == 1:
        return ((frozenset({_characters({longest}, ignores)}),),)
    return ((frozenset({Atom("any", frozenset({_lowered(longest)}), ignores)}),),)


def _characters(chars: set[str] | frozenset[str], ignores: bool) -> Atom:
    if ignores:
        chars = {form for char in chars for form in (char.lower(), char.upper())}
    return Atom("any", frozenset(chars), ignores)


def _lowered(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _sequence(items: list[Any], flags: int, one_line: bool) -> tuple[Way, ...]:
    """The ways of a sequence of items, with runs of literals as texts."""
    before, after = _edges(items, flags)
    parts: list[tuple[Way, ...]] = []
    run = ""
    for place, (code, value) in enumerate([*items, (None, None)]):
        literal = code is op.LITERAL and value != 10
        if run and (not literal or place in before):
            parts.append(_of_text(run, flags))
            run = ""
        if place in before:
            parts.append(((frozenset({before[place]}),),))
        if literal:
            run += chr(value)
        elif code is not None:
            parts.append(_item(code, value, flags, one_line))
        if place in after:
            if run:
                parts.append(_of_text(run, flags))
                run = ""
            parts.append(((frozenset({after[place]}),),))
    return _joined(parts)


def _edges(items: list[Any], flags: int) -> tuple[dict[int, Atom], dict[int, Atom]]:
    """What the lines that begin, or end, within a sequence begin and end with: by the place before, or after, it."""
    before: dict[int, Atom] = {}
    after: dict[int, Atom] = {}
    for place, item in enumerate(items):
        if item[0] is not op.LITERAL and item[0] is not op.AT:
            continue
        if item in _BEGINS and (found := _edge(items[place + 1 :], flags, False)):
            before[place + 1 + found[0]] = Atom("head", *found[1])
        if item in _ENDS and (found := _edge(items[:place][::-1], flags, True)):
            after[place - 1 - found[0]] = Atom("foot", *found[1])
    return before, after


def _edge(items: list[Any], flags: int, backwards: bool) -> tuple[int, tuple[frozenset[str], bool]] | None:
    """The first item that may be more than a margin, and the characters that can be the first one of no margin."""
    place = 0
    while place < len(items) and _first([items[place]], flags, backwards) == (frozenset(), True):
        place += 1
    first = _first(items[place:], flags, backwards)
    if first is None or first[1] or any(char != BEYOND_ASCII and _unsure(char, flags) for char in first[0]):
        return None
    atom = _characters(first[0], bool(flags & _IGNORECASE))
    return place, (atom.any_of, atom.folds)


def _unsure(char: str, flags: int) -> bool:
    return bool(flags & _IGNORECASE) and not char.isascii() and char.lower() != char.upper()


def _first(items: Any, flags: int, backwards: bool) -> tuple[frozenset[str], bool] | None:
    """The characters that can come first, other than a margin's, and whether there may be none; None if unknown."""
    found: frozenset[str] = frozenset()
    for code, value in items:
        one = _first_of(code, value, flags, backwards)
        if one is None:
            return None
        found |= one[0]
        if not one[1]:
            return found, False
    return found, True


def _turned(items: Any, backwards: bool) -> list[Any]:
    listed: list[Any] = items.data
    return listed[::-1] if backwards else listed


def _first_of(code: Any, value: Any, flags: int, backwards: bool) -> tuple[frozenset[str], bool] | None:
    if code in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return frozenset(), True
    if code is op.LITERAL:
        return _no_margin({chr(value)}) if value != 10 else None
    if code is op.IN:
        return _no_margin(_members(value))
    if code is op.SUBPATTERN:
        _, add_flags, del_flags, inner = value
        if (add_flags | del_flags) & _IGNORECASE:
            return None
        return _first(_turned(inner, backwards), flags, backwards)
    if code is op.ATOMIC_GROUP:
        return _first(_turned(value, backwards), flags, backwards)
    if code in _REPEATS:
        first = _first(_turned(value[2], backwards), flags, backwards)
        return first and (first[0], first[1] or value[0] == 0)
    if code is op.BRANCH:
        firsts = [_first(_turned(branch, backwards), flags, backwards) for branch in value[1]]
        known = [first for first in firsts if first is not None]
        if len(known) < len(firsts):
            return None
        return frozenset[str]().union(*[chars for chars, _ in known]), any(none for _, none in known)
    return None


def _no_margin(chars: set[str] | None) -> tuple[frozenset[str], bool] | None:
    if chars is None:
        return None
    own = frozenset(char for char in chars if not char.isspace() and char not in set(MARGIN))
    return own, len(own) < len(chars)


def _members(members: Any) -> set[str] | None:
    """The characters of a class; None where they are too many, or not certain."""
    found: set[str] = set()
    for code, value in members:
        if code is op.LITERAL:
            found.add(chr(value))
        elif code is op.RANGE and value[1] - value[0] < _MOST_CHARACTERS:
            found.update(map(chr, range(value[0], value[1] + 1)))
        elif code is op.CATEGORY and value is op.CATEGORY_DIGIT:
            found |= {*_DIGITS, BEYOND_ASCII}  # some of those are digits
        elif code is op.CATEGORY and value is op.CATEGORY_SPACE:
            found.add(" ")  # any blank counts as a plain one
        else:
            return None
    return found if len(found) <= _MOST_CHARACTERS else None


def _item(code: Any, value: Any, flags: int, one_line: bool) -> tuple[Way, ...]:
    if code is op.SUBPATTERN:
        _, add_flags, del_flags, inner = value
        return _sequence(inner.data, (flags | add_flags) & ~del_flags, one_line)
    if code is op.ATOMIC_GROUP:
        return _sequence(value.data, flags, one_line)
    if code is op.BRANCH:
        return _either([_sequence(branch.data, flags, one_line) for branch in value[1]])
    if code in (op.ASSERT, op.ASSERT_NOT, op.AT):
        return _FREE
    if code is op.LITERAL:
        return _FREE if one_line else _BELOW
    apart = not one_line and takes_line_end(code, value, flags)
    if code in _REPEATS and value[0] >= 1:
        once = _sequence(value[2].data, flags, one_line)
        return _joined([*[once] * min(value[0], _MOST_TIMES), _APART]) if apart else once
    if apart:
        return _APART
    if code is op.IN:
        chars = _enumerated(value, flags)
        return _FREE if chars is None else ((frozenset({chars}),),)
    return _FREE


def _enumerated(members: Any, flags: int) -> Atom | None:
    """One of the characters of a class; None where they are too many, or not certain."""
    found = _members(members)
    if found is None or any(char.isspace() or (char and _unsure(char, flags)) for char in found):
        return None
    return _characters(found, bool(flags & _IGNORECASE))


def _joined(parts: Sequence[tuple[Way, ...]]) -> tuple[Way, ...]:
    """One after the other: the last piece of what is before and the first of what follows are on one line."""
    ways = _FREE
    for part in parts:
        then = part if len(ways) * len(part) <= _MOST_WAYS else _narrowed(part)
        ways = _distinct([(*left[:-1], left[-1] | right[0], *right[1:]) for left, right in product(ways, then)])
    return ways


def _either(branches: Sequence[tuple[Way, ...]]) -> tuple[Way, ...]:
    ways = _distinct([way for branch in branches for way in branch])
    if len(ways) > _MOST_WAYS or all(len(way) == 1 and len(way[0]) <= 1 for way in ways):
        return _narrowed(ways)
    return ways


def _distinct(ways: Sequence[Way]) -> tuple[Way, ...]:
    """The ways without those that say nothing more: where one needs nothing, all together need nothing."""
    if not all(map(_says, ways)):
        return (
            _FREE if all(len(way) == 1 for way in ways) else _BELOW if all(LINE_END in way for way in ways) else _APART
        )
    return tuple(dict.fromkeys((way[0], *filter(None, way[1:-1]), way[-1]) if way[1:] else way for way in ways))


def _says(way: Way) -> bool:
    return any(piece and piece != LINE_END for piece in way)


def _narrowed(ways: tuple[Way, ...]) -> tuple[Way, ...]:
    """One way that is met wherever one of these is: any of their rarest atoms."""
    one_line = all(len(way) == 1 for way in ways)
    best = [
        max((atom for piece in way for atom in piece if piece != LINE_END), key=worth, default=None) for way in ways
    ]
    known = [atom for atom in best if atom is not None]
    union = frozenset(text for atom in known for text in atom.any_of)
    if len(known) < len(best) or sum(len(text) > 1 for text in union) > _MOST_TEXTS:
        return _FREE if one_line else _APART
    merged: Piece = frozenset({Atom("any", union, any(atom.folds for atom in known))})
    return ((merged,),) if one_line else ((_NOTHING, merged, _NOTHING),)


def takes_line_end(code: Any, value: Any, flags: int) -> bool:
    """Whether an item can match the end of a line; True also where that is not known."""
    if code is op.LITERAL:
        return bool(value == 10)
    if code is op.NOT_LITERAL:
        return bool(value != 10)
    if code is op.ANY:
        return bool(flags & _DOTALL)
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


def _is_across(code: Any, value: Any, flags: int) -> bool:
    """Whether an item can match, or see, more than its own line."""
    if code is op.AT:
        at_line = value in (op.AT_BEGINNING, op.AT_END) and flags & _MULTILINE
        return not at_line and value is not op.AT_BOUNDARY
    if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
        return takes_line_end(code, value, flags)
    return _any_within(code, value, flags, _is_across)
