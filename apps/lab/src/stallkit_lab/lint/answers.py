"""Rules on dismissals: tried first within their tier, and no plain Enter where the default is No."""

from __future__ import annotations

import re
from typing import Iterator

from stallkit.detect.signature import Signature
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit_lab.lint.findings import Finding, brief
from stallkit_lab.lint.subject import Subject

__all__ = ["check", "check_order", "default_is_no"]

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


def check(subject: Subject) -> Iterator[Finding]:
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
