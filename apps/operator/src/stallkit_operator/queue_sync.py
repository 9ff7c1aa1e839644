"""What a supervisor escalates goes into the queue before anybody hears of it, and out of it when it is over.

An item is bound to the session, to its prompt, and to every character of it: the rows of a dialog of one program that
was wholly recognised, else the whole screen, of which a few rows are kept and shown.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from itertools import zip_longest
from typing import Collection, Mapping

from attrs import evolve
from stallkit_supervisor.escalations import Filed
from stallkit_supervisor.notification import ClearedBy, Need, NoticeSubject, cleared_by
from stallkit_supervisor.notify.notice import how_many
from stallkit_supervisor.sources import socket_of

from stallkit.config import queue_file, records_screens
from stallkit.detect.dialog import Role
from stallkit.detect.menu import menu_of
from stallkit.detect.signature import NEVER_ANSWERED, Certainty, State
from stallkit.evidence.signal import Guard, decisive
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import is_secret
from stallkit.transports.base import Options
from stallkit.transports.tmux.identity import Identity
from stallkit_operator.item import OPEN, Choice, ChoiceKind, Draft, Item, ItemState, Source, action_of
from stallkit_operator.queue import Queue

# --- what becomes an item ---

PROMPT = Need.WAITS  # answered by keys at the prompt
COMPOSER = frozenset({Need.ASKS, Need.FAILED})  # answered by a text in the agent's composer
_SEALED = "(Its sandbox is sealed: this cannot be answered.  Rebuild it, or decline this to take it off the list.)"
_KINDS = {
    Role.ONCE: ChoiceKind.ALLOW_ONCE,
    Role.ALWAYS: ChoiceKind.ALLOW_ALWAYS,
    Role.REJECT: ChoiceKind.REJECT_ONCE,
}


def draft_of(target: str, subject: NoticeSubject, verdict: Verdict, seen: Snapshot, screen: bool = False) -> Draft:
    """The item of what a person hears of this look; `subject` is what it is, as `subject_of` gives it.

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


# --- into the queue and out of it ---

QUEUE_BUSY_S = 0.5  # that a look may wait for another process's write
LATE_S = 10.0  # after an answer, for which a look from before it is not believed


class Filing:
    """Files for one supervisor; `stallkit_supervisor.escalations` says what each method is for.

    It remembers what is open, so that a look at a session that asks nothing costs nothing.  What an earlier supervisor
    filed is found again: it is cancelled where the first sure look no longer shows it.
    """

    def __init__(self, queue: Queue, options: Options | None = None) -> None:
        """`options` say which tmux server the sessions are on.  Raises StoreError."""
        self._queue, self._server, self._screens = queue, socket_of(options or Options()), records_screens()
        self._open: dict[str, dict[int, Item]] = {}
        queue.bury()
        for item in queue.items(over=True):
            mine = item.source is not Source.AGENT and item.server in (None, self._server)
            if mine and (item.open or item.off_the_list):
                self._open.setdefault(item.session, {})[item.id] = item

    def filed(self, target: str) -> Filed | None:
        """What an earlier supervisor told of a session, and did not see the end of."""
        held = self._open.get(target)
        if not held:
            return None
        item = held[max(held)]
        what = Need(item.kind) if item.kind in set(Need) else Need.WAITS
        kind = item.kind if what is Need.WAITS else None
        told_at = item.told_at or item.created
        return Filed(item.about, what, kind, item.identity, item.created, item.told, told_at, item.open)

    def file(self, target: str, subject: NoticeSubject, verdict: Verdict, seen: Snapshot, since: float) -> int:
        """The number of what a person hears of next; it is on the disk.  Raises StoreError."""
        draft = evolve(draft_of(target, subject, verdict, seen, self._screens), server=self._server, since=since)
        for item in self._open.get(target, {}).values():
            same = (item.about, item.identity, item.action) == (draft.about, draft.identity, draft.action)
            if same and self._queue.item(item.id).state in (*OPEN, ItemState.DECLINED):
                return self._queue.told(item.id).id  # also where a person has taken it off the list
        item = self._queue.file(draft)
        self._open.setdefault(target, {})[item.id] = item
        return item.id

    def answered(self, target: str) -> str | None:
        """Who answers what is open of a session, or has just answered it, through stallkit.  Raises StoreError."""
        held = self._open.get(target)
        return self._queue.answerer(max(held)) if held else None

    def overtaken(self, target: str, seen: Snapshot) -> bool:
        """Whether what this look shows was answered after it, a moment ago.  Raises StoreError."""
        held = self._open.get(target)
        if not held or seen.taken_at is None:
            return False
        now = time.time()
        looked = max(now - (time.monotonic() - seen.taken_at), now - LATE_S)
        over = self._queue.over(held).values()
        return any(item.state is ItemState.ANSWERED and (item.at or 0.0) > looked for item in over)

    def look(
        self, target: str, subject: NoticeSubject | None, verdict: Verdict, seen: Snapshot, by: str | None
    ) -> None:
        """Cancel what a look no longer shows; `subject` is what it has to tell.  Raises StoreError."""
        held = self._open.get(target)
        if not held or (subject is None and verdict.certainty is not Certainty.SURE):
            return
        for item in list(held.values()):
            if subject is not None and item.about == subject.key and item.identity == seen.identity:
                continue
            gone = verdict.state is State.GONE or item.identity != seen.identity
            self._end(target, item, by or cleared_by(item.kind, gone))

    def only(self, identities: Collection[str]) -> None:
        """Cancel what was asked in sessions of this server that are gone.  Raises StoreError.

        `identities` are all that there are: none if no server answers, which may have lost its socket and live.
        """
        for target, item in self._missing(identities):
            self._end(target, item, ClearedBy.GONE)

    def missing(self, identities: Collection[str]) -> Collection[str]:
        """The sessions of which `only` takes something back."""
        return dict.fromkeys(target for target, _ in self._missing(identities))

    def _missing(self, identities: Collection[str]) -> list[tuple[str, Item]]:
        servers = {identity.rpartition(" %")[0] for identity in identities}

        def ended(item: Item) -> bool:
            with suppress(ValueError):  # of no pane of tmux
                server = Identity.of(item.identity).server
                return item.identity not in identities and (str(server) in servers or server.process() is None)
            return False

        return [(target, item) for target, held in self._open.items() for item in held.values() if ended(item)]

    def _end(self, target: str, item: Item, by: str) -> None:
        if not self._queue.gone(item.id, by).open:  # else somebody's answer is under way: at the next look
            del self._open[target][item.id]


def opened(stack: ExitStack, options: Options) -> Filing:
    """What files into the operator's queue, closed by `stack`.  Raises StoreError."""
    queue = Queue(queue_file(), busy_s=QUEUE_BUSY_S)
    stack.callback(queue.close)
    return Filing(queue, options)
