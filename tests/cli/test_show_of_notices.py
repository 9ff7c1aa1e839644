"""`stallkit stuck show` of a notice says what frees its agent; `python -m stallkit` is the same command."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from queued import Desk

from stallkit.stuck.queue import Queue


@pytest.mark.parametrize(
    ("category", "told"),
    [
        ("none", "stallkit stuck triage 1 credential|egress|capability"),
        ("credential", "stallkit routes edit web --reply 1 TEXT"),
        ("egress", "stallkit egress edit web --reply 1 TEXT"),
        ("capability", "stallkit stuck rebuild 1"),
    ],
)
def test_show_names_the_command_of_the_category(tmp_path: Path, category: str, told: str) -> None:
    desk = Desk(tmp_path)
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        queue.notify("web", "key-00001", "it is refused", time.time() + 100)
    assert desk("stuck", "triage", "1", category).returncode == 0
    _, words, *ways = desk("stuck", "show", "1").stdout.splitlines()
    assert (words, ways) == ("  it is refused", ["stallkit stuck reply 1 TEXT", told])


def test_the_module_is_the_command(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    words = [sys.executable, "-m", "stallkit", "stuck", "show", "7"]
    done = subprocess.run(words, env=desk.environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, desk("stuck", "show", "7").stderr)
