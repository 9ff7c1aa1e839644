"""Replies that nobody waits for: typed once the agent rests, at most once, also after kill -9, and never elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from contextlib import AsyncExitStack, closing
from typing import Callable, Iterator

import pytest
from attrs import evolve
from boxed import hooked, need_bwrap, start_agent
from composed import ENGINE
from stallkit_operator.answering import Result, answer_item, type_kept, typed_later
from stallkit_operator.item import Claim, Delivery, Item, ItemState, NotOpen, Who
from stallkit_operator.queue import Queue, claim_of
from stallkit_operator.sandbox.sandbox_start import composer_of
from stallkit_operator.sandbox.sandboxes import Sandboxes
from started import House
from terminals import wait_for

from stallkit.config import queue_file, sandboxes_file, stuck_dir

ADA = Who("ada", "a test")
REPLY = "use the mirror"
PATIENCE_S = 60.0


@pytest.fixture
def sandboxes(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandboxes]:
    need_bwrap(monkeypatch)
    with closing(Sandboxes(sandboxes_file())) as found:
        yield found


@pytest.fixture
def queue(house: House) -> Iterator[Queue]:
    with closing(Queue(queue_file())) as made:
        yield made


def kept(queue: Queue, number: int = 1) -> Item:
    """A notice that a hook filed, answered, and not typed yet."""
    return queue.close_item(hooked(queue, number).id, ItemState.ANSWERED, ADA, REPLY)


def heard(name: str = "web") -> str:
    file = stuck_dir() / name / "heard"
    return file.read_text() if file.exists() else ""


def served(queue: Queue, until: Callable[[], bool], typists: int = 1) -> None:
    """What the endpoint does beside its requests, until that holds."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            for _ in range(typists):
                await stack.enter_async_context(typed_later(queue, lambda: {"web"}, lambda: ENGINE, composer_of))
            async with asyncio.timeout(PATIENCE_S):
                while not await asyncio.to_thread(until):
                    await asyncio.sleep(0.05)

    asyncio.run(run())


@pytest.mark.e2e
def test_it_is_typed_once_the_agent_rests(sandboxes: Sandboxes, house: House, queue: Queue) -> None:
    session = start_agent(sandboxes, house, draft="half a thought")
    item = hooked(queue, 1)
    done = answer_item(queue, item.id, REPLY, ADA, lambda: ENGINE, composer_of)
    assert done.result is Result.DONE and done.why.startswith("kept for its next stuck"), done
    assert (done.item.delivery, heard()) == (Delivery.KEPT, "")
    tries: list[float] = []

    def looked() -> bool:
        tries.append(0)
        return len(tries) > 60

    served(queue, looked)
    assert heard() == "", "somebody's text stands in the composer"
    house.tmux("send-keys", "-t", f"={session.name}:", "Enter")
    served(queue, lambda: queue.item(item.id).delivery is Delivery.TYPED, typists=2)
    assert heard() == f"half a thought\n{REPLY}\n"
    served(queue, lambda: queue.kept() == [])
    assert heard() == f"half a thought\n{REPLY}\n", "once"


@pytest.mark.e2e
def test_of_many_that_try_at_once_one_types(sandboxes: Sandboxes, house: House, queue: Queue) -> None:
    start_agent(sandboxes, house)
    item = kept(queue)
    tries = [
        threading.Thread(target=type_kept, args=(queue, item, lambda: ENGINE, composer_of), daemon=True)
        for _ in range(6)
    ]
    for one in tries:
        one.start()
    for one in tries:
        one.join(PATIENCE_S)
    assert (heard(), queue.item(item.id).delivery) == (f"{REPLY}\n", Delivery.TYPED)


@pytest.mark.e2e
def test_a_replacement_does_not_get_what_the_one_before_asked_for(
    sandboxes: Sandboxes, house: House, queue: Queue
) -> None:
    start_agent(sandboxes, house, draft="half a thought")
    item = kept(queue)
    start_agent(sandboxes, house, replace=True)
    after, why = type_kept(queue, item, lambda: ENGINE, composer_of)
    assert (after.delivery, why, heard()) == (Delivery.KEPT, "no key goes into its sandbox", "")
    assert queue.item(item.id).claim is None
    assert composer_of(evolve(item, created=item.created + 1e6)) is not None, "but for that it could be typed"


KILLED = """
import sys
from contextlib import closing
from pathlib import Path
from stallkit_operator.item import Who
from stallkit_operator.queue import Queue, claim_of

with closing(Queue(Path(sys.argv[1]))) as queue:
    assert queue.typing(int(sys.argv[2]), claim_of(Who("stallkit", "a test")))
    print("typing", flush=True)
    sys.stdin.read()
"""


@pytest.mark.e2e
def test_who_was_killed_while_it_typed_is_not_repeated_and_the_reply_is_not_lost(queue: Queue) -> None:
    item = kept(queue)
    command = [sys.executable, "-c", KILLED, str(queue_file()), str(item.id)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as typist:
        assert typist.stdout is not None
        wait_for(lambda: typist.stdout.readline() == "typing\n", "it to type")  # type: ignore[union-attr]
        with pytest.raises(NotOpen, match="being typed"):
            queue.fetch("web", "key-00001")
        assert not queue.typing(item.id, claim_of(ADA)), "another is at it"
        os.kill(typist.pid, signal.SIGKILL)
    assert not queue.typing(item.id, claim_of(ADA))
    assert queue.item(item.id).delivery is Delivery.PERHAPS and queue.kept() == []
    fetched = queue.fetch("web", "key-00001")
    assert fetched is not None and (fetched.text, fetched.delivery) == (REPLY, Delivery.PERHAPS)


def test_what_was_fetched_is_not_typed(queue: Queue) -> None:
    item = kept(queue)
    fetched = queue.fetch("web", "key-00001")
    assert fetched is not None and (fetched.text, fetched.delivery) == (REPLY, Delivery.FETCHED)
    assert queue.kept() == [] and not queue.typing(item.id, claim_of(ADA))


def test_only_what_a_hook_filed_is_kept(queue: Queue) -> None:
    held = queue.notify("web", "key-00001", "may I?")
    assert queue.close_item(held.id, ItemState.ANSWERED, ADA, "yes").delivery is Delivery.HELD
    declined = hooked(queue, 1)
    assert queue.close_item(declined.id, ItemState.DECLINED, ADA, "no").delivery is Delivery.LATER
    waited_for = hooked(queue, 2)
    queue.notify("web", "key-00002", "I wait now")
    assert queue.close_item(waited_for.id, ItemState.ANSWERED, ADA, "yes").delivery is Delivery.FETCHED
    assert queue.kept() == [] and not queue.typing(held.id, claim_of(ADA))


def test_a_claim_of_another_boot_is_dead(queue: Queue) -> None:
    item = kept(queue)
    assert queue.typing(item.id, Claim(ADA, os.getpid(), 1, "another boot", "token"))
    assert not queue.typing(item.id, claim_of(ADA))
    assert queue.item(item.id).delivery is Delivery.PERHAPS
