"""What bookkeeping costs: `python benchmarks/supervise.py [PANES] [SWEEPS]`.

A private tmux server with 500 panes, a sweep a second; busy, every pane printing a line each second, and quiet.  CPU
time of a sweep, of this process and the tmux clients that it waits for, for three ways, one after the other: `Fleet`
with detection where a screen changed; the whole `Supervisor` (careful) without a store; and the same with store and
event log, as `stallkit watch --all` runs it.  Who prints is a process of its own, and not counted.

A pane that comes to rest is asked about by the kernel's facts more often at first: *coming to rest* are the first 30
quiet sweeps, *quiet* those after them.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import signal
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import AsyncIterator, Callable, Iterator, Sequence

from fleet import ByFleet, Panes
from stallkit_supervisor.sources import FleetSource, SourceLook
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from timing import table

from stallkit import Engine
from stallkit.press.events import EventLog
from stallkit.transports.base import Options

SETTLES = 30  # sweeps until the kernel is asked rarely


class Counted(FleetSource):
    """Every pane of the server; says how often it was looked at."""

    sweeps = 0

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        self.sweeps += 1
        return await super().sweep(due)


@contextmanager
def printing(panes: Panes) -> Iterator[None]:
    """A line in every pane each second, by another process."""
    child = os.fork()
    if child == 0:
        while True:
            panes.print(1)
            time.sleep(1.0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def by_fleet(panes: Panes, engine: Engine) -> AsyncIterator[int]:
    """A sweep and detection, once a second; how many sweeps there were, each time it is asked for."""
    fleet, count = ByFleet(panes, engine), 0
    while True:
        await asyncio.to_thread(fleet.sweep)
        count += 1
        yield count
        await asyncio.sleep(1.0)


async def by_supervisor(panes: Panes, engine: Engine, folder: str | None) -> AsyncIterator[int]:
    """The same by a supervisor, with store and event log in the folder."""
    source = Counted([], Options(tmux_socket_path=panes.socket), everything=True)
    store = Store(Path(folder) / "watch.db") if folder else None
    hooks = [EventLog(Path(folder) / "events.jsonl", max_bytes=EventLog.ROTATED).write] if folder else []
    async with Supervisor(engine=engine, sources=[source], store=store, hooks=hooks) as supervisor:
        while not supervisor._stopping.is_set():
            yield source.sweeps
            await asyncio.sleep(0.2)
    if store:
        store.close()


async def measured(panes: Panes, ticks: AsyncIterator[int], sweeps: int) -> dict[str, float]:
    """CPU seconds of a sweep, by what the panes do."""

    async def over(count: int) -> float:
        begun = await anext(ticks)
        at, before = begun, cpu()
        while at < begun + count:
            at = await anext(ticks)
        return (cpu() - before) / count

    with printing(panes):
        await over(5)
        busy = await over(sweeps)
    settling = await over(SETTLES)
    return {"busy": busy, "coming to rest": settling, "quiet": await over(sweeps)}


async def run(panes: Panes, engine: Engine, folder: str, sweeps: int) -> None:
    found: dict[str, dict[str, float]] = {}
    for name, ticks in (
        ("Fleet", by_fleet(panes, engine)),
        ("Supervisor", by_supervisor(panes, engine, None)),
        ("with store and event log", by_supervisor(panes, engine, folder)),
    ):
        found[name] = await measured(panes, ticks, sweeps)
        await ticks.aclose()  # type: ignore[attr-defined]  # they are generators
    rows = [[name, *(f"{share * 100:.1f} %" for share in one.values())] for name, one in found.items()]
    table(["CPU of one core", *found["Fleet"]], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("panes", nargs="?", type=int, default=500)
    parser.add_argument("sweeps", nargs="?", type=int, default=15)
    options = parser.parse_args()
    engine = Engine.default()
    gc.freeze()  # as `stallkit watch` does
    with ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory())
        panes = Panes(folder, options.panes)
        over.callback(panes.end)
        print(f"{options.panes} panes of 80x24, a sweep a second, {len(engine.signatures)} signatures.\n")
        asyncio.run(run(panes, engine, folder, options.sweeps))


if __name__ == "__main__":
    main()
