"""What a line for a status bar costs: `python benchmarks/status_short.py [ROUNDS]`.

`stallkit status --short` beside a bare `python -c pass`, in turns in one run: with a supervisor that answers, and with
none.  Wall clock, since a person's status bar waits for it, and CPU time; the ratio holds where the machine is slow.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import table

SHORT = [sys.executable, "-c", "from stallkit.cli.main import main; main()", "status", "--short"]
BARE = [sys.executable, "-c", "pass"]
ASKED_S = 0.3


def cost(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of the wall clock and of the CPU."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def watching(folder: Path) -> subprocess.Popen[bytes]:
    """A supervisor of one session, once it answers."""
    environment = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "watched")}
    words = [*SHORT[:-2], "watch", f"file:{folder / 'screen'}", "--policy", "observe", "--json"]
    (folder / "screen").write_text("Proceed? [y/N] ")
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    while subprocess.run(SHORT, env=environment, capture_output=True, check=False).stdout.startswith(b"stallkit:"):
        time.sleep(0.2)
    return process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = watching(folder)
        states = {"a supervisor answers": "watched", "none runs": "none"}
        ways = {f"status --short, {what}": (SHORT, state) for what, state in states.items()}
        ways = {"python -c pass": (BARE, "none"), **ways}
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        try:
            for _ in range(rounds):
                for way, (words, state) in ways.items():
                    taken[way].append(cost(words, {**os.environ, "STALLKIT_STATE_DIR": str(folder / state)}))
        finally:
            process.terminate()
            process.wait(30)
    bare = [statistics.median(one) for one in zip(*taken["python -c pass"], strict=True)]
    rows = []
    for way, costs in taken.items():
        wall, cpu = (statistics.median(one) for one in zip(*costs, strict=True))
        ratios = (f"{wall / bare[0]:.1f}", f"{cpu / bare[1]:.1f}")
        rows.append([way, f"{wall * 1e3:.0f} ms", ratios[0], f"{cpu * 1e3:.0f} ms", ratios[1]])
    print(f"{rounds} rounds in turns; asked for: under {ASKED_S * 1e3:.0f} ms. Load {os.getloadavg()[0]:.1f}.\n")
    table(["", "wall clock", "ratio", "CPU", "ratio"], rows)


if __name__ == "__main__":
    main()
