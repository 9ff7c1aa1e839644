"""What git says of a directory, and that a hostile one does nothing by that."""

from __future__ import annotations

import os
import subprocess
import sys
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
from repositories import CLEAN, LONG_S, commit, git, look
from stallkit_sessions import worktree as module
from stallkit_sessions.worktree import worktree

pytestmark = pytest.mark.filterwarnings("error")


def test_a_clean_one(home: Path) -> None:
    head = git(home, "rev-parse", "HEAD")
    assert look(home) == {
        "root": str(home.resolve()),
        "linked": False,
        "unfinished": None,
        "branch": "main",
        "detached": None,
        "commit": head[:12],
        "upstream": None,
        "ahead": None,
        "behind": None,
        "dirty": 0,
        "untracked": 0,
        "files": [],
        "unpushed": None,
    }
    (home / "below").mkdir()
    assert look(home / "below") == look(home)
    (home.parent / "link").symlink_to(home)
    assert look(home.parent / "link") == look(home)


def test_what_was_changed(home: Path) -> None:
    for number in range(3):
        commit(home, f"kept{number}", f"{number}\n" * 30)
    (home / "file").write_text("two\n")
    (home / "staged").write_text("new\n")
    git(home, "add", "staged")
    git(home, "mv", "kept0", "moved")
    (home / "kept1").unlink()
    (home / "a\nb \x1b").write_text("odd")
    (home / ".gitignore").write_text("ignored\n")
    (home / "ignored").write_text("")
    found = look(home)
    assert (found["dirty"], found["untracked"]) == (6, 2)
    assert found["files"] == ["file", "kept1", "moved", "staged", ".gitignore"]
    git(home, "add", "--all")
    assert "a\nb \x1b" in [*look(home)["files"]]


def test_names_that_are_not_utf_8(home: Path) -> None:
    with open(os.fsencode(home) + b"/\xff\xfe", "w"):  # noqa: PTH123  # bytes
        pass
    assert look(home)["files"] == ["\\xff\\xfe"]
    odd = os.fsdecode(os.fsencode(home.parent) + b"/\xff")
    git(home.parent, "init", "-q", os.fsencode(odd))
    assert look(odd)["root"].endswith("/\\xff") and look(odd)["branch"] == "main"


def test_before_the_first_commit_and_detached(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "feature/x")
    (tmp_path / "file").write_text("")
    found = look(tmp_path)
    assert (found["branch"], found["commit"], found["detached"], found["dirty"]) == ("feature/x", None, None, 1)
    assert "unpushed" not in found or found["unpushed"] is None
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "--detach")
    found = look(tmp_path)
    assert found["branch"] is None and found["detached"] == found["commit"] == git(tmp_path, "rev-parse", "HEAD")[:12]


