"""Rules on pairs of clauses: one implies another, two contradict, an earlier signature covers a whole one.

An implication is only found where it is certain: equal patterns, a literal inside another, a literal inside what a
pattern requires, the same in a region inside another.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from stallkit.detect.engine import Rule
from stallkit.detect.layout import PARTS
from stallkit.detect.matcher import compiled, region
from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed
from stallkit.detect.signature import Clause, CursorState, Signature, State
from stallkit_lab.lint.findings import Finding, Level, brief
from stallkit_lab.lint.subject import ROLES, Role, Subject


def check_clauses(subject: Subject) -> Iterator[Finding]:
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


# --- rules on one pattern ---

_CHEVRONS = "\u203a\u276f\u25b8\u25b6"  # › ❯ ▸ ▶
_SAYS_NOTHING = set(_CHEVRONS) | {"?", " "}
_BLANKS = {" ", "\t"}
_LIMIT_S = 1.0  # for one search on an example


def check_patterns(subject: Subject) -> Iterator[Finding]:
    """Findings on each clause by itself."""
    for signature, role, item, clause in subject.clauses():
        if clause.pattern is not None and clause.where not in ("prompt_line", "title"):
            nodes = _nodes(clause)
            anchored = _at_edge(nodes[::-1], "$")
            if _ends_in_blank(nodes) and (anchored or role == "all_of"):
                why = "can never hold" if anchored else "does not hold at the end of a line"
                why = f"{brief(clause)} {why}: captures trim its last blank"
                level = Level.ERROR if anchored else Level.WARNING
                yield subject.finding("SK106", why, signature, role, item, level)
        if role == "all_of" and _bare_chevron(clause):
            alone = not any(_tells(other) for other in signature.all_of if other is not clause)
            why = f"{brief(clause)} holds wherever there is a chevron"
            level = Level.ERROR if alone else Level.WARNING
            yield subject.finding("SK107", why, signature, role, item, level)
        if role == "all_of":
            yield from _without_keyword(subject, signature, role, item, clause)
    for signature in subject.pack.signatures:
        if not any(map(_narrows, signature.all_of)):
            why = "no clause of all_of needs a text, and none is on the prompt line: its patterns run on every screen"
            yield subject.finding("SK105", why, signature, "all_of")


def _without_keyword(
    subject: Subject, signature: Signature, role: Role, item: int, clause: Clause
) -> Iterator[Finding]:
    """A finding where the pattern holds on a hit that has none of the keywords that the author gives."""
    for example in subject.examples:
        where = region(clause.where, example.screen)
        if example.signature != signature.id or not example.wanted or example.todo or where is None:
            continue
        if not clause.admits(where.text) and _holds(clause, where.text):
            why = f"{brief(clause)} holds on {example.name}, which has none of its keywords, begins or ends"
            yield subject.finding("SK108", why, signature, role, item)
            return


def _holds(clause: Clause, text: str) -> bool:
    try:
        return compiled(clause).search(text, timeout=_LIMIT_S) is not None
    except TimeoutError:
        return False


def _narrows(clause: Clause) -> bool:
    """Whether a clause saves the search on most screens: it needs a text, or looks at one line or at a part."""
    return bool(clause.texts or clause.keywords) or clause.where in ("prompt_line", "title", "above", *PARTS)


def _tells(clause: Clause) -> bool:
    """Whether it needs something besides a chevron, a question mark and blanks."""
    return any(not set(literal) <= _SAYS_NOTHING for found in clause.texts for literal in found)


def _bare_chevron(clause: Clause) -> bool:
    """Whether the clause needs a chevron and nothing else, anywhere in a line."""
    found = clause.texts
    asks = any(set(literal) & set(_CHEVRONS) for literals in found for literal in literals)
    if not asks or any(not set(literal) <= _SAYS_NOTHING for literals in found for literal in literals):
        return False
    return clause.text is not None or not _at_edge(_nodes(clause), "^")


def _nodes(clause: Clause) -> tuple[Node, ...]:
    try:
        return parsed(clause.pattern or "")
    except NotUnderstood:
        return ()


def _at_edge(nodes: Sequence[Node], name: str) -> bool:
    """Whether what is first of a sequence, or last of one that is turned round, is this edge of a line."""
    for node in nodes:
        if isinstance(node, Group):
            step = -1 if name == "$" else 1
            return all(_at_edge(branch[::step], name) for branch in node.branches)
        if node != Edge():
            return node == Edge(name)
    return False


def _ends_in_blank(nodes: Sequence[Node]) -> bool:
    """Whether some way to match a sequence needs a blank as its last character."""
    for node in reversed(nodes):
        match node:
            case Edge("$"):
                continue
            case Repeat(inner, 0) if _ends_in_blank([inner]):
                continue  # [ ]* decides nothing, the item before it does
            case Repeat(inner):
                return _ends_in_blank([inner])
            case Group(branches):
                return any(map(_ends_in_blank, branches))
            case Chars(known):
                return known is not None and len(known) > 1 and known <= _BLANKS
            case Literal(char):
                return char in _BLANKS
        return False
    return False
