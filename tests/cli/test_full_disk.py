"""status, list and report if nothing can be written: a real file system that is full, or read-only."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from stallkit_supervisor.store import Store

pytestmark = pytest.mark.e2e

OLD = Path(__file__).parents[1] / "fixtures" / "first_edition" / "state"
# The state directory is copied to a file system of its own, which is then filled or made read-only.
TRY = """
mount -t tmpfs -o size=2m,mode=700 tmpfs "$STATE"
cp "$FROM"/* "$STATE"
[ "$HOW" = full ] || mount -o remount,ro "$STATE"
export STALLKIT_STATE_DIR="$STATE"
for command in status list report; do
    # Again for each: whoever closes the file last takes its log away, which is room.
    [ "$HOW" != full ] || dd if=/dev/zero of="$STATE/fill.$command" bs=4k 2>"$OUT/filled"
    words=$command; [ $command != report ] || words="report --incidents"
    "$COMMAND" $words >"$OUT/$command" 2>"$OUT/$command.warning"
    echo $? >"$OUT/$command.code"
done
"""


def _may_mount() -> bool:
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/media"]
    return os.geteuid() == 0 and subprocess.run(trial, check=False, capture_output=True).returncode == 0


def _written(folder: Path, killed: bool) -> Path:
    """The first edition's files and one newer incident; of one that was killed, that is in the log alone."""
    made, state = folder / "made", folder / "from"
    made.mkdir()
    for name in ("watch.db", "sessions.db"):
        with closing(sqlite3.connect(made / name)) as base:
            base.executescript((OLD / f"{name}.sql").read_text("utf-8"))
    with closing(Store(made / "watch.db")) as store:
        store.incident("tmux:agent1", "escalation", {"why": "the newest"})
        if killed:
            shutil.copytree(made, state)
    if not killed:
        shutil.copytree(made, state)
    return state


@pytest.mark.parametrize(("how", "killed"), [("full", False), ("full", True), ("read-only", True)])
def test_what_was_written_is_told_with_a_warning(tmp_path: Path, stallkit_command: str, how: str, killed: bool) -> None:
    if not _may_mount():
        pytest.skip("this needs a root that may mount")
    out, state = tmp_path / "out", tmp_path / "state"
    out.mkdir()
    state.mkdir()
    given = {"STATE": state, "FROM": _written(tmp_path, killed), "OUT": out, "COMMAND": stallkit_command, "HOW": how}
    environment = {**os.environ, **{name: str(value) for name, value in given.items()}, "HOME": str(tmp_path)}
    subprocess.run(["unshare", "--mount", "sh", "-c", TRY], env=environment, check=True, timeout=60)
    told = {file.name: file.read_text() for file in out.iterdir()}
    for command in ("status", "list", "report"):
        assert told[f"{command}.code"] == "0\n", told[f"{command}.warning"]
        warning = told[f"{command}.warning"].removesuffix("no watcher runs now: stallkit watch --all\n")
        assert warning.count("\n") == 1 and "cannot be written (" in warning and str(state) in warning, warning
    assert "tmux:agent2" in told["status"] and "3 recoveries in this iteration, 3 are allowed" in told["status"]
    assert "worker1" in told["list"] and "lives" in told["list"]
    assert "the newest" in told["report"]