def test_a_linked_worktree(home: Path, tmp_path: Path) -> None:
    git(home, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    commit(tmp_path / "linked", "second")
    (tmp_path / "linked" / "third").write_text("")
    found = look(tmp_path / "linked")
    assert (found["linked"], found["branch"], found["dirty"]) == (True, "other", 1)
    assert found["root"] == str((tmp_path / "linked").resolve())
    assert look(home)["dirty"] == 0 and look(home)["commit"] != found["commit"]


def test_what_was_not_pushed(home: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "home", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "mine")
    mine = tmp_path / "mine"
    found = look(mine)
    assert (found["upstream"], found["ahead"], found["behind"], found["unpushed"]) == ("origin/main", 0, 0, 0)
    commit(home, "theirs")
    git(home, "push", "-q", str(tmp_path / "origin.git"), "main")
    git(mine, "fetch", "-q")
    commit(mine, "a")
    commit(mine, "b")
    found = look(mine)
    assert (found["ahead"], found["behind"], found["unpushed"]) == (2, 1, 2)
    git(mine, "checkout", "-q", "-b", "topic")
    commit(mine, "c")
    found = look(mine)
    assert (found["upstream"], found["ahead"], found["unpushed"]) == (None, None, 3), "no upstream, but a remote"
    git(mine, "push", "-q", "origin", "topic")
    assert look(mine)["unpushed"] == 0


def test_an_upstream_of_its_own_and_one_that_was_deleted(home: Path, tmp_path: Path) -> None:
    git(home, "checkout", "-q", "-b", "topic", "--track", "main")
    commit(home, "second")
    found = look(home)
    assert (found["upstream"], found["ahead"], found["behind"], found["unpushed"]) == ("main", 1, 0, 1)
    git(home, "checkout", "-q", "main")
    git(home, "branch", "-qD", "topic")
    git(tmp_path, "clone", "-q", "home", "mine")
    git(tmp_path / "mine", "update-ref", "-d", "refs/remotes/origin/main")
    git(tmp_path / "mine", "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    found = look(tmp_path / "mine")
    assert (found["upstream"], found["ahead"], found["unpushed"]) == ("origin/main", None, None)


def test_what_is_unfinished(home: Path) -> None:
    git(home, "checkout", "-q", "-b", "topic")
    commit(home, "file", "theirs\n")
    git(home, "checkout", "-q", "main")
    commit(home, "file", "ours\n")
    git(home, "merge", "topic", check=False)
    found = look(home)
    assert (found["unfinished"], found["branch"], found["files"]) == ("merge", "main", ["file"])
    git(home, "merge", "--abort")
    git(home, "rebase", "topic", check=False)
    found = look(home)
    assert (found["unfinished"], found["branch"]) == ("rebase", "main") and found["detached"] == found["commit"]
    git(home, "rebase", "--abort")
    git(home, "cherry-pick", "topic", check=False)
    assert look(home)["unfinished"] == "cherry-pick"


def test_where_no_worktree_is_and_what_is_not_there(home: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    git(home, "init", "-q", "--bare", "inside.git")
    (tmp_path / "plain").mkdir()
    for place in (tmp_path / "bare.git", tmp_path / "plain", home / ".git", home / "inside.git"):
        if place.name == "plain" and git(place, "rev-parse", "--git-dir", check=False):
            continue  # the directory for tests is in a worktree itself
        assert worktree(place, LONG_S) is None, place
    for missing in (tmp_path / "missing", home / "file", "a\0b"):
        found = worktree(missing, LONG_S)
        assert found is not None and list(found) == ["why"], missing


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give up its rights")
def test_somebody_elses(home: Path) -> None:
    """git itself refuses another user's repository; nothing of it is run here, so it is told."""
    for path in [home, *home.rglob("*")]:
        os.chown(path, 65534, 65534)
    variables = {**os.environ, **CLEAN, "HOME": "/"}
    done = subprocess.run(["git", "-C", home, "status"], capture_output=True, text=True, check=False, env=variables)
    assert "dubious ownership" in done.stderr
    assert look(home)["branch"] == "main"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give up its rights")
def test_what_may_not_be_read(home: Path) -> None:
    code = """
import os, sys
from stallkit_sessions.worktree import worktree
home = os.open(sys.argv[1], os.O_RDONLY)
os.fchdir(home)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.environ["TMPDIR"] = "/tmp"
print(worktree(sys.argv[1], 30.0))
"""
    for above in home.parents:
        if above != Path("/") and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
    for closed in (".", ".git", ".git/objects", ".git/HEAD", ".git/index"):
        mode = (home / closed).stat().st_mode
        (home / closed).chmod(0)
        done = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
        said = eval(done.stdout)
        assert said and said["why"], (closed, said)
        (home / closed).chmod(mode)


def test_a_submodule(home: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "part")
    commit(tmp_path / "part")
    git(home, "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    git(home, "commit", "-qm", "part")
    assert look(home)["dirty"] == 0
    found = look(home / "part")
    assert (found["root"], found["branch"], found["linked"]) == (str((home / "part").resolve()), "main", False)
    (home / "part" / "file").write_text("changed\n")
    assert look(home)["dirty"] == 0 and look(home / "part")["dirty"] == 1
    commit(home / "part", "more")
    assert look(home)["files"] == ["part"], "another commit of it is a change"


def test_sparse_shallow_packed_split_and_sha256(home: Path, tmp_path: Path) -> None:
    for number in range(3):
        (home / str(number)).mkdir()
        commit(home, f"{number}/x")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{home}", "shallow")
    commit(tmp_path / "shallow", "more")
    assert look(tmp_path / "shallow")["unpushed"] == 1
    git(home, "sparse-checkout", "set", "1")
    assert not (home / "2").exists() and look(home)["dirty"] == 0
    git(home, "sparse-checkout", "set", "--sparse-index", "1")
    assert look(home)["dirty"] == 0
    git(home, "sparse-checkout", "disable")
    git(home, "pack-refs", "--all")
    git(home, "gc", "-q")
    git(home, "update-index", "--split-index")
    (home / "file").write_text("changed")
    assert (look(home)["branch"], look(home)["files"]) == ("main", ["file"])
    if git(tmp_path, "init", "-q", "--object-format=sha256", "long", check=False) == "":
        commit(tmp_path / "long")
        assert look(tmp_path / "long")["dirty"] == 0


def test_settings_that_say_how_to_compare(home: Path) -> None:
    (home / "file").chmod(0o755)
    assert look(home)["files"] == ["file"]
    git(home, "config", "core.fileMode", "false")
    assert look(home)["dirty"] == 0
    (home / ".git" / "info" / "exclude").write_text("left-out\n")
    (home / "left-out").write_text("")
    assert look(home)["dirty"] == 0


# --- hostile repositories: nothing of one is run for a look, nothing is waited for, changed or left behind ---
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
    found = worktree(home, 0.000_001)
    assert found is not None and found["why"] == "took longer than 0.001 ms"


GARBAGE = {
    "HEAD": [b"\xff\0garbage", b"", b"ref: refs/heads/../../x", b"ref: refs/heads/.invalid"],
    "config": [
        b"[core\n",
        b"[core]\n\tautocrlf = nonsense\n",
        b'[branch "main"]\n\tremote = ext::sh\n\tmerge = \xff\n',
    ],
    "index": [b"DIRC"],
    "packed-refs": [b"\0"],
}


def test_garbage(home: Path) -> None:
    for name, content in [(name, one) for name, contents in GARBAGE.items() for one in contents]:
        path = home / ".git" / name
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(content)
        found = worktree(home, LONG_S)
        assert found is not None and ("why" in found or content.startswith(b"[branch")), (name, content, found)
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


def test_it_changes_nothing_and_leaves_nothing_behind(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path / "made"))
    (home / "file").write_text("two\n")
    touch(home)

    def all_of_it() -> dict[Path, tuple[int, bytes]]:
        return {p: (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in home.rglob("*")}

    before = all_of_it()
    look(home)
    assert all_of_it() == before
    (home / ".git" / "index").write_bytes(b"DIRC")
    worktree(home, LONG_S)
    assert list((tmp_path / "made").iterdir()) == []
