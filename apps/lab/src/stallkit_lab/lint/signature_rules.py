"""Rules on one signature and on pairs: its patterns and clauses, dismissals, dialogs, examples, and what covers what.

Dismissals are tried first within their tier, and press no plain Enter where the default is No.  One clause implies
another only if that is certain: equal patterns, a literal inside another, a literal inside what a pattern requires, the
same in a region inside another.
"""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from stallkit.detect.dialog import Edge as DialogEdge
from stallkit.detect.dialog_parser import begins_in_sight, read_any
from stallkit.detect.engine import Engine, Match, Rule
from stallkit.detect.layout import PARTS
from stallkit.detect.matcher import compiled, region
from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, folded, parsed
from stallkit.detect.signature import Clause, CursorState, Kind, Signature, State
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing.example import Example, gives_way, unfound_under
from stallkit.testing.lookalikes import in_a_terminal, made_from
from stallkit_lab.evaluate.prediction import decided
from stallkit_lab.lint.findings import ROLES, Finding, Level, Role, Subject, brief
from stallkit_lab.tune import Mutant, holds, met, mutants, replaced

# --- rules on dismissals ---

_ENTER = Keys.parse("Enter").to_bytes()
_MARK = r"[❯›▸▶➤➜→●◉❭»>]"
_NO = r"(?:no|nein|non|n|cancel|abort|deny|reject|decline|don['’]t|do not)\b"
_SELECTED_NO = re.compile(rf"^[\s│┃║|▌▏]*{_MARK}\s*(?:\(?\w[.)]\s*)?{_NO}", re.IGNORECASE)
# A bracketed choice in which No alone is upper case, or in brackets of its own; or a default in words.
_BRACKETED_NO = re.compile(
    r"""[\[(](?:y|yes)\s?[/|]\s?(?:N|NO|No)[\])]
      | [\[(]\s?(?:y|yes)[\])]?\s?(?:/|\||or)\s?[\[(](?:n|no|N|No|NO)[\])]
      | \b(?:y|yes)\s?(?:/|\||or)\s?\[(?:n|no|N|No|NO)\]
      | [\[(](?:n|no|N|No|NO)[\])]\s*[:?>]*\s*$
      | (?i:default(?:s\s+to|\s+is|\s*[:=])?\s*["'\[(]?no\b)""",
    re.VERBOSE,
)
_IN_CLAUSE = re.compile(r"[\[(](?:y|yes)/(?:N|NO|No)[\])]")


def check_answers(subject: Subject) -> Iterator[Finding]:
    """Findings on dismissals; one on a secret or a login does not get past the pack reader (`reading`)."""
    for signature in subject.pack.signatures:
        if signature.dismissal is None or signature.dismissal.keys.to_bytes() != _ENTER:
            continue
        why = _from_clauses(signature) or _from_hits(subject, signature)
        if why:
            yield subject.finding("SK302", f"Enter is pressed, and {why}", signature, "dismissal")


def check_order(subject: Subject) -> Iterator[Finding]:
    """A finding on each signature that takes, without a dismissal and a reason, what a later one may dismiss."""
    in_order = subject.alone.signatures
    for place, signature in enumerate(in_order):
        if signature.dismissal is not None or signature.first_because.strip():
            continue
        behind = (one for one in in_order[place + 1 :] if one.tier is signature.tier and one.dismissal is not None)
        dismissed = next((one for one in behind if _can_meet(signature, one)), None)
        if dismissed is not None:
            why = f"it is tried before {dismissed.id}, which has a dismissal, and first_because gives no reason"
            yield subject.finding("SK206", why, signature, "id")


def _can_meet(one: Signature, two: Signature) -> bool:
    """Whether one screen may show both: false only if a clause of one excludes a clause of the other."""
    if {one.cursor, two.cursor} == {CursorState.HIDDEN, CursorState.SEEN}:
        return False
    vetoed = any(
        implies(clause, veto) for a, b in ((one, two), (two, one)) for clause in a.all_of for veto in b.none_of
    )
    return not (vetoed or any(_excludes(this, that) for this in one.all_of for that in two.all_of))


def _excludes(one: Clause, two: Clause) -> bool:
    """Whether both look at the same line, and each wants it to begin or to end with other letters."""
    if one.where != two.where or one.where not in ("prompt_line", "title"):
        return False
    first, second = _fixed(_nodes(one), "^"), _fixed(_nodes(two), "^")
    last, end = _fixed(_nodes(one)[::-1], "$"), _fixed(_nodes(two)[::-1], "$")
    return any(this[: len(that)] != that[: len(this)] for this, that in ((first, second), (last, end)))


