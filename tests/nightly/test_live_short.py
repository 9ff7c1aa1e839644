"""`scripts/live` in its short form: three live agents, one supervisor, told and answered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned"  # fetched by scripts/test, at the version of tests/real/agents.json


@pytest.mark.skipif(not (PROGRAMS / "claude" / "node_modules").exists(), reason="scripts/test has not fetched it")
def test_live_agents_are_told_and_only_what_a_rule_allows_is_answered(tmp_path: Path) -> None:
    live = [sys.executable, str(ROOT / "corpora" / "agents" / "live_agents"), "--short", "--json"]
    done = subprocess.run(
        [*live, "--programs", str(PROGRAMS), "--kept", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    found = json.loads(done.stdout)
    told = {(one["moment"]["actor"], one["moment"]["scene"]): one for one in found["moments"]}
    assert told["claude", "harmless permission"]["answered"], done.stderr
    assert told["claude", "harmful permission"]["pressed"] == []
    must = [key for key in told if told[key]["moment"]["what"]]
    assert all(told[key]["told_s"] is not None or told[key]["answered"] for key in must), done.stderr
    assert not any(one["wrong"] or one["wrong_keys"] or one["moment"]["lost"] for one in told.values()), done.stderr
    assert not found["stray"], done.stderr
    scenes = {scene for _, scene in told}
    assert scenes >= {"harmless permission", "harmful permission", "done", "asks", "401", "crash", "trust"}
