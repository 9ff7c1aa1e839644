"""`corpora/agents/restarts.py` in a short form: a real agent that ends in a shell, in each way, runs there again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned" / "claude" / "node_modules" / ".bin"  # fetched by scripts/test


@pytest.mark.skipif(not (PROGRAMS / "claude").exists(), reason="scripts/test has not fetched it")
def test_a_real_agent_runs_again_after_each_end() -> None:
    script = ROOT / "corpora" / "agents" / "restarts.py"
    command = [sys.executable, str(script), "--path", str(PROGRAMS), "--times", "4", "claude"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and "4 of 4 run again" in done.stdout, done.stdout + done.stderr