def _fixed(nodes: Sequence[Node], edge: str) -> str:
    """The letters, in one case, that stand at an edge of a line, blanks aside; of nodes turned round turned round."""
    inner = iter(nodes)
    if next(inner, None) != Edge(edge):
        return ""
    text = ""
    for node in inner:
        blank = text == "" and isinstance(node, Repeat) and _is_blank(node.node)
        if not isinstance(node, Literal) and not blank:
            break
        text += "" if blank or not isinstance(node, Literal) else node.char
    return folded(text.lstrip())


def _is_blank(node: Node) -> bool:
    return (isinstance(node, Literal) and node.char in _BLANKS) or (
        isinstance(node, Chars) and node.known is not None and node.known <= _BLANKS
    )


def default_is_no(screen: Screen) -> str:
    """The line which shows that a plain Enter answers No; empty if none does."""
    rows = screen.block.text.split("\n")
    selected = [row for row in rows if re.match(rf"^[\s│┃║|▌▏]*{_MARK}(?:\s|$)", row)]
    at_cursor = screen.cursor.row if screen.cursor else None
    if at_cursor is not None and at_cursor < len(screen.lines) and screen.lines[at_cursor].rstrip() in selected:
        selected = [screen.lines[at_cursor].rstrip()]
    if selected and _SELECTED_NO.match(selected[-1]):
        return selected[-1].strip()
    line = screen.prompt_line.text
    return line.strip() if _BRACKETED_NO.search(line) else ""


def _from_clauses(signature: Signature) -> str:
    for clause in signature.all_of:
        for literals in clause.texts:
            if not clause.ignore_case and all(map(_IN_CLAUSE.search, literals)):
                return f"{brief(clause)} asks for a default of No"
    return ""


def _from_hits(subject: Subject, signature: Signature) -> str:
    for example in subject.examples:
        if example.signature == signature.id and example.wanted and not example.todo:
            line = default_is_no(example.screen)
            if line:
                return f"{example.name} shows a default of No: {line!r}"
    return ""


# --- rules on whole dialogs ---


def check_dialogs(subject: Subject) -> Iterator[Finding]:
    """Findings on keys without a dialog, on a dialog without an edge, and on hits that are not read as a whole."""
    for signature in subject.pack.signatures:
        if not signature.dialogs:
            if signature.dismissal is not None:
                why = "it gives keys, and does not describe the whole dialog that they answer"
                yield subject.finding("SK304", why, signature, "dismissal")
            continue
        several = (one for one in signature.dialogs if len(one.elements) > 1 and not one.elements[-1].at_cursor)
        if signature.kind is not Kind.QUESTION and any(DialogEdge.ANY in dialog.edges for dialog in several):
            why = "a dialog of several rows names the edge that it begins below"
            yield subject.finding("SK304", why, signature, "edge")
        yield from _unread(subject, signature)


def _unread(subject: Subject, signature: Signature) -> Iterator[Finding]:
    """A finding on each hit that shows the whole dialog, and that it does not read; and where no hit shows it."""
    shown = 0
    for example in subject.examples:
        if example.signature != signature.id or not example.wanted or example.todo:
            continue
        screen = in_a_terminal(example.screen)
        if screen.cursor is None or not begins_in_sight(screen):
            continue
        shown += 1
        reading = read_any(signature.dialogs, screen)
        if not reading.whole:
            yield subject.finding("SK305", f"{example.name}: {reading.doubt}", signature, "dialog")
    if not shown and signature.dismissal is not None:
        why = "no hit shows the whole dialog: add a captured screen"
        yield subject.finding("SK305", why, signature, "dialog")


# --- rules on examples ---


def check_examples(subject: Subject) -> Iterator[Finding]:
    """Findings on every example, and on signatures that lack some."""
    yield from subject.misplaced
    for signature in subject.pack.signatures:
        own = [example for example in subject.examples if example.signature == signature.id]
        if not signature.source.strip():
            yield subject.finding("SK403", "the place where it was seen is missing", signature, "source")
        for wanted, code, key in ((True, "SK401", "hits"), (False, "SK402", "misses")):
            if not any(one.wanted is wanted and not one.todo for one in own):
                yield subject.finding(code, f"no example in {key}, none in screens/{signature.id}", signature, key)
        if signature.id not in subject.unsure:
            yield from _hits(subject, signature, [one for one in own if one.wanted])
            yield from _misses(subject, signature, [one for one in own if not one.wanted])


