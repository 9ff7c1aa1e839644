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
class _Tally:
    """What the programs of one family say of the keys that they got, and what the gate says."""

    keys: Counter[str] = field(factory=Counter)  # by the screen that was there
    ages_ms: list[float] = field(factory=list)  # of the harmful screens, when the key came
    pressed: int = 0
    refused: Counter[str] = field(factory=Counter)  # by why

    def __add__(self, other: _Tally) -> _Tally:
        return _Tally(
            self.keys + other.keys,
            self.ages_ms + other.ages_ms,
            self.pressed + other.pressed,
            self.refused + other.refused,
        )


class _Enough:
    """Says when all panes of one family together have pressed often enough."""

    def __init__(self, wanted: int, one_more: Callable[[], None]) -> None:
        self._left, self._tell, self._lock = wanted, one_more, threading.Lock()

    def __bool__(self) -> bool:
        return self._left <= 0

    def one_more(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left >= 0:
                self._tell()


def _harmless(seen: Snapshot, family: str) -> bool:
    wanted, _ = FAMILIES[family]
    rows = [line.rstrip() for line in seen.screen.lines[2 : 2 + len(wanted)]]
    return rows == [row.rstrip() for row in wanted] and seen.tty is not None and seen.tty.echo is True


def _press(server: SoakServer, name: str, family: str, file: Path, engine: Engine, enough: _Enough) -> _Tally:
    tally, rand, transport = _Tally(), random.Random(name), server.transport(name)
    while not enough:
        time.sleep(rand.uniform(0, PAUSE_S))
        _, seen = observe(transport, engine)
        if not _harmless(seen, family):
            tally.refused["another screen was there at once"] += 1
            continue
        outcome = press(transport, ANSWER, seen, engine)
        if outcome.keys is None:
            tally.refused[outcome.why.split(":")[0]] += 1
        else:
            tally.pressed += 1
            enough.one_more()
    wait_for(lambda: len(file.read_text().splitlines()) >= tally.pressed, f"the keys of {name} to arrive")
    for line in file.read_text().splitlines():
        screen, keys, age = line.split()
        tally.keys[screen] += int(keys)
        if screen != "harmless":
            tally.ages_ms.append(float(age))
    return tally


def soak(run: Run) -> list[Figure]:
    server, engine, done = SoakServer(run.folder), installed_engine(), count(1)
    jobs: dict[str, list[Future[_Tally]]] = {}
    try:
        with ThreadPoolExecutor(PANES * len(FAMILIES)) as threads:
            for number, family in enumerate(FAMILIES):
                enough = _Enough(run.size, lambda: run.tell(next(done)))
                for pane in range(min(PANES, run.size)):
                    name = f"flips{number}-{pane}"
                    file = run.folder / name
                    file.touch()
                    command = [sys.executable, "-I", flipping.__file__, str(file), str(pane), family]
                    server.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", *command)
                    job = threads.submit(_press, server, name, family, file, engine, enough)
                    jobs.setdefault(family, []).append(job)
        tallies = {family: sum([job.result() for job in of_it], _Tally()) for family, of_it in jobs.items()}
    finally:
        server.end()
    return [figure for family, tally in tallies.items() for figure in _figures(family, tally)]


def _figures(family: str, tally: _Tally) -> list[Figure]:
    wrong, came = tally.keys.total() - tally.keys["harmless"], tally.keys.total()
    tries = tally.pressed + tally.refused.total()
    why = "; ".join(f"{count} {reason}" for reason, count in tally.refused.most_common(4))
    ages = f", {', '.join(f'{age:.1f}' for age in sorted(tally.ages_ms))} ms after it had changed" if wrong else ""
    within = wrong <= max(1, came // 5000)
    return [
        Figure(f"{family}: keys that met another one", f"{wrong} of {came}{ages}", BOUND, within),
        Figure(
            f"{family}: keys that came, of presses that were told",
            f"{came} of {tally.pressed}",
            "the same",
            came == tally.pressed,
        ),
        Figure.told(f"{family}: refusals", f"{tally.refused.total()} of {tries} tries: {why}"),
    ]


PART = Part(__doc__, "presses in each of six families", full=5_000, short=6, soak=soak)
