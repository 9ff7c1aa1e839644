"""The state machine of a session's standing, over very many steps (apps/supervisor/tests/test_state_machine.py)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from soak.parts import Figure, Part, Run

TEST = Path(__file__).resolve().parents[1] / "supervise" / "test_state_machine.py"
_TOLD = re.compile(r"^(?P<steps>\d+) steps, \{(?P<acts>.*)\}$", re.MULTILINE)
_BROKEN = re.compile(r"^E +(?:AssertionError: )?(?P<what>.+)$", re.MULTILINE)
TICK_S = 2.0


def soak(run: Run) -> list[Figure]:
    """Run that file's test with so many steps."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(TEST)]
    environment = {**os.environ, "STALLKIT_SOAK_STEPS": str(run.size)}
    over = threading.Event()
    ticking = threading.Thread(target=lambda: _tick(run, over), daemon=True)
    ticking.start()
    done = subprocess.run(command, env=environment, cwd=TEST.parents[2], capture_output=True, text=True, check=False)
    over.set()
    ticking.join()
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], file=sys.stderr)
    told = _TOLD.search(done.stdout)
    steps = int(told["steps"]) if told else 0
    broken = sorted({found["what"] for found in _BROKEN.finditer(done.stdout)}) if done.returncode else []
    failed = (
        f"{len(broken)}: {'; '.join(broken)[:300]}" if broken else "0" if done.returncode == 0 else "it did not run"
    )
    acts = told["acts"].replace("'", "") if told else "unknown"
    return [
        Figure("steps", f"{steps:,}" if told else "unknown: it ended before", f"{run.size:,}", steps >= run.size),
        Figure("invariants broken", failed, "0", done.returncode == 0),
        Figure(
            "acts that it decided on",
            acts,
            "of each kind",
            all(name in acts for name in ("Press", "Restart", "Resume")),
        ),
    ]


def _tick(run: Run, over: threading.Event) -> None:
    """Nobody knows how far it is before its end."""
    while not over.wait(TICK_S):
        run.tell(0)
    run.tell(run.size)


PART = Part(
    name="machine",
    about="A Hypothesis state machine over heartbeat, limits and policy, with crashes and clock steps.",
    unit="steps",
    full=50_000,
    short=1_200,
    soak=soak,
)
