"""Look and press against prompts that turn into others for a moment: which prompt was there when the key came?"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import define, field
from terminals import wait_for

from soak import flipping
from soak.parts import Figure, Part, Run
from soak.tmuxes import SoakServer
from stallkit.core.engine import Engine
from stallkit.packs.registry import installed_engine
from stallkit.press.check import observe
from stallkit.press.decisions import Press
from stallkit.press.gate import Outcome
from stallkit.press.policy import CAREFUL
from stallkit.press.rules import Scene
from stallkit.supervise.recovery import Recoverer
from stallkit.supervise.state import Observed, WatchConfig, observed

PANES = 20
INTERVAL_S = 1.0  # a supervisor looks so often: a try begins at a random moment of it


@define
class _Tally:
    """What the program of one pane says of the keys that it got, and what the supervisor's hands say."""

    keys: Counter[str] = field(factory=Counter)  # by the prompt that was there
    ages_ms: list[float] = field(factory=list)  # of the harmful prompts, when the key came
    pressed: int = 0
    refused: Counter[str] = field(factory=Counter)  # by why


class _Enough:
    """Says when all panes together have pressed often enough."""

    def __init__(self, run: Run) -> None:
        self._run, self._done, self._lock = run, 0, threading.Lock()

    def __bool__(self) -> bool:
        return self._done >= self._run.size

    def one_more(self) -> None:
        with self._lock:
            self._done += 1
            self._run.tell(min(self._done, self._run.size))


def _harmless(server: SoakServer, name: str, engine: Engine) -> tuple[Press, Observed]:
    """What the supervisor decides at the harmless prompt, and what it saw there."""
    found: list[tuple[Press, Observed]] = []

    def seen() -> bool:
        verdict, look = observe(server.transport(name), engine)
        decision = CAREFUL.decide(verdict, Scene.of(look))
        if isinstance(decision, Press):
            found.append((decision, observed(verdict)))
        return bool(found)

    wait_for(seen, f"the harmless prompt of {name} to be decided on")
    return found[0]


def _press(server: SoakServer, number: int, name: str, file: Path, recoverer: Recoverer, enough: _Enough) -> _Tally:
    tally, rand = _Tally(), random.Random(number)
    decision, was = _harmless(server, name, recoverer.engine)
    transport = server.transport(name)
    while not enough:
        time.sleep(rand.uniform(0, INTERVAL_S))
        outcome: Outcome = recoverer.act(transport, f"tmux:{name}", decision, WatchConfig(CAREFUL), was)
        if outcome.keys is None:
            tally.refused[outcome.why.split(":")[0]] += 1
        else:
            tally.pressed += 1
            enough.one_more()
    wait_for(lambda: len(file.read_text().splitlines()) >= tally.pressed, f"the keys of {name} to arrive")
    for line in file.read_text().splitlines():
        prompt, keys, age = line.split()
        tally.keys[prompt] += int(keys)
        if prompt != "harmless":
            tally.ages_ms.append(float(age))
    return tally


def soak(run: Run) -> list[Figure]:
    """`run.size` presses by all panes together."""
    recoverer = Recoverer(installed_engine(), None)
    server, enough = SoakServer(run.folder), _Enough(run)
    try:
        jobs = []
        with ThreadPoolExecutor(PANES) as threads:
            for number in range(PANES):
                name, file = f"flips{number}", run.folder / f"keys{number}"
                command = [sys.executable, flipping.__file__, str(file), str(number)]
                server.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", *command)
                jobs.append(threads.submit(_press, server, number, name, file, recoverer, enough))
        tallies = [job.result() for job in jobs]
    finally:
        server.end()
    keys: Counter[str] = sum((tally.keys for tally in tallies), Counter())
    refused: Counter[str] = sum((tally.refused for tally in tallies), Counter())
    pressed, refusals = sum(tally.pressed for tally in tallies), refused.total()
    for number, tally in enumerate(tallies):
        if tally.ages_ms:
            print(f"seed {number}: met a harmful prompt that was {tally.ages_ms} ms old", file=sys.stderr)
    wrong, came = keys.total() - keys["harmless"], keys.total()
    why = "; ".join(f"{count} {reason}" for reason, count in refused.most_common(4))
    share = f"{refusals} of {pressed + refusals} tries ({refusals / (pressed + refusals):.0%}): {why}"
    return [
        Figure("keys that met another prompt", f"{wrong} of {came}", "0", wrong == 0),
        Figure("keys that came, of presses that were told", f"{came} of {pressed}", "the same", came == pressed),
        Figure("refusals", share, "told", True),
    ]


PART = Part(
    name="flips",
    about="A harmless prompt turns into a harmful one for 30-200 ms, every 0.4-1.6 s, while the supervisor presses.",
    unit="presses",
    full=5_000,
    short=40,
    soak=soak,
)
