"""What listening to panes costs: `python benchmarks/listen.py [PANES] [SWEEPS]`.

A private tmux server with 100 quiet panes, a sweep a second: CPU time of this process with the clients that it waits
for, of the collector and of the server, where no pane is listened to and where all are; what the collector takes of
memory, beside one filter a pane (`check --for`).  Then one pane prints 50 MB, with and without a listener.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from fleet import Panes
from stallkit_supervisor.listener import Listen
from stallkit_supervisor.sources import FleetSource
from timing import table

from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

FLOOD = 50_000_000  # bytes
HERTZ = os.sysconf("SC_CLK_TCK")


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / HERTZ


def memory(pid: int) -> tuple[float, float]:
    """Megabytes: resident, and the share that is its own."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    found = {line.split()[0]: int(line.split()[1]) / 1_000 for line in lines}
    return found["Rss:"], found["Pss:"]


def processes(words: str) -> list[int]:
    listing = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], check=True, capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if words in line]


async def quiet(panes: Panes, server: int, listen: Listen, sweeps: int) -> tuple[list[str], FleetSource]:
    """Shares of a core, after all panes are heard and rest."""
    source = FleetSource([], Options(tmux_socket_path=panes.socket), everything=True, listen=listen)
    for _ in range(40):
        await source.sweep(lambda target: True)
        await asyncio.sleep(0.2)
    heard = sum(marks is not None for marks in source._listening.marks.values())
    (collector,) = processes("stallkit_supervisor.collector") or [0]
    before = cpu(), cpu_of(server), cpu_of(collector) if collector else 0.0
    for _ in range(sweeps):
        await source.sweep(lambda target: True)
        await asyncio.sleep(1.0)
    after = cpu(), cpu_of(server), cpu_of(collector) if collector else 0.0
    shares = [f"{(now - then) / sweeps * 100:.2f} %" for now, then in zip(after, before, strict=True)]
    kept = "{:.1f} ({:.1f})".format(*memory(collector)) if collector else "none"
    return [listen, str(heard), *shares, kept], source


async def flooded(panes: Panes, server: int, source: FleetSource) -> list[str]:
    """Seconds in which a program prints, and what it costs."""
    client = ["tmux", "-S", panes.socket]
    (collector,) = processes("stallkit_supervisor.collector") or [0]
    with tempfile.TemporaryDirectory() as folder:
        before = cpu_of(server), cpu_of(collector) if collector else 0.0
        began = time.monotonic()
        script = f"head -c {FLOOD} /dev/zero | tr '\\0' a | fold -w 70; touch {folder}/done; exec sleep 1000"
        subprocess.run([*client, "new-session", "-d", "-s", "flood", "sh", "-c", f"read x; {script}"], check=True)
        for _ in range(10):
            await source.sweep(lambda target: True)
            await asyncio.sleep(0.2)
        began, peak = time.monotonic(), 0.0
        subprocess.run([*client, "send-keys", "-t", "=flood:", "Enter"], check=True)
        while not Path(folder, "done").exists():
            peak = max(peak, memory(server)[0])
            await asyncio.sleep(0.05)
        took = time.monotonic() - began
        await asyncio.sleep(1.0)
        after = cpu_of(server), cpu_of(collector) if collector else 0.0
        subprocess.run([*client, "kill-session", "-t", "=flood"], check=True)
    return [f"{took:.1f} s", f"{after[0] - before[0]:.1f} s", f"{after[1] - before[1]:.2f} s", f"{peak:.1f} MB"]


def filters(panes: Panes, count: int) -> str:
    """What as many filters take, one a pane."""
    made = []
    for number in range(count):
        made.append(TmuxTransport(f"%{number}", Options(tmux_socket_path=panes.socket, listen=True)))
        while made[-1].capture().marks is None:
            time.sleep(0.05)
    sizes = [memory(pid) for pid in processes("pane_filter.py")]
    for one in made:
        one.close()
    own = sum(size[1] for size in sizes)
    return f"{len(sizes)} filters, one a pane: {sum(size[0] for size in sizes):.0f} MB resident, {own:.0f} MB their own"


async def run(panes: Panes, server: int, sweeps: int) -> tuple[list[list[str]], list[list[str]]]:
    rests, floods = [], []
    listens: tuple[Listen, ...] = ("never", "all")
    for listen in listens:
        row, source = await quiet(panes, server, listen, sweeps)
        rests.append(row)
        floods.append([listen, *await flooded(panes, server, source)])
        await source.close()
    return rests, floods


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("panes", nargs="?", type=int, default=100)
    parser.add_argument("sweeps", nargs="?", type=int, default=20)
    options = parser.parse_args()
    with ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory())
        panes = Panes(folder, options.panes)
        over.callback(panes.end)
        rests, floods = asyncio.run(run(panes, panes.pid, options.sweeps))
        print(f"{options.panes} quiet panes, a sweep a second; CPU of one core, memory in MB (its own share).\n")
        table(["listen", "panes heard", "supervisor's looks", "tmux server", "collector", "memory"], rests)
        print(f"\nOne pane prints {FLOOD:,} bytes.\n")
        table(["listen", "the program took", "CPU of the server", "of the collector", "server's peak"], floods)
        print(f"\n{filters(panes, 10)}.")


if __name__ == "__main__":
    main()
