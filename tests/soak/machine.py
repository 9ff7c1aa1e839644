"""A Hypothesis state machine over heartbeat, limits and policy, with crashes and clock steps.

The test is apps/supervisor/tests/test_state_machine.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from soak.parts import Figure, Part, Run

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "apps" / "supervisor" / "tests" / "test_state_machine.py"
_TOLD = re.compile(r"^(?P<steps>\d+) steps, \{(?P<acts>.*)\}$", re.MULTILINE)
_BROKEN = re.compile(r"^E +(?:AssertionError: )?(?P<what>.+)$", re.MULTILINE)


def soak(run: Run) -> list[Figure]:
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(TEST)]
    environment = {**os.environ, "STALLKIT_SOAK_STEPS": str(run.size)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    run.tell(run.size)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], file=sys.stderr)
    told = _TOLD.search(done.stdout)
    steps, acts = (int(told["steps"]), told["acts"].replace("'", "")) if told else (0, "unknown")
    broken = sorted({found["what"] for found in _BROKEN.finditer(done.stdout)}) if done.returncode else []
    failed = f"{len(broken)}: {'; '.join(broken)[:300]}" if broken else "it did not run" if done.returncode else "0"
    every = all(name in acts for name in ("Press", "Restart", "Resume"))
    return [
        Figure("steps", f"{steps:,}" if told else "unknown: it ended before", f"{run.size:,}", steps >= run.size),
        Figure("invariants broken", failed, "0", done.returncode == 0),
        Figure("acts that it decided on", acts, "of each kind", every),
    ]


PART = Part(__doc__, "steps", full=50_000, short=1_200, soak=soak)
