"""Replies that nobody waits for, as a hook filed the notice: typed into the agent's own composer once it is at rest.

A reply is kept first, and typed at most once: whoever types it says so before the first key, and what a process left
that died meanwhile was perhaps typed, so it never is again.  Until it is typed, `stuck` in the sandbox can fetch it.
The endpoint tries, since it is there wherever a hook can ask; the agent needs no supervisor for its replies.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import AsyncIterator, Callable, Container

from stallkit.detect.engine import Engine
from stallkit.errors import StallkitError, StoreError, TransportError
from stallkit.press.send import Sent, send
from stallkit.transports.base import Transport
from stallkit_operator.item import Delivery, Item, Who
from stallkit_operator.queue import Queue, claim_of

LOOK_S = 1.0  # between two looks for replies that are kept
PAUSES_S = (2.0, 3.0, 5.0, 10.0)  # between two tries at one of them; each looks at its terminal
_TYPIST = Who("stallkit", "a kept reply")
_BECOMES = {Sent.TYPED: Delivery.TYPED, Sent.UNSEEN: Delivery.PERHAPS}

Reach = Callable[[Item], Transport | None]  # the terminal of a notice's agent; None where no key may go


def type_kept(queue: Queue, item: Item, engine: Callable[[], Engine], reach: Reach) -> tuple[Item, str]:
    """Type the reply to an item that is kept, where its agent is at rest; the item after it, and why that.

    Raises StoreError where it could not be written down what came of it.
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
