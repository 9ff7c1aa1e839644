"""Rules on one pattern: both engines take it, it needs something, no end blank, no chevron just anywhere."""

from __future__ import annotations

import re
import warnings
from typing import Any, Iterator

from stallkit.core.literals import last_characters, parse, requirements
from stallkit.core.signature import Clause
from stallkit.lab.lint.findings import Finding, Level, brief
from stallkit.lab.lint.subject import Subject
from stallkit.lab.lint.tree import begins_line, ends_in_blank, ends_line

__all__ = ["check"]

_CHEVRONS = "\u203a\u276f\u25b8\u25b6"  # requirement C1: › ❯ ▸ ▶
_SAYS_NOTHING = set(_CHEVRONS) | {"?", " "}


def check(subject: Subject) -> Iterator[Finding]:
    """Findings on each clause by itself."""
    for signature, role, item, clause in subject.clauses():
        if clause.pattern is not None:
            for code, message in _engines(clause):
                yield subject.finding(code, message, signature, role, item)
            if clause.where not in ("prompt_line", "title") and ends_in_blank(clause):
                anchored = ends_line(_tree(clause))
                if anchored or role == "all_of":
                    why = "can never hold" if anchored else "does not hold at the end of a line"
                    why = f"{brief(clause)} {why}: captures trim its last blank"
                    level = Level.ERROR if anchored else Level.WARNING
                    yield subject.finding("SK106", why, signature, role, item, level)
        if role == "all_of" and _bare_chevron(clause):
            alone = not any(_tells(other) for other in signature.all_of if other is not clause)
            why = f"{brief(clause)} holds wherever a chevron stands"
            level = Level.ERROR if alone else Level.WARNING
            yield subject.finding("SK107", why, signature, role, item, level)
    for signature in subject.pack.signatures:
        if not any(map(_narrows, signature.all_of)):
            why = "no clause of all_of has a literal, and none is on the prompt line: its patterns run on every screen"
            yield subject.finding("SK105", why, signature, "all_of")


def _engines(clause: Clause) -> Iterator[tuple[str, str]]:
    """What `regex` refuses of what `re` took, and what `re` itself warns of."""
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
        try:
            re.compile(pattern, re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0))
        except (re.error, OverflowError, RecursionError) as error:
            yield "SK101", f"re does not take {pattern!r}: {error}"
    for one in warned:
        if issubclass(one.category, (FutureWarning, DeprecationWarning)):
            yield "SK102", f"re warns of {pattern!r}: {one.message}"


def _narrows(clause: Clause) -> bool:
    """Whether a clause spares most screens the search: by a literal, or since it looks at one line."""
    return bool(requirements(clause)) or clause.where in ("prompt_line", "title", "above") or _ends(clause)


def _ends(clause: Clause) -> bool:
    return clause.where == "prompt_line" and last_characters(clause) is not None


def _tells(clause: Clause) -> bool:
    """Whether something besides a chevron, a question mark and blanks must be there."""
    return any(not set(literal) <= _SAYS_NOTHING for found in requirements(clause) for literal in found)


def _bare_chevron(clause: Clause) -> bool:
    """Whether the clause asks for a chevron and nothing else, anywhere in a line."""
    found = requirements(clause)
    asks = any(set(literal) & set(_CHEVRONS) for literals in found for literal in literals)
    if not asks or any(not set(literal) <= _SAYS_NOTHING for literals in found for literal in literals):
        return False
    return clause.text is not None or not begins_line(_tree(clause))


def _tree(clause: Clause) -> Any:
    return parse(clause.pattern or "", clause.ignore_case)
