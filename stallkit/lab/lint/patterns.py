"""Rules on one pattern: both engines compile it, it needs some text, no blank at the end, no chevron anywhere."""

from __future__ import annotations

import re
import warnings
from re import _constants as op  # type: ignore[attr-defined]  # typeshed leaves re's own parser out
from typing import Any, Iterator, Sequence

from stallkit.core.signature import Clause
from stallkit.lab.lint.findings import Finding, Level, brief
from stallkit.lab.lint.subject import Subject
from stallkit.lab.lint.tree import parse

__all__ = ["check", "refused"]

_CHEVRONS = "\u203a\u276f\u25b8\u25b6"  # › ❯ ▸ ▶
_SAYS_NOTHING = set(_CHEVRONS) | {"?", " "}
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_BLANKS = {(op.LITERAL, ord(" ")), (op.LITERAL, ord("\t"))}
_LINE_ENDS = (op.AT_END, op.AT_END_STRING)


def check(subject: Subject) -> Iterator[Finding]:
    """Findings on each clause by itself."""
    for signature, role, item, clause in subject.clauses():
        if clause.pattern is not None:
            for code, message in _engines(clause):
                yield subject.finding(code, message, signature, role, item)
            if clause.where not in ("prompt_line", "title") and _needs_end_blank(clause):
                anchored = _ends_line(_tree(clause))
                if anchored or role == "all_of":
                    why = "can never hold" if anchored else "does not hold at the end of a line"
                    why = f"{brief(clause)} {why}: captures trim its last blank"
                    level = Level.ERROR if anchored else Level.WARNING
                    yield subject.finding("SK106", why, signature, role, item, level)
        if role == "all_of" and _bare_chevron(clause):
            alone = not any(_tells(other) for other in signature.all_of if other is not clause)
            why = f"{brief(clause)} holds wherever there is a chevron"
            level = Level.ERROR if alone else Level.WARNING
            yield subject.finding("SK107", why, signature, role, item, level)
    for signature in subject.pack.signatures:
        if not any(map(_narrows, signature.all_of)):
            why = "no clause of all_of has a literal, and none is on the prompt line: its patterns run on every screen"
            yield subject.finding("SK105", why, signature, "all_of")


def refused(subject: Subject) -> Iterator[Finding]:
    """Findings on patterns that `re` does not take, of which nothing else can be told."""
    for signature, role, item, clause in subject.clauses():
        try:
            parse(clause.pattern or "", clause.ignore_case)
        except (re.error, OverflowError, RecursionError) as error:
            why = f"re does not take {clause.pattern!r}: {error}"
            yield subject.finding("SK101", why, signature, role, item)


def _engines(clause: Clause) -> Iterator[tuple[str, str]]:
    """Refusals by `regex` of a pattern that `re` compiles, and `re`'s own warnings."""
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if clause.ignore_case else 0)
    pattern = clause.pattern or ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            regex.compile(pattern, flags)
        except (regex.error, OverflowError, RecursionError, ValueError) as error:
            yield "SK101", f"regex does not take {pattern!r}: {error}"
        re.purge()  # it warns the first time only
        re.compile(pattern, re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0))
    for one in warned:
        if issubclass(one.category, (FutureWarning, DeprecationWarning)):
            yield "SK102", f"re warns of {pattern!r}: {one.message}"


def _narrows(clause: Clause) -> bool:
    """Whether a clause saves the search on most screens: it has a literal, or looks at one line."""
    return bool(clause.texts) or clause.where in ("prompt_line", "title", "above") or _ends(clause)


def _ends(clause: Clause) -> bool:
    return clause.where == "prompt_line" and clause.needs.ends is not None


def _tells(clause: Clause) -> bool:
    """Whether it needs something besides a chevron, a question mark and blanks."""
    return any(not set(literal) <= _SAYS_NOTHING for found in clause.texts for literal in found)


def _bare_chevron(clause: Clause) -> bool:
    """Whether the clause needs a chevron and nothing else, anywhere in a line."""
    found = clause.texts
    asks = any(set(literal) & set(_CHEVRONS) for literals in found for literal in literals)
    if not asks or any(not set(literal) <= _SAYS_NOTHING for literals in found for literal in literals):
        return False
    return clause.text is not None or not _begins_line(_tree(clause))


def _tree(clause: Clause) -> Any:
    return parse(clause.pattern or "", clause.ignore_case)


def _begins_line(tree: Any) -> bool:
    """Whether every match begins at the start of a line (or of the text)."""
    for code, value in tree:
        if code is op.AT:
            return value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING)
        if code is op.SUBPATTERN:
            return _begins_line(value[3])
        if code is op.BRANCH:
            return all(_begins_line(branch) for branch in value[1])
        if code not in (op.ASSERT, op.ASSERT_NOT):
            return False
    return False


def _ends_line(tree: Any) -> bool:
    """Whether every match ends at the end of a line (or of the text), by the pattern's last item."""
    items = list(tree)
    if not items:
        return False
    code, value = items[-1]
    if code is op.SUBPATTERN:
        return _ends_line(value[3])
    if code is op.BRANCH:
        return all(_ends_line(branch) for branch in value[1])
    return code is op.AT and value in _LINE_ENDS


def _needs_end_blank(clause: Clause) -> bool:
    """Whether some way to match the pattern needs a blank as its last character."""
    return _ends_in_blank(list(parse(clause.pattern or "", clause.ignore_case)))


def _ends_in_blank(items: Sequence[Any]) -> bool:
    items = list(items)
    while items and items[-1][0] is op.AT and items[-1][1] in _LINE_ENDS:
        items.pop()
    while items and _only_perhaps_blanks(items[-1]):
        items.pop()  # [ ]* decides nothing, the item before it does
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
