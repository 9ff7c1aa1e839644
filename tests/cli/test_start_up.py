"""What a command imports before it has done anything: no time is measured here, only that nothing needless is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminals import Server

# What takes longer to import than the rest of a look, and what finds out about installed distributions.
HEAVY = {"asyncio", "attr", "cattrs", "email", "importlib.metadata", "inspect", "json", "logging", "pluggy", "rich"}
HEAVY |= {"regex._main", "shutil", "socket", "tempfile", "tomllib"}
CODE = """import sys
from stallkit.cli.main import main
try:
    main()
finally:
    print("\\n", *sorted({*sys.argv[0].split(",")} & {*sys.modules}), file=sys.stderr)
"""


def heavy(folder: Path, *words: str, among: set[str] = HEAVY, given: str = "Continue? [y/N] ") -> set[str]:
    """What of those a command has imported at its end, when another had filled the cache."""
    environment = os.environ | {"STALLKIT_CACHE": str(folder / "cache"), "STALLKIT_STATE_DIR": str(folder / "state")}
    environment["HOME"] = str(folder)
    code = CODE.replace("import sys\n", f"import sys\nsys.argv[0] = {','.join(sorted(among))!r}\n", 1)
    for _ in range(2):
        run = [sys.executable, "-c", code, *words]
        done = subprocess.run(run, env=environment, input=given, capture_output=True, text=True, check=False)
    return {*done.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize("words", [["check", "-"], ["check", "-", "--idle-ok"]])
def test_a_check_of_a_text(tmp_path: Path, words: list[str]) -> None:
    assert heavy(tmp_path, *words, among=HEAVY | {"click"}) == set()


def test_a_check_of_a_pane_writes_json_to_the_log_and_asks_tmux(tmp_path: Path, server: Server) -> None:
    transport = server.start("asks", "bash", "-c", "read -p 'Continue? [y/N] '", shows="Continue?")
    transport.close()
    found = heavy(tmp_path, "check", "tmux:asks", "-S", str(server.socket), among=HEAVY | {"click"})
    assert found <= {"json", "socket"}


def test_lists_of_sessions(tmp_path: Path) -> None:
    assert heavy(tmp_path, "list") <= {"inspect", "json"}, "click needs the first"


def test_what_is_heavy_is_found(tmp_path: Path) -> None:
    assert {"click", "inspect"} <= heavy(tmp_path, "check", "-", "--quiet", among=HEAVY | {"click"})
    assert "attr" in heavy(tmp_path, "policy", "show", "careful")
