"""Rules on pairs of clauses: one implies another, two contradict, an earlier signature covers a whole one.

An implication is only found where it is certain: equal patterns, a literal inside another, a literal inside what a
pattern requires, the same in a region inside another.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from stallkit.detect.engine import Rule
from stallkit.detect.signature import Clause, CursorState, Signature, State
from stallkit_lab.lint.findings import Finding, brief
from stallkit_lab.lint.subject import ROLES, Subject

__all__ = ["check", "contained", "implies"]


def check(subject: Subject) -> Iterator[Finding]:
    """Findings on pairs of clauses, and on signatures that an earlier one covers."""
    for signature in subject.pack.signatures:
        for role in ROLES:
            clauses: Sequence[Clause] = getattr(signature, role)
            for item, other in _idle(clauses, keep_narrow=role == "all_of"):
                why = f"{brief(clauses[item])} adds nothing to {brief(clauses[other])} ({role}[{other + 1}])"
                yield subject.finding("SK201", why, signature, role, item)
        for item, veto in enumerate(signature.none_of):
            needed = next((clause for clause in signature.all_of if implies(clause, veto)), None)
            if needed is not None:
                yield subject.finding(
                    "SK204", f"{brief(needed)} never holds without {brief(veto)}", signature, "none_of", item
                )
    rules = subject.together.rules
    for place, rule in enumerate(rules):
        if rule.pack is subject.pack:
            earlier = next((before for before in rules[:place] if _takes_all(before, rule)), None)
            if earlier is not None:
                why = f"{earlier.name} matches all its screens first, by its clauses alone"
                yield subject.finding("SK202", why, rule.signature)


def _idle(clauses: Sequence[Clause], keep_narrow: bool) -> Iterator[tuple[int, int]]:
    """Each clause (by its place) that another makes redundant: in all_of the implied, in none_of the implying one.

    Of two equal ones the first is kept.
    """
    for one, clause in enumerate(clauses):
        for two, other in enumerate(clauses):
            strong, weak = (other, clause) if keep_narrow else (clause, other)
            if one != two and implies(strong, weak) and not (one < two and implies(weak, strong)):
                yield one, two
                break


def implies(strong: Clause, weak: Clause) -> bool:
    """Whether the second clause surely holds on every screen on which the first one does."""
    if not contained(strong.where, weak.where) or (_given(weak) and _given(weak) != _given(strong)):
        return False
    loose_enough = weak.ignore_case or not strong.ignore_case
    if strong.pattern is not None and strong.pattern == weak.pattern:
        whole_lines = strong.where != "prompt_line" and not _spans_lines(strong.pattern)
        return loose_enough and (strong.where == weak.where or whole_lines)
    if weak.text is None:
        return False
    wanted = weak.text.lower() if weak.ignore_case else weak.text
    if strong.text is not None:
        given = strong.text.lower() if weak.ignore_case else strong.text
        return loose_enough and (strong.text.isascii() or not weak.ignore_case) and _inside(wanted, given)
    if not wanted.isascii() or (strong.ignore_case and not weak.ignore_case):
        return False
    return wanted == wanted.strip() and any(
        all(wanted in (literal.lower() if weak.ignore_case else literal) for literal in literals)
        for literals in strong.texts
    )


def _given(clause: Clause) -> tuple[object, ...]:
    """What its author says that must be there, and where; nothing where they say nothing."""
    given = (clause.keywords, clause.begins, clause.ends)
    return (clause.where, *given) if any(given) else ()


def contained(inner: str, outer: str) -> bool:
    """Whether everything in one region is in the other as well, apart from blanks at a line's end."""
    if inner == outer:
        return True
    if "title" in (inner, outer):
        return False
    if outer == "screen":
        return True
    return inner.startswith("tail") and outer.startswith("tail") and _count(inner) <= _count(outer)


def _count(tail: str) -> int:
    return int(tail[5:-1])


def _inside(wanted: str, given: str) -> bool:
    """Whether a literal is part of another one; a blank at its end may also be a line's end."""
    if wanted in given:
        return True
    return wanted != wanted.rstrip(" ") and wanted.rstrip(" ") + "\n" in given


def _spans_lines(pattern: str) -> bool:
    """Whether a pattern may depend on where its region begins and ends."""
    return any(
        mark in pattern for mark in ("\\A", "\\Z", "\\n", "\n", "\\s", "[^", "(?s", "\\W", "\\D", "(?<", "(?=", "(?!")
    )


def _takes_all(before: Rule, rule: Rule) -> bool:
    """Whether the earlier signature surely holds, and is not stale, wherever the later one does."""
    one, two = before.signature, rule.signature
    return (
        all(any(implies(strong, weak) for strong in two.all_of) for weak in one.all_of)
        and all(any(implies(veto, other) for other in two.none_of) for veto in one.none_of)
        and (one.cursor is CursorState.ANY or one.cursor is two.cursor)
        and _as_lively(one, two)
    )


def _as_lively(one: Signature, two: Signature) -> bool:
    """Whether the second is stale wherever the first one is: a waiting match is, if output goes on below it."""
    if one.state is not State.WAITING:
        return True
    return (
        two.state is State.WAITING
        and two.allow_below <= one.allow_below
        and all(any(_no_lower(strong, weak) for weak in one.all_of) for strong in two.all_of)
    )


def _no_lower(strong: Clause, weak: Clause) -> bool:
    """Whether the implied clause surely holds at or below the row where the other one ends."""
    if strong == weak:
        return True
    one_line = not _spans_lines(strong.pattern) if strong.pattern is not None else "\n" not in strong.source
    return one_line and implies(strong, weak)
