"""Many panes on several tmux servers: `python benchmarks/servers.py [SERVERS] [PANES EACH] [SWEEPS]`.

One supervisor (careful, no store) with a source a server, a sweep a second; first every pane prints a line each second,
then none does.  CPU time of this process and its tmux clients as a share of one core, and of the servers; how long a
sweep of one source took from its begin to its end; and what the process's own memory grew by, for each pane.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Sequence

from fleet import Panes
from stallkit_supervisor.sources import FleetSource, SourceLook
from stallkit_supervisor.supervisor import Supervisor
from supervise import SETTLES, cpu, printing
from timing import table

from stallkit import Engine
from stallkit.transports.base import Options


class Timed(FleetSource):
    """Every pane of a server; keeps how long each sweep took."""

    def __init__(self, socket: str) -> None:
        super().__init__([], Options(tmux_socket_path=socket), everything=True)
        self.took: list[float] = []

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        begun = time.monotonic()
        looks = await super().sweep(due)
        self.took.append(time.monotonic() - begun)
        return looks


def memory() -> int:
    """Bytes of this process that it shares with no other."""
    fields = [line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()]
    return sum(int(field[1]) for field in fields if field[0].startswith("Private_")) * 1024


async def run(servers: list[Panes], engine: Engine, sweeps: int) -> None:
    count = sum(len(one.ids) for one in servers)
    before = memory()
    sources = [Timed(one.socket) for one in servers]
    rows = []
    async with Supervisor(engine=engine, sources=sources) as supervisor:

        async def until(number: int) -> None:
            last = [len(one.took) + number for one in sources]
            while any(len(one.took) < wanted for one, wanted in zip(sources, last, strict=True)):
                assert not supervisor._stopping.is_set()
                await asyncio.sleep(0.05)

        async def measured(name: str) -> None:
            theirs, ours, begun = sum(one.cpu() for one in servers), cpu(), time.monotonic()
            done = [len(one.took) for one in sources]
            await until(sweeps)
            share, wall = cpu() - ours, time.monotonic() - begun
            swept = statistics.mean(len(one.took) - at for one, at in zip(sources, done, strict=True))
            took = [seconds for one, at in zip(sources, done, strict=True) for seconds in one.took[at:]]
            cells = [f"{share / wall:.1%}", f"{(sum(one.cpu() for one in servers) - theirs) / wall:.1%}"]
            rows.append(
                [name, *cells, f"{wall / swept:.2f} s", f"{statistics.median(took):.2f} s", f"{max(took):.2f} s"]
            )

        with ExitStack() as over:
            for one in servers:
                over.enter_context(printing(one))
            await until(5)
            await measured("every pane prints each second")
        await until(SETTLES)
        await measured("quiet")
        grown = memory() - before
    table(["", "supervisor", "tmux servers", "a sweep every", "median sweep", "longest"], rows)
    print(f"Memory: {grown / 1e6:.0f} MB more than the engine alone, {grown / count / 1e3:.0f} KB a pane.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="?", type=int, default=4)
    parser.add_argument("panes", nargs="?", type=int, default=500)
    parser.add_argument("sweeps", nargs="?", type=int, default=8)
    options = parser.parse_args()
    engine = Engine.default()
    engine.detect("$ ")
    gc.freeze()  # as `stallkit watch` does
    with ExitStack() as over:
        servers = []
        for _ in range(options.servers):
            servers.append(Panes(over.enter_context(tempfile.TemporaryDirectory()), options.panes))
            over.callback(servers[-1].end)
        print(f"{options.servers} servers with {options.panes} panes of 80x24 each, a sweep a second.\n")
        asyncio.run(run(servers, engine, options.sweeps))


if __name__ == "__main__":
    main()
