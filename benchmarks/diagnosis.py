"""What it costs to say how a session ended: `python benchmarks/diagnosis.py`.

Wall-clock time, median and maximum of 20: a diagnosis waits for other processes rather than that it computes.  The
sessions ran in a git repository with changed files, had a port each, and left a screen.  Beside it what a person would
type instead, which says less.
"""

from __future__ import annotations

import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from stallkit_sessions.end_facts import facts
from stallkit_sessions.finalize import finalize
from stallkit_sessions.lifecycle import finalize_now
from stallkit_sessions.model import ExitRecord, Session
from stallkit_sessions.panes import begin
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.witnesses import look
from timing import table

from stallkit.probes.procfs import boot_id

ROUNDS = 20
FILES, CHANGED = 500, 20
PATIENCE_S = 20.0
STALLKIT = str(Path(sys.executable).parent / "stallkit")


def repository(folder: Path) -> None:
    """A worktree as an agent leaves it: some files changed, some new."""
    folder.mkdir()
    for number in range(FILES):
        (folder / f"file{number}").write_text(f"{number}\n" * 50)
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    for number in range(CHANGED):
        (folder / f"file{number}").write_text("changed\n")
        (folder / f"new{number}").write_text("new\n")


def dead(register: Register, folder: Path, name: str) -> RunningSession:
    """A session whose program ended, of which nobody has taken notice."""
    session = Session(
        name, secrets.token_hex(6), ("sh",), str(folder / "work"), time.time(), boot_id(),
        ports=(0,), tmux_socket_path=str(folder / "t.sock"),
    )  # fmt: skip
    session = register.claim(session, (os.getpid(), 0))
    register.bound(session.id, *begin(session, ["sh", "-c", "seq 30; exit 3"], (120, 40), {}))
    living = register.get(session.id)
    assert isinstance(living, RunningSession)
    deadline = time.monotonic() + PATIENCE_S
    while facts(living.session).facts.code is None:
        if time.monotonic() > deadline:
            raise SystemExit(f"{name} did not end")
        time.sleep(0.02)
    return living


def taken(ways: list[Callable[[], object]]) -> list[float]:
    """Seconds that each took, one after another."""
    times = []
    for way in ways:
        begun = time.perf_counter()
        way()
        times.append(time.perf_counter() - begun)
    return times


def command(*words: str, expect: int) -> Callable[[], object]:
    def call() -> None:
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode != expect:
            raise SystemExit(f"{' '.join(words)}: {done.returncode}, {done.stderr.decode()}")

    return call


def measured(folder: Path) -> dict[str, list[float]]:
    repository(folder / "work")
    register = Register(folder / "state" / "sessions.db")
    times: dict[str, list[float]] = {"git status and tmux capture-pane, by hand": []}
    try:
        livings = [dead(register, folder, f"s{number}") for number in range(ROUNDS)]
        times["look and write the record"] = taken(
            [lambda one=living: finalize(register, [look(one)]) for living in livings]  # type: ignore[misc]
        )
        last = livings[-1].session
        assert isinstance(register.latest(last.name), ExitRecord)
        finalize_now(register)  # the events of all of them are written
        for words, expect in (
            (["output", "--postmortem"], 0),
            (["output", "--postmortem", "--json"], 0),
            (["output"], 4),
            (["list"], 0),
        ):
            names = [last.name] if words != ["list"] else []
            call = command(STALLKIT, *words, *names, expect=expect)
            times[f"stallkit {' '.join(words)}"] = taken([call] * ROUNDS)
        fresh = [dead(register, folder, f"fresh{number}") for number in range(ROUNDS)]
        calls = [command(STALLKIT, "output", one.session.name, expect=4) for one in fresh]
        for call, one in zip(calls, fresh, strict=True):
            times.setdefault("stallkit output, of an end that nobody had seen", []).extend(taken([call]))
            assert isinstance(register.get(one.session.id), ExitRecord)
        times["stallkit --version, for comparison"] = taken([command(STALLKIT, "--version", expect=0)] * ROUNDS)
        by_hand = [
            command("git", "-C", str(folder / "work"), "status", "--porcelain", expect=0),
            command("tmux", "-S", str(folder / "t.sock"), "capture-pane", "-p", "-t", f"={last.name}:", expect=0),
        ]
        times["git status and tmux capture-pane, by hand"] = taken([lambda: [call() for call in by_hand]] * ROUNDS)
    finally:
        register.close()
        subprocess.run(["tmux", "-S", str(folder / "t.sock"), "kill-server"], check=False)
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(STALLKIT_STATE_DIR=str(folder / "state"), HOME=name)  # nobody's configuration
        os.environ.pop("TMUX", None)
        times = measured(folder)
    rows = [[what, f"{statistics.median(all) * 1_000:.0f}", f"{max(all) * 1_000:.0f}"] for what, all in times.items()]
    table(["what", "median, ms", "maximum, ms"], rows)


if __name__ == "__main__":
    main()
