"""What a command imports before it has done anything: no time is measured here, only that nothing needless is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from terminals import Server

# What takes longer to import than the rest of a look.
HEAVY = {"asyncio", "logging", "pluggy", "rich"}
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


def test_a_check_of_a_text(tmp_path: Path) -> None:
    assert heavy(tmp_path, "check", "-") == set()


def test_a_check_of_a_pane(tmp_path: Path, server: Server) -> None:
    server.start("asks", "bash", "-c", "read -p 'Continue? [y/N] '", shows="Continue?").close()
    assert heavy(tmp_path, "check", "tmux:asks", "-S", str(server.socket)) == set()


def test_lists_of_sessions(tmp_path: Path) -> None:
    assert heavy(tmp_path, "list") == set()


def test_what_is_heavy_is_found(tmp_path: Path) -> None:
    assert "asyncio" in heavy(tmp_path, "watch", "--help")
