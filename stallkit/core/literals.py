"""What a pattern requires: literals that must be in the text, and the characters it can end in.

The engine's prefilter is built from these.  Both err on the side of *no answer*: a pattern without a certain answer is
tried every time.  They come from the parse tree of `re`, so a pattern that `re` refuses is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from re import _parser  # type: ignore[attr-defined]  # the same
from typing import Any, Sequence

from stallkit.core.signature import Clause

__all__ = ["FOLDS", "check_pattern", "last_characters", "needs_ink", "parse", "required", "requirements", "worth"]

# Unicode folds these to k, s, i and i: a pattern that ignores case finds them where a lower-cased literal does not.
FOLDS = "\u212a\u017f\u0130\u0131"

_INK = "!~"  # the ASCII characters between these are not blanks
_MAX_ALTERNATIVES = 16  # of one clause; a wider choice is a poor filter


@lru_cache(maxsize=1024)  # a pack's reader, its check and the prefilter all ask: it is most of what loading costs
def parse(pattern: str, ignore_case: bool = False) -> Any:
    """The parse tree of `re`; raises re.error (with position) for a pattern that `re` does not accept."""
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    return _parser.parse(pattern, flags)


def check_pattern(clause: Clause) -> None:
    """Raises re.error, OverflowError or RecursionError where `re` does not accept the clause's pattern."""
    if clause.pattern is not None:
        parse(clause.pattern, clause.ignore_case)


def requirements(clause: Clause) -> list[frozenset[str]]:
    """Sets of literals: at least one of each set is in every text that the clause holds for."""
    if clause.text is not None:
        sets = [_usable(clause.text, clause.ignore_case)]
    else:
        tree = parse(clause.pattern or "", clause.ignore_case)
        sets = _sets(tree, bool(tree.state.flags & re.IGNORECASE))
    return [found for found in sets if found]


def required(clause: Clause) -> frozenset[str] | None:
    """The rarest set of its requirements; None where there is no requirement."""
    return max(requirements(clause), key=worth, default=None)


def worth(literals: frozenset[str] | frozenset[bytes]) -> tuple[int, int]:
    """Greater for a rarer set: a guess from lengths."""
    return min(map(len, literals)), -len(literals)


def _usable(literal: str, insensitive: bool) -> frozenset[str] | None:
    """The longest piece of a literal that survives line ends, trimmed blanks and, if case is ignored, folding."""
    if insensitive:  # only ASCII is lowered in what is searched: other letters with a case cut the literal
        literal = "".join(char if char.isascii() or char.lower() == char.upper() else "\n" for char in literal)
    pieces = literal.split("\n")
    longest = max((piece.strip() for piece in pieces), key=len)
    return frozenset({longest.lower() if insensitive else longest}) if longest else None


def _sets(tree: Any, insensitive: bool) -> list[frozenset[str] | None]:
    """Every required any-of set that the items of a sequence give."""
    found: list[frozenset[str] | None] = []
    run = ""
    for code, value in [*tree, (None, None)]:
        if code is op.LITERAL:
            run += chr(value)
            continue
        if run:
            found.append(_usable(run, insensitive))
            run = ""
        if code is op.SUBPATTERN:
            _, add_flags, del_flags, inner = value
            if not (add_flags | del_flags) & re.IGNORECASE:
                found += _sets(inner, insensitive)
        elif code is op.ATOMIC_GROUP:
            found += _sets(value, insensitive)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and value[0] >= 1:
            found += _sets(value[2], insensitive)
        elif code is op.BRANCH:
            found.append(_either([_sets(branch, insensitive) for branch in value[1]]))
    return found


def _either(branches: Sequence[list[frozenset[str] | None]]) -> frozenset[str] | None:
    union: set[str] = set()
    for sets in branches:
        best = max((found for found in sets if found), key=worth, default=None)
        if best is None:
            return None
        union |= best
    return frozenset(union) if len(union) <= _MAX_ALTERNATIVES else None


def last_characters(clause: Clause) -> frozenset[str] | None:
    """The characters that a right-stripped prompt line ends in where the clause holds; None where it may be any.

    Known only for a pattern that reaches the end of its line by ``$``, with nothing but blanks before it.
    """
    if clause.pattern is None or clause.ignore_case:
        return None
    tree = parse(clause.pattern)
    items = list(tree)
    if tree.state.flags & re.IGNORECASE or not items or items.pop() != (op.AT, op.AT_END):
        return None
    while items and _only_blanks(items[-1]):
        items.pop()
    return _ends(items[-1]) if items else None


def needs_ink(clause: Clause) -> bool:
    """Whether the clause can hold only where there is a character other than a blank; False also where unknown."""
    if clause.text is not None:
        return not clause.text.isspace()
    return _has_ink(parse(clause.pattern or "", clause.ignore_case))


def _has_ink(tree: Any) -> bool:
    return any(map(_is_ink, tree))


def _is_ink(item: tuple[Any, Any]) -> bool:
    code, value = item
    if code is op.LITERAL:
        return not chr(value).isspace()
    if code is op.IN:
        return all(map(_is_ink, value))
    if code is op.RANGE:
        return bool(_INK[0] <= chr(value[0]) <= chr(value[1]) <= _INK[1])
    if code is op.CATEGORY:
        return value in (op.CATEGORY_DIGIT, op.CATEGORY_WORD, op.CATEGORY_NOT_SPACE)
    if code is op.SUBPATTERN:
        return _has_ink(value[3])
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return value[0] >= 1 and _has_ink(value[2])
    return code is op.BRANCH and all(map(_has_ink, value[1]))


def _only_blanks(item: tuple[Any, Any]) -> bool:
    code, value = item
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return all(map(_only_blanks, value[2]))
    if code is op.IN:
        return all(map(_only_blanks, value))
    return item in ((op.LITERAL, ord(" ")), (op.CATEGORY, op.CATEGORY_SPACE))


def _ends(item: tuple[Any, Any]) -> frozenset[str] | None:
    code, value = item
    if code is op.LITERAL and not chr(value).isspace():
        return frozenset(chr(value))
    if code is op.IN and all(part[0] is op.LITERAL and not chr(part[1]).isspace() for part in value):
        return frozenset(chr(part[1]) for part in value)
    if code is op.SUBPATTERN and value[3] and not value[1] & re.IGNORECASE:
        return _ends(list(value[3])[-1])
    if code is op.BRANCH:
        ends = [_ends(list(branch)[-1]) if branch else None for branch in value[1]]
        known = [end for end in ends if end is not None]
        return frozenset().union(*known) if len(known) == len(ends) else None
    return None
