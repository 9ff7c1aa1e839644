"""What a command costs before it has done anything: `python benchmarks/startup.py [ROUNDS]`.

Each command as a whole process beside a bare `python -c pass`, in turns in one run: with parsed packs in the cache
(warm) and without any (cold); some also with a session that was started, or a supervisor that runs and answers.  CPU
time, since the wall clock shows what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from timing import table

STALLKIT = [sys.executable, "-c", "from stallkit.cli.main import main; main()"]
BARE = "python -c pass"
AIMS = {"warm": 12, "cold": 20}  # of `check -`


Taken = dict[tuple[str, str], list[float]]  # CPU seconds by way, and by what is in the cache


def cost(words: list[str], environment: dict[str, str], given: bytes) -> float:
    """The CPU seconds of one process; the exit code says what a command found."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, input=given, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=15)
    rounds = parser.parse_args().rounds
    report(rounds, measured(rounds))


def measured(rounds: int) -> Taken:
    """The costs of each way, warm and cold, in so many rounds."""
    # the monitor of the started session may still write there when its server is gone
    with tempfile.TemporaryDirectory(prefix="sk-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        tmux = ["tmux", "-S", str(folder / "tmux")]
        asks = ["bash", "-c", "read -p 'Continue? [y/N] '"]
        subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", "-s", "asks", *asks], check=True)
        try:
            return measure(folder, rounds)
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)  # the monitor of the started session ends with it


@contextmanager
def watched(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A supervisor of the session, from when it answers on."""
    words = [*STALLKIT, "watch", "tmux:asks", "-S", str(folder / "tmux"), "--policy", "observe", "--json"]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    short = [*STALLKIT, "status", "--short"]
    try:
        while b"asks" not in subprocess.run(short, env=environment, capture_output=True, check=False).stdout:
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)


def measure(folder: Path, rounds: int) -> Taken:
    commands = {
        "check -": ["check", "-"],
        "check tmux:NAME": ["check", "tmux:asks", "-S", str(folder / "tmux")],
        "status": ["status"],
        "list": ["list"],
        "--help": ["--help"],
        "--version": ["--version"],
    }
    base = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    base |= {"STALLKIT_STATE_DIR": str(folder / "state"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    answered = {"status --short, answered": ["status", "--short"]}
    started = {"list, one session": ["list"], "output, one session": ["output", "one"]}
    words = [*STALLKIT, "start", "one", "-S", str(folder / "tmux"), "--", "sleep", "100000"]
    quiet = subprocess.DEVNULL
    subprocess.run(words, env=base | {"STALLKIT_STATE_DIR": str(folder / "started")}, stdout=quiet, check=True)
    taken: Taken = {}
    with watched(folder, base | {"STALLKIT_STATE_DIR": str(folder / "watched")}):
        states = {"state": commands, "started": started, "watched": answered}
        take(folder, rounds, base, states, taken)
    return taken


def take(
    folder: Path,
    rounds: int,
    base: dict[str, str],
    states: dict[str, dict[str, list[str]]],
    taken: Taken,
) -> None:
    """Every command in turns, each in its state directory; the first round writes what the others find in a cache."""
    for number in range(rounds + 1):
        for kind in AIMS:
            environment = base | {"STALLKIT_CACHE": str(folder / kind)}
            ways = [("state", BARE, [sys.executable, "-c", "pass"])]
            ways += [(state, way, [*STALLKIT, *words]) for state, own in states.items() for way, words in own.items()]
            for state, way, words in ways:
                if kind == "cold":
                    shutil.rmtree(folder / "cold", ignore_errors=True)
                given = environment | {"STALLKIT_STATE_DIR": str(folder / state)}
                found = cost(words, given, b"Continue? [y/N] \n")
                if number:
                    taken.setdefault((way, kind), []).append(found)


def report(rounds: int, taken: Taken) -> None:
    """Print the medians, and their ratios to a bare Python."""
    bare = {kind: statistics.median(taken[BARE, kind]) for kind in AIMS}
    rows = []
    for way in dict.fromkeys(way for way, _ in taken):
        row = [f"`{way}`"]
        for kind in AIMS:
            one = statistics.median(taken[way, kind])
            row += [f"{one * 1e3:.0f} ms", f"{one / bare[kind]:.1f}"]
        rows.append(row)
    asked = " and ".join(f"{most} times {kind}" for kind, most in AIMS.items())
    print(f"{rounds} rounds in turns; `check -` may take {asked}. Load {os.getloadavg()[0]:.1f}.\n")
    table(["", "warm: CPU", "ratio", "cold: CPU", "ratio"], rows)


if __name__ == "__main__":
    main()
