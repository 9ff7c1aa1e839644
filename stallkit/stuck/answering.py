"""A person's answer to what the queue holds: to an agent's notice at once, to a prompt through the gate of `press`.

An answer to a prompt is claimed first, so that of two people one presses.  Then it looks again: where the prompt is
gone, the item is cancelled and nothing is pressed; where anything that the person was shown differs, nothing is pressed
either, and the item shows what is there now.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable

from attrs import frozen

from stallkit.core.engine import Engine
from stallkit.core.keys import Keys
from stallkit.core.redact import redact
from stallkit.core.signature import Certainty
from stallkit.core.topic import What, topic_of
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import SessionGone
from stallkit.press.answer import ENTER, answer
from stallkit.press.check import observe
from stallkit.press.gate import End
from stallkit.press.send import Sent, send
from stallkit.stuck.escalate import COMPOSER, PROMPT, draft_of, keys_of
from stallkit.stuck.item import Choice, ChoiceKind, Claim, Draft, Item, ItemState, NotOpen, Source, Who
from stallkit.stuck.queue import Queue, claim_of
from stallkit.transports.base import Transport

__all__ = ["Answered", "Result", "answer_item", "decline_item"]

_REJECTS = frozenset({ChoiceKind.REJECT_ONCE, ChoiceKind.REJECT_ALWAYS})


class Result(StrEnum):
    """What became of an answer."""

    DONE = "done"  # the item is over, by this answer
    REFUSED = "refused"  # nothing was pressed; the item is still open
    UNSEEN = "unseen"  # perhaps pressed, or without effect; the item is still open
    OVER = "over"  # nothing was pressed: it is over, or went away


@frozen
class Answered:
    """What became of an answer, why, and the item after it."""

    result: Result
    why: str
    item: Item


def answer_item(
    queue: Queue,
    id: int,
    given: str | Choice,
    who: Who,
    engine: Callable[[], Engine],
    reach: Callable[[Item], Transport],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Answered:
    """Answer the item with a text, or with one of its options.

    `reach` opens the transport of the item's session, which is closed at the end, and `engine` gives the engine;
    neither is called for an agent's notice.  Raises NoItem, StoreError, and ValueError for a text that cannot be typed;
    where looking fails, TransportError, and the item stays open.
    """
    text = given.name if isinstance(given, Choice) else given
    item = queue.item(id)
    try:
        if item.source is Source.AGENT:
            done = queue.close_item(id, ItemState.ANSWERED, who, text)
            return Answered(Result.DONE, "answered", done)
        claim = claim_of(who)
        item = queue.claim(id, claim)
        try:
            transport = reach(item)
            try:
                return _at_session(queue, item, claim, given, transport, engine(), sleep)
            finally:
                transport.close()
        except SessionGone as error:
            return _over(queue, item, claim, "its session is gone", str(error))
        finally:
            queue.release(id, claim)
    except NotOpen as error:
        result = Result.REFUSED if error.item.open else Result.OVER
        return Answered(result, f"{error.why}; {error.todo}", error.item)


def decline_item(queue: Queue, id: int, why: str, who: Who) -> Answered:
    """Take the item off the list; nothing is pressed.  The agent of a notice gets `why`.

    Raises NoItem, StoreError.
    """
    try:
        done = queue.close_item(id, ItemState.DECLINED, who, why)
    except NotOpen as error:
        return Answered(Result.REFUSED if error.item.open else Result.OVER, f"{error.why}; {error.todo}", error.item)
    told = "declined" if done.source is Source.AGENT else "off the list; nothing was pressed at its session"
    return Answered(Result.DONE, told, done)


def _at_session(
    queue: Queue,
    item: Item,
    claim: Claim,
    given: str | Choice,
    transport: Transport,
    engine: Engine,
    sleep: Callable[[float], None],
) -> Answered:
    verdict, seen = observe(transport, engine, sleep=sleep)
    topic = topic_of(verdict)
    now = None if topic is None else draft_of(item.session, topic, verdict, seen)
    if topic is None or now is None or (now.about, now.identity) != (item.about, item.identity):
        if now is not None and now.identity == item.identity and verdict.certainty is not Certainty.SURE:
            return Answered(Result.REFUSED, "it cannot be seen for sure what is there now, nothing was pressed", item)
        what = "nothing waits there now" if topic is None else "something else is there now"
        return _over(queue, item, claim, "its prompt went away", f"{what}, nothing was pressed")
    if topic.what in COMPOSER:
        return _compose(queue, item, claim, given, transport, engine, sleep)
    if topic.what is not PROMPT or now.secret:
        secret = "it asks for a secret or a login: answer it at its own terminal"
        return Answered(Result.REFUSED, secret if now.secret else _no_text(topic.what), item)
    if now.action != item.action:
        return _changed(queue, item, claim, now)
    return _press(queue, item, claim, given, transport, verdict, seen, engine, sleep)


def _press(
    queue: Queue,
    item: Item,
    claim: Claim,
    given: str | Choice,
    transport: Transport,
    verdict: Verdict,
    seen: Snapshot,
    engine: Engine,
    sleep: Callable[[float], None],
) -> Answered:
    typed: str | Keys
    if isinstance(given, Choice):
        keys = keys_of(verdict, given.id)
        if keys is None:
            return Answered(Result.REFUSED, f"it has no option {given.id!r} now", item)
        typed = keys or ENTER
    else:
        typed = given
    outcome = answer(transport, typed, seen, engine, sleep=sleep)
    if outcome or (outcome.end is End.GONE and outcome.pressed):
        rejects = isinstance(given, Choice) and given.kind in _REJECTS
        return _done(queue, item, claim, given, outcome.why, ItemState.DECLINED if rejects else ItemState.ANSWERED)
    if outcome.end is End.GONE:
        return _over(queue, item, claim, "its session is gone", outcome.why)
    return Answered(Result.UNSEEN if outcome.pressed else Result.REFUSED, outcome.why, item)


def _compose(
    queue: Queue,
    item: Item,
    claim: Claim,
    given: str | Choice,
    transport: Transport,
    engine: Engine,
    sleep: Callable[[float], None],
) -> Answered:
    """A text for an agent at its composer."""
    text = given.name if isinstance(given, Choice) else given
    sending = send(transport, text, engine, sleep=sleep)
    if sending.sent is Sent.TYPED:
        return _done(queue, item, claim, given, sending.why)
    return Answered(Result.UNSEEN if sending.sent is Sent.UNSEEN else Result.REFUSED, sending.why, item)


def _done(
    queue: Queue, item: Item, claim: Claim, given: str | Choice, why: str, state: ItemState = ItemState.ANSWERED
) -> Answered:
    """It was pressed: whatever a supervisor saw meanwhile, this was the answer."""
    text = redact(given.name if isinstance(given, Choice) else given)
    done = queue.close_item(item.id, state, claim.who, text, claim)
    return Answered(Result.DONE, why, done)


def _over(queue: Queue, item: Item, claim: Claim, gone: str, why: str) -> Answered:
    queue.release(item.id, claim)
    return Answered(Result.OVER, why, queue.gone(item.id, gone))


def _changed(queue: Queue, item: Item, claim: Claim, now: Draft) -> Answered:
    why = f"its screen is not as it was shown to you, nothing was pressed; see: stallkit stuck show {item.id}"
    return Answered(Result.REFUSED, why, queue.rebind(item.id, claim, now))


def _no_text(what: What) -> str:
    return f"it is {what}: no text answers that; see to it, then: stallkit stuck decline"
