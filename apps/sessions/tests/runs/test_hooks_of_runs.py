"""Agents that are run with ``--hooks``: the option reaches the agent, its files go with the run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from terminals import wait_for

pytestmark = pytest.mark.e2e

# A program called claude that has its hooks called as Claude Code does, and then asks.
AGENT = """#!/bin/sh
echo "$@" >args
hook=$(sed -n 's/.*"command": "\\([^"]*\\)".*/\\1/p' "$2")
asks='{"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "make it so"}}'
echo "$asks" | eval "$hook"
printf 'Proceed? [y/N] '
read answer
"""


class Runs:
    """`stallkit run` in a folder of its own, with that agent in it."""

    def __init__(self, command: str, folder: Path) -> None:
        self.command, self.folder, self.hooks = command, folder, folder / "state" / "hooks"
        self.environment = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "state")}
        self.agent = folder / "claude"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = [self.command, *words]
        return subprocess.run(
            given, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def runs(stallkit_command: str, tmp_path: Path) -> Runs:
    return Runs(stallkit_command, tmp_path)


def test_its_hooks_are_heard_and_their_files_go_with_the_run(runs: Runs) -> None:
    found = json.loads(runs("run", "--hooks", "--json", "--", str(runs.agent), "--continue").stdout)
    option, settings, rest = (runs.folder / "args").read_text().split()
    assert (option, rest) == ("--settings", "--continue")
    folder = runs.hooks / found["id"]
    assert Path(settings).parent == folder and folder.stat().st_mode & 0o777 == 0o700
    assert "make it so" in (folder / "said.jsonl").read_text()
    ended = json.loads(runs("attach", found["id"], "--answer", "n", "--json").stdout)
    assert ended["status"] == "exited"
    wait_for(lambda: not folder.exists(), "the end of its files")
    [listed] = json.loads(runs("attach", "--json").stdout)["runs"]
    assert listed["command"] == [str(runs.agent), "--continue"], "as it was given"


def test_without_the_option_nothing_is_added(runs: Runs) -> None:
    assert runs("run", "--window", "1", "--", str(runs.agent), "--help").returncode in (2, 3)
    assert (runs.folder / "args").read_text().split() == ["--help"] and not runs.hooks.exists()
    runs("attach", "last", "--stop")


def test_a_run_that_does_not_start_leaves_no_files(runs: Runs) -> None:
    runs.agent.chmod(0o644)
    done = runs("run", "--hooks", "--", str(runs.agent))
    assert done.returncode == 64 and not list(runs.hooks.iterdir())


def test_hooks_that_cannot_be_written_are_told(runs: Runs) -> None:
    (runs.folder / "state").mkdir()
    runs.hooks.write_text("in the way")
    done = runs("run", "--hooks", "--", str(runs.agent))
    assert done.returncode == 1 and "without --hooks" in done.stderr and not (runs.folder / "args").exists()
