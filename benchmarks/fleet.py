"""Watching many panes once a second: `python benchmarks/fleet.py [PANES] [SWEEPS]`.

A private tmux server with 500 panes; quiet, and busy with every pane printing a line each second.  CPU time of one
sweep and of detection with the installed packs, for three ways in turns: `Fleet` (detection only where the screen is
another object), a subprocess a pane (`TmuxTransport`), and libtmux (`capture_pane`, which brings no cursor), installed
into a folder of its own by pip, or left out if that fails.  The children's time counts as ours; the server's is told
apart.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable

from attrs import frozen
from timing import table

from stallkit import Engine, Screen
from stallkit.detect.engine import Detection
from stallkit.evidence.snapshot import Snapshot
from stallkit.transports.base import Options
from stallkit.transports.tmux.fleet import Fleet
from stallkit.transports.tmux.pane import TmuxTransport

LIBTMUX = "libtmux==0.62.0"
TICKS = os.sysconf("SC_CLK_TCK")


@frozen
class Cost:
    """CPU seconds of one sweep, and how many panes were detected on."""

    ours: float
    server: float
    detected: int
    detecting: float  # seconds of `ours`, where they were taken apart


class Panes:
    """A private server full of panes that are printed into from outside: whoever runs in them costs nothing."""

    def __init__(self, folder: str, count: int) -> None:
        self.socket = f"{folder}/socket"
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        self._environment = environment | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        self._printed = 0
        self._terminals: list[int] = []
        window = ["new-window", "-d", "-t", "=fleet:", "exec cat", ";"]
        self.tmux("new-session", "-d", "-s", "fleet", "-x", "80", "-y", "24", "exec cat")
        for start in range(1, count, 50):
            self.tmux(*window * min(50, count - start))
        self.pid = int(self.tmux("display-message", "-p", "#{pid}"))
        self.ids = []
        for line in self.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_tty}").splitlines():
            pane, terminal = line.split()
            self.ids.append(pane)
            self._terminals.append(os.open(terminal, os.O_WRONLY | os.O_NOCTTY))
        self.print(30)

    def tmux(self, *command: str) -> str:
        client = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket]
        done = subprocess.run([*client, *command], env=self._environment, capture_output=True, text=True, check=True)
        return done.stdout

    def print(self, lines: int) -> None:
        """Something new in every pane."""
        for terminal in self._terminals:
            for _ in range(lines):
                self._printed += 1
                os.write(terminal, b"[%08d] compiling a module of the project, nothing else\r\n" % self._printed)

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def end(self) -> None:
        for terminal in self._terminals:
            os.close(terminal)
        self.tmux("kill-server")


class ByFleet:
    """One fleet, and detection where a screen is another object than before."""

    def __init__(self, panes: Panes, engine: Engine) -> None:
        self._fleet = Fleet(Options(tmux_socket_path=panes.socket))
        self._engine = engine
        self._known: dict[str, tuple[Screen, Detection]] = {}
        self.runner = asyncio.Runner()
        self.detecting = 0.0  # CPU seconds of the latest sweep

    def sweep(self) -> int:
        sweep = self.runner.run(self._fleet.sweep())
        begun = time.process_time()
        detected = 0
        for pane, look in sweep.looks.items():
            assert isinstance(look, Snapshot), look
            if pane not in self._known or self._known[pane][0] is not look.screen:
                self._known[pane] = (look.screen, self._engine.detect(look.screen))
                detected += 1
        self.detecting = time.process_time() - begun
        return detected


def by_subprocess(panes: Panes, engine: Engine) -> Callable[[], int]:
    """A subprocess a pane, as a check of each would."""
    options = Options(tmux_socket_path=panes.socket)

    def sweep() -> int:
        for pane in panes.ids:
            # A transport's first look goes without the kernel's facts, which are no part of the comparison.
            engine.detect(TmuxTransport(pane, options).capture().screen)
        return len(panes.ids)

    return sweep


def by_libtmux(panes: Panes, engine: Engine, folder: str) -> Callable[[], int] | None:
    """libtmux's own capture of each pane; None where it cannot be had."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", folder, "--no-deps", LIBTMUX]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"libtmux is left out: pip says {done.stderr.strip().splitlines()[-1:]}\n")
        return None
    sys.path.insert(0, folder)
    import libtmux

    # Any: libtmux is a rival that is not installed where types are checked
    held: list[Any] = libtmux.Server(socket_path=panes.socket, config_file="/dev/null").panes

    def sweep() -> int:
        for pane in held:
            engine.detect(Screen.from_text("\n".join(pane.capture_pane())))
        return len(held)

    return sweep


def cost(panes: Panes, fleet: ByFleet, sweep: Callable[[], int]) -> Cost:
    fleet.detecting = 0.0
    server, begun = panes.cpu(), _cpu()
    detected = sweep()
    return Cost(_cpu() - begun, panes.cpu() - server, detected, fleet.detecting)


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(
    panes: Panes, fleet: ByFleet, ways: dict[str, Callable[[], int]], sweeps: int, busy: bool
) -> dict[str, Cost]:
    """The median of each way's sweeps; `Fleet` has them a second apart, the rivals a third of as many between them."""
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(sweeps):
        for name, sweep in ways.items():
            if name != "Fleet" and number % 3:
                continue
            if busy:
                panes.print(1)
            time.sleep(1.0)  # the rate that is measured, and all is printed by then
            costs[name].append(cost(panes, fleet, sweep))
    middle = statistics.median
    return {
        name: Cost(
            *(middle([getattr(one, part) for one in taken]) for part in ("ours", "server", "detected", "detecting"))
        )
        for name, taken in costs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("panes", nargs="?", type=int, default=500)
    parser.add_argument("sweeps", nargs="?", type=int, default=9)
    options = parser.parse_args()
    engine = Engine.default()
    gc.freeze()  # as a long-lived process should: the collector need not walk the engine again and again
    with ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory())
        panes = Panes(folder, options.panes)
        over.callback(panes.end)
        fleet = ByFleet(panes, engine)
        over.callback(fleet.runner.close)
        ways: dict[str, Callable[[], int]] = {"Fleet": fleet.sweep, "subprocess a pane": by_subprocess(panes, engine)}
        rival = by_libtmux(panes, engine, f"{folder}/libtmux")
        if rival is not None:
            ways["libtmux"] = rival
        for sweep in ways.values():
            sweep()
        print(
            f"{options.panes} panes of 80x24 at 1 Hz, {len(engine.signatures)} signatures; median CPU time of a sweep."
        )
        print("Share: of one core, of this process and its children.\n")
        for name, busy in (("every pane prints each second", True), ("quiet", False)):
            if not busy:
                time.sleep(1.5)
                fleet.sweep()  # the second in which was printed is over
            found = measured(panes, fleet, ways, options.sweeps, busy)
            best, detecting = found["Fleet"].ours, found["Fleet"].detecting
            rows = [
                [
                    way,
                    f"{one.ours * 100:.1f} %",
                    f"{one.ours / options.panes * 1e3:.3f} ms",
                    f"{one.ours / best:,.0f}",
                    f"{one.server * 100:.1f} %",
                    f"{one.detected:.0f}",
                ]
                for way, one in found.items()
            ]
            table([name, "share", "a pane", "ratio", "tmux server", "detected"], rows)
            print(f"Of the fleet's {best * 100:.1f} %, detection takes {detecting * 100:.1f}.\n")


if __name__ == "__main__":
    main()
