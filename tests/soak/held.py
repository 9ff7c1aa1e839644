"""Agents wait at the endpoint, which is killed with SIGKILL while a person answers some of them; it starts again,
they come again with their keys, and ask anew once they have their answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Callable, Iterator

from askers import Agent, exchange, request
from attrs import define, field
from stallkit_operator.item import Item, ItemState, Who
from stallkit_operator.queue import Queue

from soak.parts import Figure, Part, Run

SANDBOX = 10  # agents in each, whose messages wait together
FOR_A_KILL = 50  # agents: 1,000 in the long form
MOST = 1_000
ADA = Who("ada", "a soak")
PATIENCE_S = 120.0


@define
class Stage:
    """The endpoint's process, which is replaced, and all that outlives it."""

    folder: Path
    sandboxes: list[str]
    options: list[str] = field(factory=list)  # of `stallkit sandbox serve`
    process: subprocess.Popen[bytes] | None = None
    tally: Counter[str] = field(factory=Counter)
    given: dict[int, str] = field(factory=dict)  # replies by the number of their item

    @property
    def queue_file(self) -> Path:
        return self.folder / "state" / "queue.db"

    def socket(self, sandbox: str) -> Path:
        return self.folder / "s" / sandbox / "notify.sock"

    def start(self) -> None:
        command = ["sandbox", "serve", "--dir", str(self.folder / "s"), *self.options, *self.sandboxes]
        environment = {**os.environ, "STALLKIT_STATE_DIR": str(self.folder / "state")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stallkit", *command], env=environment, stdout=subprocess.DEVNULL
        )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.tally["kills"] += 1

    def answer(self, queue: Queue, items: list[Item]) -> None:
        for item in items:
            reply = f"reply to {item.id}"
            queue.close_item(item.id, ItemState.ANSWERED, ADA, reply)
            self.given[item.id] = reply

    def megabytes(self) -> float:
        assert self.process is not None
        [kilobytes] = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(kilobytes) / 1024


@contextmanager
def many_files() -> Iterator[None]:
    """This process may have a socket for each agent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def soak(run: Run) -> list[Figure]:
    with many_files():
        return asyncio.run(_held(run))


async def _held(run: Run) -> list[Figure]:
    agents = min(MOST, FOR_A_KILL * run.size)
    stage = Stage(run.folder, [f"s{number}" for number in range(agents // SANDBOX)])
    with closing(Queue(stage.queue_file, busy_s=30)) as queue:
        people = [Agent(stage.socket(name), f"{name}-a{n}") for name in stage.sandboxes for n in range(SANDBOX)]
        stage.start()
        asking = [asyncio.create_task(one.ask()) for one in people]
        try:
            for number in range(run.size):
                await all_wait(queue, people)
                stage.tally["waited"] += len(people)
                items = queue.items()
                answered, half = items[number % 2 :: 2][: len(items) // 4], len(items) // 8
                stage.answer(queue, answered[:half])
                await asyncio.sleep(0.01 * (number % 12))  # at another moment of the delivery each time
                stage.kill()
                stage.answer(queue, answered[half:])
                stage.start()
                run.tell(number + 1)
            await all_wait(queue, people)
            megabytes = stage.megabytes()
            for one in people:
                one.over = True
            began = time.monotonic()
            stage.answer(queue, queue.items())
            await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
            return _figures(stage, people, queue.items(over=True, limit=100_000), megabytes, time.monotonic() - began)
        finally:
            for task in asking:
                task.cancel()
            stage.kill()


async def all_wait(queue: Queue, people: list[Agent]) -> None:
    """Until the latest message of each agent is written down, and none has an answer that is still on its way."""

    def missing() -> list[str]:
        filed = keys_of(queue.items())
        latest = {one.name: [*one.replies][-1] for one in people if one.replies and one.waits}
        return [one.name for one in people if latest.get(one.name) not in filed]

    await until(lambda: not missing(), lambda: f"{len(missing())} do not wait, {missing()[:3]}")


async def until(condition: Callable[[], bool], why: Callable[[], str]) -> None:
    """Wait until a condition holds; `why` says what is missing where it does not come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, why()
        await asyncio.sleep(0.1)


