"""`corpora/agents/silence.py` in a short form: a real agent whose model takes the request and never answers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned"  # fetched by scripts/test, at the version of tests/real/agents.json
FETCHED = (PROGRAMS / "claude" / "node_modules").exists()


def told(*arguments: str) -> str:
    command = [sys.executable, str(ROOT / "corpora" / "agents" / "silence.py"), "--bin", str(PROGRAMS), *arguments]
    done = subprocess.run([*command, "claude"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "failed" not in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not FETCHED, reason="scripts/test has not fetched it")
def test_a_real_agent_whose_model_is_silent_is_hung_and_interrupted_by_escape() -> None:
    said = told("--for", "30", "--after", "15")
    assert re.search(r"HUNG since \d+ s: nothing came on \d+ TCP connections? for", said), said
    assert "a single check: Hung(" in said, said
    assert "the gate's Escape: cleared" in said, said
    assert "after one Escape: idle" in said, said


@pytest.mark.skipif(not FETCHED, reason="scripts/test has not fetched it")
def test_one_whose_model_gives_signs_of_life_is_not() -> None:
    said = told("--mode", "pings", "--for", "30", "--after", "15")
    assert "HUNG" not in said and "a single check: None" in said and "working" in said, said
