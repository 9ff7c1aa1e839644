"""What a supervisor costs over a night: `python benchmarks/overnight.py [SECONDS] [--panes N] [--profile]`.

30 live panes on a private tmux server, none of them an idle shell: a third redraws a spinner with a clock ten times a
second, as agents do while they work (and is called ``claude``, so that its pack and its stream are heard), a third
counts up a percentage twice a second, a third prints a line now and then.  `stallkit watch --service` watches all of
them, as a user starts it.  Of one core: CPU of the supervisor and of the tmux clients that it started, and apart from
that the tmux server and the collector of streams; of the server alone before it began, too, since the panes cost that
anyway.  The resident memory at the beginning and at the end.  Nothing is asserted.

With --profile the supervisor runs in this process, under cProfile, and says where its time goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import pstats
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import frozen
from timing import table

TICKS = os.sysconf("SC_CLK_TCK")
SETTLES_S = 20.0  # imports, first looks, first pipes
BOUND = 0.06  # of a core, for 30 panes

# Each is one small C-like loop: what is measured is the supervisor, not its panes.
SPINNER = r"""
import sys, time
begun, at = time.time(), 0
sys.stdout.write("\x1b[2J\x1b[H> fix the tests\r\n\r\n* I look at the tests first.\r\n\r\n")
while True:
    at += 1
    clock = f"{time.time() - begun:.0f}s · ↑ {at // 3} tokens"
    sys.stdout.write(f"\r\x1b[K{'·✢✳✶✻✽'[at % 6]} Pondering… ({clock} · esc to interrupt)")
    sys.stdout.flush()
    time.sleep(0.1)
"""
COUNTER = r"""
import sys, time
at = 0
while True:
    at += 1
    sys.stdout.write(f"\rDownloading {at % 1000 / 10:.1f} % [{'#' * (at % 40):<40}]")
    sys.stdout.flush()
    time.sleep(0.5)
"""
PRINTER = r"""
import random, sys, time
at = 0
while True:
    at += 1
    print(f"[{at:06d}] compiling a module of the project, nothing else", flush=True)
    time.sleep(random.uniform(1, 8))
