"""`scripts/canary` in its short form: a real agent in tmux, and three states of it, told by a check and a watcher."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned"  # fetched by scripts/test, at the version of tests/real/agents.json


def canary(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "scripts" / "agents" / "canary"), "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not (PROGRAMS / "claude" / "node_modules").exists(), reason="scripts/test has not fetched it")
def test_three_states_of_a_real_agent_are_told_right(tmp_path: Path) -> None:
    found = canary("claude-brief", "--installed", "--programs", str(PROGRAMS), "--kept", str(tmp_path))
    told = [(point["name"], point["verdict"]["state"], point["verdict"]["certainty"]) for point in found["points"]]
    assert told == [("at the start", "idle", "sure"), ("permission", "waiting", "sure"), ("refused", "idle", "sure")]
    assert [point["signals"] for point in found["points"]] == [{"claude": point["state"]} for point in found["points"]]
    assert found["sums"]["all"]["never"] == 0, "a watcher says each of them as well"
    again = canary("claude-brief", "--last", "--kept", str(tmp_path))
    assert again["points"] == found["points"]