def keys_of(items: list[Item]) -> dict[str, Item]:
    return {key: item for item in items for key in re.findall(r"<(.+?)>", item.words)}


def _figures(stage: Stage, people: list[Agent], items: list[Item], megabytes: float, seconds: float) -> list[Figure]:
    item_of = keys_of(items)
    keys = [(key, got) for one in people for key, got in one.replies.items()]
    filed = Counter(key for item in items for key in re.findall(r"<(.+?)>", item.words))
    lost = sum(key not in item_of for key, _ in keys)
    twice = sum(filed[key] > 1 for key, _ in keys) + sum(len(got) > 1 for _, got in keys)
    wrong = sum(got != [(200, stage.given[item_of[key].id])] for key, got in keys if key in item_of)
    again = sum(one.tries for one in people) - len(keys)
    return [
        Figure("kills", f"{stage.tally['kills']}", "all", True),
        Figure("agents that waited at each", f"{len(people):,}", "all", stage.tally["waited"] > 0),
        Figure("came again", f"{again:,} times", "many", again >= len(people)),
        Figure.none("messages lost", lost, len(keys)),
        Figure.none("messages or answers twice", twice, len(keys)),
        Figure.none("answers lost, or of another message", wrong, len(keys)),
        Figure("seconds from the last replies to all agents", f"{seconds:.1f}", "at most 5", seconds <= 5),
        Figure("most memory of the endpoint", f"{megabytes:.0f} MB", "at most 200 MB", megabytes <= 200),
    ]


PART = Part(__doc__, "kills", full=20, short=4, soak=soak)


# --- all at once ---

CONNECTIONS = 100  # of each sandbox
SLOW = 500


def crowd(run: Run) -> list[Figure]:
    """Agents of many sandboxes wait at one endpoint, held at once, with 500 clients beside them that never finish their
    headers; then a person answers all.
    """
    with many_files():
        return asyncio.run(_crowd(run))


async def _crowd(run: Run) -> list[Figure]:
    stage = Stage(run.folder, [f"s{number}" for number in range(max(1, run.size // CONNECTIONS))])
    each = run.size // len(stage.sandboxes)
    with closing(Queue(stage.queue_file, busy_s=30)) as queue:
        people = [Agent(stage.socket(name), f"{name}-a{n}", over=True) for name in stage.sandboxes for n in range(each)]
        stage.start()
        asking = [asyncio.create_task(one.ask()) for one in people]
        try:
            await all_wait(queue, people)
            run.tell(len(people))
            slow = [await asyncio.open_unix_connection(str(stage.socket("s0"))) for _ in range(SLOW)]
            for _, writer in slow:
                writer.write(b"POST /supervise/notify HTTP/1.1\r\nX: ")
            health = sorted([await asyncio.to_thread(_health, stage) for _ in range(100)])
            megabytes = stage.megabytes()
            began = time.monotonic()
            stage.answer(queue, queue.items())
            await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
            seconds = time.monotonic() - began
            item_of = keys_of(queue.items(over=True, limit=100_000))
            for _, writer in slow:
                writer.close()
        finally:
            for task in asking:
                task.cancel()
            stage.kill()
    got = [(key, one.replies[key]) for one in people for key in one.replies]
    right, late = sum(answer == [(200, stage.given[item_of[key].id])] for key, answer in got), 1000 * health[98]
    return [
        Figure("answered with its own reply", f"{right:,} of {len(people):,}", "all", right == len(people)),
        Figure("most memory of the endpoint", f"{megabytes:.0f} MB", "at most 200 MB", megabytes <= 200),
        Figure("seconds from the replies to all agents", f"{seconds:.1f}", "at most 5", seconds <= 5),
        Figure(f"healthz beside {SLOW} slow clients, 99th of 100", f"{late:.0f} ms", "under 200 ms", late < 200),
    ]


def _health(stage: Stage) -> float:
    began = time.monotonic()
    assert b"ok" in exchange(stage.socket("s0"), request("GET", "/healthz"))
    return time.monotonic() - began


CROWD = Part(crowd.__doc__ or "", "connections", full=5_000, short=400, soak=crowd)
