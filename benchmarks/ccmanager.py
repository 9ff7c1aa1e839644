"""Detection beside ccmanager's, on the same screens: `python benchmarks/ccmanager.py [ROUNDS]`, with Node and npm.

ccmanager (npm, fetched into `.cache/rivals`) has a detector for each of eight agents, which reads the agent's terminal
(xterm, in memory) and looks for a few texts and patterns.  Its session knows which agent it runs and asks one detector;
*all of them* is what it would take to ask each.  A look of stallkit's tells the program, the question and the options,
with every installed pack.  CPU time of both, in turns, each in a process of its own: V8 compiles, CPython does not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

from engine import _all, _all_new, _with_clock, screens
from timing import table

from stallkit import Engine, Screen

ROOT = Path(__file__).parent.parent
VERSION = "4.2.3"
RIVALS = ROOT / ".cache" / "rivals" / f"ccmanager-{VERSION}"
LOOKS = 40  # screens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    rounds = parser.parse_args().rounds
    fetch()
    every = [one for one in screens() if one.text.strip()]
    shown = every[:: len(every) // LOOKS]
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="sk-") as folder:
        file = Path(folder) / "screens.json"
        file.write_text(json.dumps([{"lines": one.lines, "columns": _columns(one)} for one in shown]))
        for _ in range(rounds):
            for name, seconds in {**theirs(file), **ours(shown)}.items():
                taken.setdefault(name, []).append(seconds)
    report(shown, {name: statistics.median(all_) for name, all_ in taken.items()})


def fetch() -> None:
    """Install ccmanager where the benchmark looks for it; nothing of it runs."""
    if (RIVALS / "node_modules" / "ccmanager").is_dir():
        return
    RIVALS.mkdir(parents=True, exist_ok=True)
    (RIVALS / "package.json").write_text(json.dumps({"private": True, "dependencies": {"ccmanager": VERSION}}))
    quiet = ["--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--omit=optional"]
    subprocess.run(["npm", "install", *quiet], cwd=RIVALS, check=True)


def theirs(file: Path) -> dict[str, float]:
    """CPU seconds a look of each detector."""
    words = ["node", str(Path(__file__).with_suffix(".mjs")), str(RIVALS), str(file), "3"]
    said = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {f"ccmanager, {name}": seconds for name, seconds in said.items()}


def ours(shown: list[Screen]) -> dict[str, float]:
    """CPU seconds a look of stallkit's."""
    engine = Engine.default()
    _all(engine, shown)
    seen = [engine.detect(one) for one in shown]
    clocks = [[_with_clock(one, second) for one in shown] for second in range(6)]
    again = [Screen(one.lines, one.cursor) for one in shown]
    _all(engine, clocks.pop())

    def unchanged() -> None:
        for one, was in zip(again, seen, strict=True):
            engine.detect(one, since=was)

    return {
        "stallkit, one line changed": _seconds(lambda: _all(engine, clocks.pop()), len(shown), 5),
        "stallkit, unchanged": _seconds(unchanged, len(shown), 50),
        "stallkit, new": _seconds(lambda: _all_new(engine, shown), len(shown), 5),
    }


def _seconds(way: Callable[[], object], looks: int, calls: int) -> float:
    begun = time.process_time()
    for _ in range(calls):
        way()
    return (time.process_time() - begun) / calls / looks


def _columns(screen: Screen) -> int:
    return max(80, *(2 * len(line) for line in screen.lines))  # wide enough, so that no row is wrapped


def report(shown: list[Screen], taken: dict[str, float]) -> None:
    """Print each in microseconds, and in multiples of ccmanager's look by its detector for one agent."""
    agents = [seconds for name, seconds in taken.items() if name.startswith("ccmanager") and "all" not in name]
    unit = statistics.median(agents)
    print(f"{len(shown)} screens of tests/corpus; in multiples of ccmanager's look for one agent (the median of 8).\n")
    rows = [["ccmanager " + VERSION + ", one agent", f"{unit * 1e6:.0f}", "1"]]
    names = ["ccmanager, all of them", *(name for name in taken if name.startswith("stallkit"))]
    rows += [[name, f"{taken[name] * 1e6:.1f}", f"{taken[name] / unit:.2g}"] for name in names]
    table(["a look", "us", "ratio"], rows)


if __name__ == "__main__":
    main()
