"""Agents of many sandboxes wait at one endpoint, held at once, with 500 clients beside them that never finish their
headers; then a person answers all.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing

from askers import Agent, exchange, request
from stallkit_operator.queue import Queue

from soak.held import PATIENCE_S, Stage, all_wait, keys_of, many_files
from soak.parts import Figure, Part, Run

SANDBOX = 100  # connections of each
SLOW = 500


def soak(run: Run) -> list[Figure]:
    with many_files():
        return asyncio.run(_soak(run))


async def _soak(run: Run) -> list[Figure]:
    stage = Stage(run.folder, [f"s{number}" for number in range(max(1, run.size // SANDBOX))])
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


PART = Part(__doc__, "connections", full=5_000, short=400, soak=soak)