"""
KINDS = (("claude", SPINNER), ("python3", COUNTER), ("build", PRINTER))


@frozen
class Cpu:
    """CPU seconds of a process, and of its children that it waited for; and the wall clock."""

    own: float
    children: float
    at: float

    @classmethod
    def of(cls, pid: int) -> Cpu:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own, children = (sum(map(int, fields[at : at + 2])) / TICKS for at in (11, 13))
        return cls(own, children, time.monotonic())


class Panes:
    """A private server with live panes."""

    def __init__(self, folder: Path, count: int) -> None:
        self.socket = folder / "socket"
        self._environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "STALLKIT_TMUX")}
        for number in range(count):
            name, program = KINDS[number % len(KINDS)]
            if not (folder / name).exists():
                (folder / name).symlink_to(sys.executable)
            words = ["new-session", "-d", "-s", f"{name}{number}", "-x", "100", "-y", "30"]
            self.tmux(*words, str(folder / name), "-I", "-S", "-c", program)
        self.pid = int(self.tmux("display-message", "-p", "#{pid}"))

    def tmux(self, *words: str) -> str:
        client = ["tmux", "-u", "-f", "/dev/null", "-S", str(self.socket)]
        done = subprocess.run([*client, *words], env=self._environment, capture_output=True, text=True, check=True)
        return done.stdout

    def end(self) -> None:
        self.tmux("kill-server")


def memory(pid: int) -> float:
    """Resident MB."""
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def collectors(pid: int) -> list[int]:
    """The children of a supervisor that hear the streams of panes; they live as long as it does."""
    children = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    found = [int(child) for child in " ".join(children).split()]
    return [child for child in found if b"stallkit_supervisor.collector" in Path(f"/proc/{child}/cmdline").read_bytes()]


def share(before: Cpu, after: Cpu) -> tuple[float, float]:
    """Of one core: a process, and its children."""
    span = after.at - before.at
    return (after.own - before.own) / span, (after.children - before.children) / span


def measured(panes: Panes, folder: Path, seconds: float) -> None:
    before = Cpu.of(panes.pid)
    time.sleep(min(20.0, seconds))
    server_alone, _ = share(before, Cpu.of(panes.pid))
    environment = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "state")}
    (folder / "stallkit.toml").write_text("[watch]\nall = true\n")
    with (folder / "out").open("w") as out:
        words = [sys.executable, "-c", "from stallkit.cli.main import main; main()", "watch", "--service"]
        words += ["-S", str(panes.socket)]
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=out)
    try:
        time.sleep(SETTLES_S)
        first, server, rss = Cpu.of(process.pid), Cpu.of(panes.pid), memory(process.pid)
        heard = {pid: Cpu.of(pid) for pid in collectors(process.pid)}
        time.sleep(seconds)
        own, clients = share(first, Cpu.of(process.pid))
        watched, _ = share(server, Cpu.of(panes.pid))
        hearing = sum(share(known, Cpu.of(pid))[0] for pid, known in heard.items())
        grown, events = memory(process.pid), (folder / "out").read_text().count("\n")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    rows = [
        ["supervisor", f"{own:.2%}"],
        ["its tmux clients", f"{clients:.2%}"],
        ["its collector of streams", f"{hearing:.2%}"],
        [f"together (bound {BOUND:.0%})", f"{own + clients + hearing:.2%}"],
        ["tmux server, watched", f"{watched:.2%}"],
        ["tmux server, before", f"{server_alone:.2%}"],
    ]
    table(["CPU of one core", f"{seconds:.0f} s"], rows)
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"Memory: {rss:.1f} MB at the beginning, {grown:.1f} MB at the end; {events} events; load {load}.")


def profiled(panes: Panes, folder: Path, seconds: float) -> None:
    from stallkit_supervisor.sources import FleetSource, SourceLook
    from stallkit_supervisor.store import Store
    from stallkit_supervisor.supervisor import Supervisor

    from stallkit.press.events import EventLog
    from stallkit.transports.base import Options

    facts, profile = cProfile.Profile(), cProfile.Profile()  # of the thread that asks the kernel, and of the loop

    class Profiled(FleetSource):
        def _told(self, *looks: Any) -> list[SourceLook]:
            if profiling:
                facts.enable()
            try:
                return super()._told(*looks)
            finally:
                facts.disable()

    profiling: list[bool] = []
    os.environ["STALLKIT_STATE_DIR"] = str(folder / "state")

    async def watch() -> None:
        store = Store(folder / "watch.db")
        log = EventLog(folder / "events.jsonl", max_bytes=EventLog.ROTATED)
        source = Profiled([], Options(tmux_socket_path=str(panes.socket)), everything=True)
        async with Supervisor(sources=[source], store=store, hooks=[log.write]):
            await asyncio.sleep(SETTLES_S)
            before = Cpu.of(os.getpid())
            await asyncio.sleep(seconds)
            own, clients = share(before, Cpu.of(os.getpid()))
            print(f"without the profiler: supervisor {own:.2%}, clients {clients:.2%} of one core\n")
            profiling.append(True)
            profile.enable()
            await asyncio.sleep(seconds)
            profile.disable()
        store.close()

    asyncio.run(watch())
    for name, found in (("the event loop", profile), ("the thread that asks the kernel", facts)):
        print(f"--- {name}")
        stats = pstats.Stats(found)
        stats.sort_stats("tottime").print_stats(25)
        stats.sort_stats("cumtime").print_stats(45)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("--panes", type=int, default=30)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with ExitStack() as over:
        folder = Path(tempfile.mkdtemp(prefix="overnight-"))
        over.callback(shutil.rmtree, folder, ignore_errors=True)
        panes = Panes(folder, options.panes)
        over.callback(panes.end)
        print(f"{options.panes} live panes of 100x30; load {os.getloadavg()[0]:.1f}.\n")
        (profiled if options.profile else measured)(panes, folder, options.seconds)


if __name__ == "__main__":
    main()
