"""A harmless screen turns into a harmful one for 20-200 ms, every 0.4-1.6 s, in six families.

What was there when the key came?
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Callable

from attrs import define, field
from terminals import wait_for

from soak import flipping
from soak.flipping import FAMILIES
from soak.parts import Figure, Part, Run
from soak.tmuxes import SoakServer
from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.check import observe
from stallkit.press.gate import Answer, press
from stallkit.terminal.keys import Keys

PANES = 4  # of each family
PAUSE_S = 0.3  # at most, between two tries: each begins at a random moment
ANSWER = Answer(Keys.parse("Space"))  # a person's, so that it depends on no pack what may be pressed
BOUND = "1 of 5000"


@define
class _Family:
    """What the programs of one family say of the keys that they got, and what the gate says to all of its panes."""

    wanted: int  # presses
    tell: Callable[[], None]
    keys: Counter[str] = field(factory=Counter)  # by the screen that was there
    ages_ms: list[float] = field(factory=list)  # of the harmful screens, when the key came
    pressed: int = 0
    refused: Counter[str] = field(factory=Counter)  # by why
    lock: threading.Lock = field(factory=threading.Lock)

    def press(self) -> None:
        with self.lock:
            self.pressed += 1
            if self.pressed <= self.wanted:
                self.tell()

    def refuse(self, why: str) -> None:
        with self.lock:
            self.refused[why] += 1

    def read(self, file: Path) -> None:
        with self.lock:
            for line in file.read_text().splitlines():
                screen, keys, age = line.split()
                self.keys[screen] += int(keys)
                self.ages_ms += [float(age)] * (screen != "harmless")


def _harmless(seen: Snapshot, family: str) -> bool:
    wanted, _ = FAMILIES[family]
    rows = [line.rstrip() for line in seen.screen.lines[2 : 2 + len(wanted)]]
    return rows == [row.rstrip() for row in wanted] and seen.tty is not None and seen.tty.echo is True


def _press(server: SoakServer, name: str, family: str, file: Path, engine: Engine, tally: _Family) -> None:
    mine, rand, transport = 0, random.Random(name), server.transport(name)
    while tally.pressed < tally.wanted:
        time.sleep(rand.uniform(0, PAUSE_S))
        _, seen = observe(transport, engine)
        if not _harmless(seen, family):
            tally.refuse("another screen was there at once")
            continue
        outcome = press(transport, ANSWER, seen, engine)
        if outcome.keys is None:
            tally.refuse(outcome.why.split(":")[0])
        else:
            mine += 1
            tally.press()
    wait_for(lambda: len(file.read_text().splitlines()) >= mine, f"the keys of {name} to arrive")
    tally.read(file)


def soak(run: Run) -> list[Figure]:
    server, engine, done = SoakServer(run.folder), installed_engine(), count(1)
    tallies = {family: _Family(run.size, lambda: run.tell(next(done))) for family in FAMILIES}
    jobs: list[Future[None]] = []
    try:
        with ThreadPoolExecutor(PANES * len(FAMILIES)) as threads:
            for number, family in enumerate(FAMILIES):
                for pane in range(min(PANES, run.size)):
                    name = f"flips{number}-{pane}"
                    file = run.folder / name
                    file.touch()
                    command = [sys.executable, "-I", flipping.__file__, str(file), str(pane), family]
                    server.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", *command)
                    jobs.append(threads.submit(_press, server, name, family, file, engine, tallies[family]))
        for job in jobs:
            job.result()
    finally:
        server.end()
    return [figure for family, tally in tallies.items() for figure in _figures(family, tally)]


def _figures(family: str, tally: _Family) -> list[Figure]:
    wrong, came = tally.keys.total() - tally.keys["harmless"], tally.keys.total()
    told, tries = tally.pressed, tally.pressed + tally.refused.total()
    why = "; ".join(f"{count} {reason}" for reason, count in tally.refused.most_common(4))
    ages = f", {', '.join(f'{age:.1f}' for age in sorted(tally.ages_ms))} ms after it had changed" if wrong else ""
    within = wrong <= max(1, came // 5000)
    return [
        Figure(f"{family}: keys that met another one", f"{wrong} of {came}{ages}", BOUND, within),
        Figure(f"{family}: keys that came, of presses that were told", f"{came} of {told}", "the same", came == told),
        Figure.told(f"{family}: refusals", f"{tally.refused.total()} of {tries} tries: {why}"),
    ]


PART = Part(__doc__, "presses in each of six families", full=5_000, short=6, soak=soak)