def _hits(subject: Subject, signature: Signature, hits: list[Example]) -> Iterator[Finding]:
    """Findings on hits: matched by no signature, or taken by another one."""
    taken: list[tuple[Example, Match]] = []
    for hit in hits:
        match = decided(subject.alone, hit.screen).match
        if match is not None and _is(match, subject, signature):
            match = decided(subject.together, hit.screen).match
        won = match is not None and _is(match, subject, signature)
        if hit.todo:
            if won:
                yield _on(subject, "SK405", hit, "a known gap that is met now: rename it to hit-")
        elif match is None:
            yield _on(subject, "SK404", hit, "a hit that nothing matches")
        elif not won and not gives_way(subject.pack, match, signature):
            taken.append((hit, match))
        elif won and (name := unfound_under(subject.together, subject.pack, hit)):
            yield _on(subject, "SK408", hit, f"a hit that is not found where {name} runs")
    if taken and len(taken) == sum(not hit.todo for hit in hits):
        hit, match = taken[0]
        why = f"every hit is taken by an earlier one: {hit.name} by {_name(match)}"
        yield subject.finding("SK202", why, signature, *_key(hit))
        return
    for hit, match in taken:
        yield _on(subject, "SK203", hit, f"a hit that {_name(match)} takes")


def _misses(subject: Subject, signature: Signature, misses: list[Example]) -> Iterator[Finding]:
    for miss in misses:
        match = decided(subject.alone, miss.screen).match
        clean = match is None or match.signature.state is not signature.state
        if miss.todo and clean:
            yield _on(subject, "SK405", miss, "a known gap that is met now: rename it to miss-")
        elif not miss.todo and not clean and match is not None:
            yield _on(subject, "SK404", miss, f"a miss that {_name(match)} matches")


def _on(subject: Subject, code: str, example: Example, why: str) -> Finding:
    return subject.finding(code, f"{example.name}: {why}", example.signature, *_key(example))


def _key(example: Example) -> tuple[str, int | None]:
    """An example's place in the pack file; a screen file's is its signature's line, with its name."""
    key, bracket, number = example.name.removesuffix("]").partition("[")
    return (key, int(number) - 1) if bracket and number.isdecimal() else ("id", None)


def _is(match: Match, subject: Subject, signature: Signature) -> bool:
    return match.pack.name == subject.pack.name and match.signature.id == signature.id


def _name(match: Match) -> str:
    return f"{match.pack.name}:{match.signature.id}"


# --- is each clause of use ---


def check_uses(subject: Subject) -> Iterator[Finding]:
    """A finding on each clause without which every example, and all that is made of the hits, has the same result.

    Signatures without a hit or a miss are left to the rules on examples.
    """
    shown = [one for one in subject.examples if not one.todo and met(one, subject.pack, subject.alone)]
    told = {(one.signature, one.wanted) for one in shown}
    for signature in subject.pack.signatures:
        if signature.id in subject.unsure or not {(signature.id, True), (signature.id, False)} <= told:
            continue
        hits = [one for one in shown if one.signature == signature.id and one.wanted]
        for mutant in mutants(signature):
            if (
                mutant.change == "dropped"
                and not _of_use(mutant, subject, shown)
                and not _of_use(mutant, subject, _made(signature, hits, subject))
            ):
                why = f"without {brief(mutant.clause)} every example has the same result"
                yield subject.finding("SK205", why, signature, mutant.role, mutant.item)


def _made(signature: Signature, hits: list[Example], subject: Subject) -> list[Example]:
    made = (one for hit in hits for one in made_from(signature, hit))
    return [one for one in made if met(one, subject.pack, subject.alone)]


def _of_use(mutant: Mutant, subject: Subject, shown: list[Example]) -> bool:
    pack = replaced(subject.pack, mutant.signature)
    looser = Rule(pack, mutant.signature)
    concerned = [example for example in shown if holds(looser, example.screen)]
    if not concerned:
        return False
    engine = Engine([pack])
    return any(not met(example, pack, engine) for example in concerned)


# --- clauses ---


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
    """What its author says that must be there, and where; nothing if they say nothing."""
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
    """Findings on each clause on its own."""
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
