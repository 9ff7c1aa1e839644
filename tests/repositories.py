"""Git repositories, and what a look at one finds, for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from stallkit_sessions.worktree import worktree

LONG_S = 30.0  # under load: what is tested is what is found, not how soon
CLEAN = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(at: Path | str, *arguments: str | bytes, check: bool = True) -> str:
    command: list[Any] = [
        "git",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
        "-C",
        at,
        *arguments,
    ]
    done = subprocess.run(
        command, capture_output=True, check=check, env={**os.environ, **CLEAN}, stdin=subprocess.DEVNULL, timeout=60
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def look(at: Path | str) -> dict[str, Any]:
    found = worktree(at, LONG_S)
    assert found is not None and "why" not in found, found
    return found


def commit(at: Path, name: str = "file", content: str = "one\n") -> None:
    (at / name).write_text(content)
    git(at, "add", "--all")
    git(at, "commit", "-qm", name)
