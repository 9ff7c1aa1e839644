"""What of a supervisor's notice becomes an item of the queue, and what its answer is bound to.  Pure.

An item is bound to the session, to its prompt, and to every character of it: the rows of a dialog of one program that
was wholly recognised, else the whole screen, of which a few rows are kept and shown.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Mapping

from stallkit_supervisor.notice_subject import Need, NoticeSubject
from stallkit_supervisor.notify.notice import how_many

from stallkit.detect.dialog import Role
from stallkit.detect.menu import menu_of
from stallkit.detect.signature import NEVER_ANSWERED, State
from stallkit.evidence.signal import Guard, decisive
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import is_secret
from stallkit_operator.item import Choice, ChoiceKind, Draft, Source, action_of

__all__ = ["COMPOSER", "PROMPT", "choices", "draft_of"]

PROMPT = Need.WAITS  # answered by keys at the prompt
COMPOSER = frozenset({Need.ASKS, Need.FAILED})  # answered by a text in the agent's composer
_SEALED = "(Its sandbox is sealed: this cannot be answered.  Rebuild it, or decline this to take it off the list.)"
_KINDS = {
    Role.ONCE: ChoiceKind.ALLOW_ONCE,
    Role.ALWAYS: ChoiceKind.ALLOW_ALWAYS,
    Role.REJECT: ChoiceKind.REJECT_ONCE,
}


def draft_of(target: str, subject: NoticeSubject, verdict: Verdict, seen: Snapshot, screen: bool = False) -> Draft:
    """The item of what a person is told of this look; `subject` is what it is, as `subject_of` gives it.

    It holds the rows of the prompt alone, or the whole `screen`; an answer is bound to the same either way.
    """
    inside = subject.by == "askpass"
    source = Source.ASKPASS if inside else Source.PROMPT
    asks = subject.need is PROMPT and not inside
    secret = inside or (asks and (verdict.kind in NEVER_ANSWERED or is_secret(verdict, seen)))
    words, fingerprint = _words(subject, verdict), _fingerprint(verdict, seen)
    action = action_of(seen.identity, subject.key, fingerprint if asks else "", words)
    if screen and subject.need is PROMPT and not subject.message:
        words = seen.screen.text.rstrip()
    dialog, fields = verdict.detection.dialog, asked_fields(verdict) if asks and not secret else {}
    if seen.sealed:
        words += f"\n\n{_SEALED}"
    return Draft(
        session=target,
        source=source,
        kind=subject.kind if asks and subject.kind else str(subject.need),
        words=words,
        options=choices(verdict) if asks and not secret and not seen.sealed else (),
        action=action,
        about=subject.key,
        identity=seen.identity,
        secret=secret,
        asked=fields.get("question") or fields.get("command") or "",
        questions=how_many(fields.get("questions", "")),
        several=dialog is not None and any(one.ticked is not None for one in dialog.options),
    )


def asked_fields(verdict: Verdict) -> Mapping[str, str]:
    """The fields of its dialog, else those that its program says by a way that nobody else can take."""
    if (dialog := verdict.detection.dialog) is not None:
        return dialog.fields
    says = decisive(verdict.signals)
    own = says is not None and says.state is State.WAITING and says.guard is Guard.PROCESS
    return says.fields if says is not None and own else {}


def choices(verdict: Verdict) -> tuple[Choice, ...]:
    """The options of its menu, by their numbers from 1 on: of any menu whose rows can be read; else its buttons."""
    menu, reading = menu_of(verdict.detection), verdict.detection.reading
    if verdict.state is not State.WAITING:
        return ()
    if reading is not None and reading.whole and reading.buttons:
        shown = enumerate((one.button for one in reading.buttons), 1)
        return tuple(Choice(str(number), one.text, _KINDS[one.role] if one.role else None) for number, one in shown)
    if menu is None:
        return ()
    read = reading.options[: len(menu.options)] if reading is not None and reading.whole else ()
    return tuple(
        Choice(
            str(number),
            one.text,
            _KINDS.get(more.role) if more and more.role else None,
            more.about if more else "",
            number - 1 == menu.selected,
        )
        for number, (one, more) in enumerate(zip_longest(menu.options, read), 1)
    )


def _fingerprint(verdict: Verdict, seen: Snapshot) -> str:
    dialog = verdict.detection.dialog
    return "\n".join(row.text for row in dialog.rows) if dialog else seen.screen.fingerprint


def _words(subject: NoticeSubject, verdict: Verdict) -> str:
    if subject.message:
        return subject.message
    if subject.need is not PROMPT:
        return "; ".join(verdict.reasons)
    return "\n".join(verdict.asking_rows)
