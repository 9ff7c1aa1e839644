"""Rules on dismissals: tried first within their tier, and no plain Enter where the default is No."""

from __future__ import annotations

import re
from typing import Iterator

from stallkit.detect.dialog import Edge
from stallkit.detect.dialog_parser import begins_in_sight, read_any
from stallkit.detect.engine import Engine, Match, Rule
from stallkit.detect.signature import Kind, Signature
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells
from stallkit.testing.example import Example, gives_way, unfound_under
from stallkit_lab.evaluate.prediction import decided
from stallkit_lab.lint.findings import Finding, brief
from stallkit_lab.lint.subject import Subject
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
    """A finding on each signature without a dismissal that is tried before one with it, without a reason."""
    in_order = subject.alone.signatures
    for place, signature in enumerate(in_order):
        if signature.dismissal is not None or signature.first_because.strip():
            continue
        behind = (one for one in in_order[place + 1 :] if one.tier is signature.tier and one.dismissal is not None)
        dismissed = next(behind, None)
        if dismissed is not None:
            why = f"it is tried before {dismissed.id}, which has a dismissal, and first_because gives no reason"
            yield subject.finding("SK206", why, signature, "id")


def default_is_no(screen: Screen) -> str:
    """The line which shows that a plain Enter answers No; empty where none does."""
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
        if signature.kind is not Kind.QUESTION and any(Edge.ANY in dialog.edges for dialog in several):
            why = "a dialog of several rows names the edge that it begins below"
            yield subject.finding("SK304", why, signature, "edge")
        yield from _unread(subject, signature)


def _unread(subject: Subject, signature: Signature) -> Iterator[Finding]:
    """A finding on each hit that shows the whole dialog, and that it does not read; and where no hit shows it."""
    shown = 0
    for example in subject.examples:
        if example.signature != signature.id or not example.wanted or example.todo:
            continue
        screen = _in_a_terminal(example.screen)
        if screen.cursor is None or not begins_in_sight(screen):
            continue
        shown += 1
        reading = read_any(signature.dialogs, screen)
        if not reading.whole:
            yield subject.finding("SK305", f"{example.name}: {reading.doubt}", signature, "dialog")
    if not shown and signature.dismissal is not None:
        why = "no hit shows the whole dialog: add a captured screen"
        yield subject.finding("SK305", why, signature, "dialog")


def _in_a_terminal(screen: Screen) -> Screen:
    """A hit that is nothing but text, in a terminal with room below it, the cursor behind its last line."""
    if screen.size is not None:
        return screen
    rows = screen.text.rstrip("\n").split("\n")
    size = (max(map(cells, rows)) + 1, len(rows) + 2)
    return Screen.from_text(screen.text, cursor=(cells(rows[-1]), len(rows) - 1), size=size)


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
    """A finding on each clause without which every example has the same result.

    Signatures without a hit or a miss are left to the rules on examples.
    """
    shown = [one for one in subject.examples if not one.todo and met(one, subject.pack, subject.alone)]
    told = {(one.signature, one.wanted) for one in shown}
    for signature in subject.pack.signatures:
        if signature.id in subject.unsure or not {(signature.id, True), (signature.id, False)} <= told:
            continue
        for mutant in mutants(signature):
            if mutant.change == "dropped" and not _of_use(mutant, subject, shown):
                why = f"without {brief(mutant.clause)} every example has the same result"
                yield subject.finding("SK205", why, signature, mutant.role, mutant.item)


def _of_use(mutant: Mutant, subject: Subject, shown: list[Example]) -> bool:
    pack = replaced(subject.pack, mutant.signature)
    looser = Rule(pack, mutant.signature)
    concerned = [example for example in shown if holds(looser, example.screen)]
    if not concerned:
        return False
    engine = Engine([pack])
    return any(not met(example, pack, engine) for example in concerned)
