"""`scripts/canary` in its short form: a real agent in tmux, and three states of it, told by a check and a watcher."""

from __future__ import annotations

import importlib
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
    command = [sys.executable, str(ROOT / "corpora" / "agents" / "canary"), "--json", *arguments]
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


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "corpora" / "agents"))
    return importlib.import_module("canary.points")


def test_what_changed_since_the_last_run_is_said_and_summed(points: Any) -> None:
    def point(name: str, state: str, told: str, certainty: str = "sure", version: str = "1", **more: Any) -> Any:
        said = points.Said(told, certainty)
        return points.Point("codex", version, name, state, None, said, said, more.pop("signals", {}), **more)

    before = [point("menu", "waiting", "waiting"), point("busy", "working", "working"), point("help", "idle", "idle")]
    now = [
        point("menu", "waiting", "waiting", "maybe", version="2", signals={"osc7501": "idle"}, latency_s=0.5),
        point("busy", "working", "idle", version="2", never=True),
        point("new", "idle", "idle", version="2", latency_s=1.5),
    ]
    assert points.changes(before, before) == []
    assert points.changes(before, now) == [
        "codex: 1 -> 2",
        "codex, menu (truly waiting): waiting -> waiting, maybe",
        "codex, menu, osc7501: nothing -> idle",
        "codex, busy (truly working): working -> idle",
        "codex, new: new",
        "codex, help: not reached any more",
    ]
    found = points.sums(now)
    assert (found.points, found.right, found.false_sure, found.never) == (3, 2, 1, 1)
    assert (found.waiting, found.sure, found.median_s, found.slowest_s) == (1, 0, 1.0, 1.5)
    assert [points.Point.of(one.as_object()) for one in now] == now
