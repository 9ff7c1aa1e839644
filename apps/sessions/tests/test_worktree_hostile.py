"""Nothing of a hostile repository is run for a look at it, and nothing is waited for, changed or left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hostile_repositories import (
    a_part,
    filters,
    hooks,
    included,
    monitor,
    of_the_worktree,
    promised,
    touch,
    trap,
    words,
)
from repositories import LONG_S, git, look
from stallkit_sessions import worktree as module
from stallkit_sessions.worktree import worktree

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    "plant",
    [filters, monitor, hooks, words, included, of_the_worktree, promised, a_part],
    ids=lambda plant: plant.__name__,
)
def test_nothing_of_the_repository_is_run(home: Path, plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mark = trap(home)
    plant(home, program)
    mark.unlink(missing_ok=True)
    touch(home)
    for name, value in {"GIT_PAGER": program, "GIT_EXTERNAL_DIFF": program, "GIT_SSH_COMMAND": program}.items():
        monkeypatch.setenv(name, value)
    found = worktree(home, LONG_S)
    assert found is not None and found["branch"] == "main", found
    assert "why" not in found or plant is promised, found
    assert not mark.exists(), found
    if plant not in (words, hooks):  # those are not run by a plain status either
        touch(home)
        git(home, "status", check=False)
        assert mark.exists(), "the trap works"


def test_variables_do_not_steer_it(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook of git's, which has them set."""
    git(tmp_path, "init", "-q", "-b", "wrong", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/dev/null")
    assert look(home)["branch"] == "main" and look(home)["dirty"] == 0


def test_it_changes_nothing(home: Path) -> None:
    (home / "file").write_text("two\n")
    touch(home)

    def all_of_it() -> dict[Path, tuple[int, bytes]]:
        return {p: (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in home.rglob("*")}

    before = all_of_it()
    look(home)
    assert all_of_it() == before


def test_what_is_not_waited_for(home: Path) -> None:
    """A FIFO in place of a file that is read: by us, refused at once; by git, until the time is up."""
    for name, by_git in (("HEAD", False), ("index", True), ("packed-refs", True), ("config", True)):
        path = home / ".git" / name
        aside = path.rename(path.with_name("aside")) if path.exists() else None
        os.mkfifo(path)
        found = worktree(home, 1.0)
        assert found is not None and ("why" in found or name == "config"), (name, found)
        assert not by_git or found.get("branch") == "main", "what was found before is told"
        path.unlink()
        if aside is not None:
            aside.rename(path)
    assert look(home)["dirty"] == 0


def test_what_takes_too_long(home: Path) -> None:
    found = worktree(home, 0.000_001)
    assert found is not None and found["why"] == "took longer than 0.001 ms"


def test_garbage(home: Path) -> None:
    for name, content in [
        *(
            ("HEAD", content)
            for content in (b"\xff\0garbage", b"", b"ref: refs/heads/../../x", b"ref: refs/heads/.invalid")
        ),
        *(("config", content) for content in (b"[core\n", b"[core]\n\tautocrlf = nonsense\n")),
        ("config", b'[branch "main"]\n\tremote = ext::sh\n\tmerge = \xff\n'),
        ("index", b"DIRC"),
        ("packed-refs", b"\0"),
    ]:
        path = home / ".git" / name
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(content)
        found = worktree(home, LONG_S)
        assert found is not None and ("why" in found or (name, content[:2]) == ("config", b"[b")), (
            name,
            content,
            found,
        )
        path.write_bytes(before) if before is not None else path.unlink()
    (home / ".git").rename(home / "away")
    for content in ("gitdir: away", "gitdir: \0", "gitdir: " + "x" * 100_000, "nothing"):
        (home / ".git").write_text(content)
        found = worktree(home, LONG_S)
        assert (found or {}).get("branch") == ("main" if content == "gitdir: away" else None), content


def test_without_git(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(os, "defpath", "")
    found = worktree(home, LONG_S)
    assert found is not None and (found["branch"], found["why"]) == ("main", "git is not installed")


def test_nothing_is_left_behind(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path / "made"))
    look(home)
    (home / ".git" / "index").write_bytes(b"DIRC")
    worktree(home, LONG_S)
    assert list((tmp_path / "made").iterdir()) == []
