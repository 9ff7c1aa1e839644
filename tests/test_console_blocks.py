"""The command-line tours are true: every ``console`` block of README and docs is typed as it stands."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from terminals import wait_for

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```console\n$ " in path.read_text()  # in docs/fleet.md a prompt names a machine: test_fleet_page.py
]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Every command of a page's console blocks with the output that is written below it."""
    for block in _BLOCK.findall(page):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = entry.partition("\n")
            yield command, output


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with a tmux of its own, and this environment's programs first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TMUX_TMPDIR": str(tmp_path), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    environment["PIP_NO_BUILD_ISOLATION"] = "0"  # as pip reads it: none. No index is asked, hatchling is here
    yield environment
    listed = subprocess.run(
        ["stallkit", "attach", "--json"], env=environment, check=True, capture_output=True, text=True
    )
    for run in json.loads(listed.stdout)["runs"]:
        if run["status"] != "exited":
            subprocess.run(
                ["stallkit", "attach", run["id"], "--stop"], env=environment, check=False, capture_output=True
            )
    subprocess.run(["tmux", "kill-server"], env=environment, check=False, capture_output=True, timeout=20)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tour_is_true(page: Path, shell: dict[str, str], tmp_path: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    checker = doctest.OutputChecker()
    last = 0
    for command, wanted in commands(page.read_text()):
        script = f"(exit {last}); {command}"
        done = subprocess.run(
            ["bash", "-c", script], env=shell, cwd=tmp_path, check=False, capture_output=True, text=True
        )
        last = done.returncode
        shown = done.stdout + done.stderr
        assert checker.check_output(wanted, shown, flags), f"$ {command}\nwanted:\n{wanted}\ngot:\n{shown}"
        if command.startswith("tmux new"):
            session = re.search(r"-s (\w+)", command)
            assert session is not None
            wait_for(lambda name=session[1]: _shows_something(name, shell), f"session {session[1]}")


def _shows_something(name: str, environment: dict[str, str]) -> bool:
    capture = ["tmux", "capture-pane", "-p", "-t", f"={name}:"]
    return bool(subprocess.run(capture, env=environment, check=True, capture_output=True).stdout.strip())


def test_a_wrong_tour_is_noticed() -> None:
    pairs = list(commands("```console\n$ echo one\none\n$ echo two\n2\n```\n"))
    assert pairs == [("echo one", "one\n"), ("echo two", "2\n")]
    assert not doctest.OutputChecker().check_output("2\n", "two\n", 0)
