"""Rules on one pattern: it needs some text, its hits have its keywords, no blank at the end, no chevron anywhere."""

from __future__ import annotations

from typing import Iterator, Sequence

from stallkit.detect.matcher import compiled, region
from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed
from stallkit.detect.signature import Clause, Signature
from stallkit_lab.lint.findings import Finding, Level, brief
from stallkit_lab.lint.subject import Role, Subject

__all__ = ["check"]

_CHEVRONS = "\u203a\u276f\u25b8\u25b6"  # › ❯ ▸ ▶
_SAYS_NOTHING = set(_CHEVRONS) | {"?", " "}
_BLANKS = {" ", "\t"}
_LIMIT_S = 1.0  # for one search on an example


def check(subject: Subject) -> Iterator[Finding]:
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
    """Whether a clause saves the search on most screens: it needs a text, or looks at one line."""
    return bool(clause.texts or clause.keywords) or clause.where in ("prompt_line", "title", "above")


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
