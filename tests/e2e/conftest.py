"""A real agent, as the test set-up fetched it, in a private tmux server."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Iterator

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned" / "claude" / "node_modules" / ".bin"


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A `Stage` of scripts/agents with Claude Code and its scripted model, not started yet."""
    if not (PROGRAMS / "claude").exists():
        pytest.skip("scripts/test has not fetched it")
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "agents"))
    made = importlib.import_module("sending_stage").Stage("claude", [PROGRAMS])
    yield made
    made.close()
