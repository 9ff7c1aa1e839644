"""A person's answer to what the queue holds: to an agent's notice at once, to a prompt through the gate of `press`.

An answer to a prompt is claimed first, so that of two people one presses.  Then it looks again: if the prompt is gone,
the item is cancelled and nothing is pressed; if anything that the person was shown differs, nothing is pressed either,
and the item shows how it looks now.

A notice that a hook filed has nobody who waits: its reply is kept, and typed into the agent's own, empty composer once
it is at rest and keys go into its sandbox.  It is typed at most once: whoever types it says so before the first key,
and what a process left that died meanwhile was perhaps typed, so it never is again.  Until it is typed, `stuck` in the
sandbox can fetch it.  The endpoint tries, since it is there wherever a hook can ask; the agent needs no supervisor for
its replies.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import Any, AsyncIterator, Callable, Container, Mapping

from attrs import frozen
from stallkit_supervisor.notification import cleared_by, subject_of

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Kind
from stallkit.errors import SessionGone, StallkitError, StoreError, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.check import observe
from stallkit.press.events import typed
from stallkit.press.gate import SEALED, End, Pick, answer, press
from stallkit.press.send import Sent, send
from stallkit.redact.redact import redact
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Transport
from stallkit_operator.item import (
    Category,
    Choice,
    ChoiceKind,
    Claim,
    Delivery,
    Item,
    ItemState,
    NotAsShown,
    NotOpen,
    Source,
    Who,
)
from stallkit_operator.orders import Order, chosen
from stallkit_operator.queue import Queue, claim_of
from stallkit_operator.queue_sync import COMPOSER, PROMPT, draft_of

LOOK_S = 1.0  # between two looks for replies that are kept
PAUSES_S = (2.0, 3.0, 5.0, 10.0)  # between two tries at one of them; each looks at its terminal
_TYPIST = Who("stallkit", "a kept reply")
_BECOMES = {Sent.TYPED: Delivery.TYPED, Sent.UNSEEN: Delivery.PERHAPS}

Reach = Callable[[Item], Transport | None]  # the terminal of a notice's agent; None where no key may go


def type_kept(queue: Queue, item: Item, engine: Callable[[], Engine], reach: Reach) -> tuple[Item, str]:
    """Type the reply to an item that is kept, if its agent is at rest; the item after it, and why that.

    Raises StoreError if the result could not be written down.
    """
    claim = claim_of(_TYPIST)
    try:
        transport = reach(item)
    except (TransportError, StoreError) as error:
        return item, f"its terminal could not be looked at: {error.why}"
    if transport is None:
        return item, "no key goes into its sandbox"
    try:
        found = engine()
        if not queue.typing(item.id, claim):
            return queue.item(item.id), "another types it, or has it"
        becomes, why = Delivery.PERHAPS, "it is not known whether it was typed"
        try:
            becomes, why = _typed(transport, item.text or "", found)
        finally:
            after = queue.typed(item.id, claim, becomes)
        return after, why
    finally:
        transport.close()


def _typed(transport: Transport, text: str, engine: Engine) -> tuple[Delivery, str]:
    try:
        sending = send(transport, text, engine)
    except ValueError as error:  # several lines, or a key among them
        return Delivery.KEPT, str(error)
    except TransportError as error:  # by the first look: what a press meets is an outcome
        return Delivery.KEPT, f"its terminal could not be looked at: {error.why}"
    return _BECOMES.get(sending.sent, Delivery.KEPT), sending.why


@asynccontextmanager
async def typed_later(
    queue: Queue, sandboxes: Callable[[], Container[str]], engine: Callable[[], Engine], reach: Reach
) -> AsyncIterator[None]:
    """While it is open, kept replies of these sandboxes are typed as soon as their agents rest."""
    task = asyncio.create_task(_type_all(queue, sandboxes, engine, reach))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _type_all(
    queue: Queue, sandboxes: Callable[[], Container[str]], engine: Callable[[], Engine], reach: Reach
) -> None:
    tries: dict[int, tuple[int, float]] = {}  # by item: how many, and when the next one is due
    while True:
        with suppress(StallkitError):  # a full disk, a server that hangs: later
            kept = [item for item in await asyncio.to_thread(queue.kept) if item.session in sandboxes()]
            tries = {item.id: tries.get(item.id, (0, 0.0)) for item in kept}
            for item in kept:
                made, due = tries[item.id]
                if time.monotonic() >= due:
                    tries[item.id] = made + 1, time.monotonic() + PAUSES_S[min(made, len(PAUSES_S) - 1)]
                    await asyncio.to_thread(type_kept, queue, item, engine, reach)
        await asyncio.sleep(LOOK_S)


EDITOR = "it is an editor, which takes keys and no text: go to its own terminal,"
_REJECTS = frozenset({ChoiceKind.REJECT_ONCE, ChoiceKind.REJECT_ALWAYS})


class Result(StrEnum):
    """What became of an answer."""

    DONE = "done"  # the item is over, by this answer
    REFUSED = "refused"  # nothing was pressed; the item is still open
    CHANGED = "changed"  # the same, since the item is not as it was shown to the person
    UNSEEN = "unseen"  # perhaps pressed, or without effect; the item is still open
    OVER = "over"  # nothing was pressed: it is over, or went away


@frozen
class Answered:
    """What became of an answer, why, and the item after it."""

    result: Result
    why: str
    item: Item


@frozen
class _Attempt:
    """One answer that is under way at a session."""

    queue: Queue
    item: Item
    claim: Claim
    given: str | Choice
    transport: Transport
    engine: Engine

    @property
    def text(self) -> str:
        return self.given.name if isinstance(self.given, Choice) else self.given

    def told(self, result: Result, why: str) -> Answered:
        """The item stays as it is."""
        return Answered(result, why, self.item)

    def done(self, why: str, state: ItemState = ItemState.ANSWERED) -> Answered:
        """It was pressed: whatever a supervisor saw meanwhile, this was the answer."""
        kept = self.given.name if isinstance(self.given, Choice) else typed(self.given)
        closed = self.queue.close_item(self.item.id, state, self.claim.who, kept, self.claim)
        return Answered(Result.DONE, why, closed)

    def over(self, why: str, gone: bool) -> Answered:
        return _over(self.queue, self.item, self.claim, why, gone)


def answer_item(
    queue: Queue,
    id: int,
    given: str | Choice,
    who: Who,
    engine: Callable[[], Engine],
    reach: Callable[[Item], Transport | None],
    *,
    seen: int | None = None,
) -> Answered:
    """Answer the item with a text, or with one of its options; `seen` is the revision that the person was shown.

    `reach` opens the transport of the item's session, which is closed at the end; None, of a notice: no key may go
    there.  `engine` gives the engine.  Neither is called for a notice whose agent waits.  Raises NoItem, StoreError,
    and ValueError for a text that cannot be typed at a prompt; if looking at that fails, TransportError, and the
    item stays open.
    """
    text = given.name if isinstance(given, Choice) else given
    item = queue.item(id)
    try:
        if item.source is Source.AGENT:
            done = queue.close_item(id, ItemState.ANSWERED, who, text, seen=seen)
            if done.delivery is Delivery.KEPT:
                return _kept(*type_kept(queue, done, engine, reach))
            return Answered(Result.DONE, "answered", done)
        claim = claim_of(who)
        item = queue.claim(id, claim, seen)
        try:
            transport = reach(item)
            assert transport is not None  # a prompt is in a session
            try:
                return _at_session(_Attempt(queue, item, claim, given, transport, engine()))
            finally:
                transport.close()
        except SessionGone as error:
            return _over(queue, item, claim, str(error), gone=True)
        finally:
            queue.release(id, claim)
    except NotOpen as error:
        return not_answered(error)


def decline_item(queue: Queue, id: int, why: str, who: Who, seen: int | None = None) -> Answered:
    """Take the item off the list; nothing is pressed.  The agent of a notice gets `why`; `seen` as in `answer_item`.

    Raises NoItem, StoreError.
    """
    try:
        kept = why if queue.item(id).source is Source.AGENT else redact(why)
        done = queue.close_item(id, ItemState.DECLINED, who, kept, seen=seen)
    except NotOpen as error:
        return not_answered(error)
    told = "declined" if done.source is Source.AGENT else "off the list; nothing was pressed at its session"
    return Answered(Result.DONE, told, done)


def carry_out(
    queue: Queue,
    order: Order,
    who: Who,
    engine: Callable[[], Engine],
    reach: Callable[[Item], Transport | None],
    seen: int,
    audit: Callable[[Mapping[str, Any]], object] = lambda event: None,
) -> Answered:
    """Do what a person orders, where the item's revision is the one that they were shown; 0: they were shown none.

    `audit` writes one event of the manifests' log: that what a sandbox lacks was declined is on the disk before it is.
    Raises as `answer_item`; ValueError also if the item has no such option.
    """
    try:
        item = queue.item(order.id).as_shown(seen)
        item.check_open()
    except NotOpen as error:
        return not_answered(error)
    given = chosen(order, item)
    if given is None:
        why = order.text or "declined"
        if item.category is Category.CAPABILITY:
            asked = item.words if item.source is Source.AGENT else None
            facts = {"sandbox": item.session, "by": who.name, "why": why, "item": item.id, "asked": asked}
            audit({"event": "manifest_rejected", **facts})
        return decline_item(queue, item.id, why, who, seen)
    return answer_item(queue, item.id, given, who, engine, reach, seen=seen)


def not_answered(error: NotOpen) -> Answered:
    """Why nothing was done."""
    result = Result.CHANGED if isinstance(error, NotAsShown) else Result.REFUSED if error.item.open else Result.OVER
    return Answered(result, f"{error.why}; {error.todo}", error.item)


def _kept(done: Item, why: str) -> Answered:
    """What a person hears of a reply that nobody waits for."""
    match done.delivery:
        case Delivery.TYPED:
            return Answered(Result.DONE, "typed into its composer", done)
        case Delivery.PERHAPS:
            return Answered(Result.UNSEEN, f"perhaps typed, and kept for its next stuck: {why}", done)
        case Delivery.KEPT:
            return Answered(Result.DONE, f"kept for its next stuck: {why}", done)
    return Answered(Result.DONE, "answered", done)


def _at_session(attempt: _Attempt) -> Answered:
    item = attempt.item
    verdict, seen = observe(attempt.transport, attempt.engine)
    subject = subject_of(verdict)
    now = None if subject is None else draft_of(item.session, subject, verdict, seen)
    if subject is None or now is None or (now.about, now.identity) != (item.about, item.identity):
        if now is not None and now.identity == item.identity and verdict.certainty is not Certainty.SURE:
            return attempt.told(Result.REFUSED, "it cannot be seen for sure what is there now, nothing was pressed")
        what = "nothing waits there now" if subject is None else "something else is there now"
        return attempt.over(f"{what}, nothing was pressed", gone=seen.identity != item.identity or seen.alive is False)
    if seen.sealed:
        return attempt.told(Result.REFUSED, SEALED)
    if subject.need in COMPOSER:
        sending = send(attempt.transport, attempt.text, attempt.engine)
        if sending.sent is Sent.TYPED:
            return attempt.done(sending.why)
        return attempt.told(Result.UNSEEN if sending.sent is Sent.UNSEEN else Result.REFUSED, sending.why)
    if subject.need is not PROMPT or now.secret:
        why = f"it is {subject.need}: no text answers that; see to it, then: stallkit stuck decline"
        secret = "it asks for a secret or a login: answer it at its own terminal"
        return attempt.told(Result.REFUSED, secret if now.secret else why)
    if now.kind == Kind.EDITOR and not isinstance(attempt.given, Choice):
        return attempt.told(Result.REFUSED, f"{EDITOR} {item.session}; nothing was pressed")
    if now.action != item.action:
        why = "its screen is not as it was shown to you; nothing was pressed"
        return Answered(Result.CHANGED, why, attempt.queue.rebind(item.id, attempt.claim, now))
    return _press(attempt, seen)


def _press(attempt: _Attempt, seen: Snapshot) -> Answered:
    given = attempt.given
    if isinstance(given, Choice):
        outcome = press(attempt.transport, Pick(_picked(attempt.item, given)), seen, attempt.engine)
    else:
        outcome = answer(attempt.transport, given, seen, attempt.engine)
    if isinstance(given, str) and outcome.pressed and len(_literal(outcome.keys)) < len(given):
        return attempt.told(Result.UNSEEN, f"only {_literal(outcome.keys)!r} of it was typed: {outcome.why}")
    if outcome or (outcome.end is End.GONE and outcome.pressed):
        rejects = isinstance(given, Choice) and given.kind in _REJECTS
        return attempt.done(outcome.why, ItemState.DECLINED if rejects else ItemState.ANSWERED)
    if outcome.end is End.GONE:
        return attempt.over(outcome.why, gone=True)
    return attempt.told(Result.UNSEEN if outcome.pressed else Result.REFUSED, outcome.why)


def _picked(item: Item, given: Choice) -> str | tuple[str, ...]:
    """The label of an option; of a question that takes several, all that must be ticked."""
    if not item.several:
        return given.name
    return tuple(one.name for one in item.options if one.id in given.id.split(","))


def _literal(keys: Keys | None) -> str:
    """The text in what was pressed."""
    return "".join(key.literal for key in keys.sequence) if keys is not None else ""


def _over(queue: Queue, item: Item, claim: Claim, why: str, gone: bool) -> Answered:
    queue.release(item.id, claim)
    return Answered(Result.OVER, why, queue.gone(item.id, cleared_by(item.kind, gone)))
