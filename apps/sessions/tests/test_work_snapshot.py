"""A work tree is kept whole and byte for byte, nothing of a hostile repository is run for it, and it comes back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hostile_repositories import a_part, filters, hooks, included, monitor, of_the_worktree, trap, words
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import commit, git
from stallkit_sessions.work_snapshot import SnapshotFailed, Store, WorkSnapshot

REF = "refs/stallkit/web/1"


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def repository(folder: Path) -> Path:
    """One with a commit, in a folder of its own."""
    folder.mkdir()
    git(folder, "init", "-q", "home")
    commit(folder / "home")
    return folder / "home"


def store_of(home: Path) -> Store:
    return Store(home.parent / "state" / "web" / "snapshots.git", home, Path(os.path.realpath(home / ".git")))


def far(home: Path) -> Path:
    git(home.parent, "init", "-q", "--bare", "far.git")
    return home.parent / "far.git"


def kept(store: Store, snapshot: WorkSnapshot) -> dict[str, bytes]:
    names = store._git("ls-tree", "-r", "-z", "--name-only", snapshot.commit).split(b"\0")[:-1]
    return {
        os.fsdecode(name): store._git("cat-file", "blob", f"{snapshot.commit}:{os.fsdecode(name)}") for name in names
    }


def state_of(home: Path) -> tuple[object, ...]:
    """What must not change: the index, HEAD, refs, and every file with its time."""
    files = [path for path in sorted(home.rglob("*")) if not path.is_dir() and "objects" not in path.parts]
    return tuple((path, path.lstat().st_mtime_ns, path.lstat().st_ino) for path in files)


def test_untracked_is_in_and_ignored_is_out_and_nothing_is_touched(home: Path) -> None:
    (home / ".gitignore").write_text("*.log\nbuild/\n")
    (home / "tracked.log").write_text("ignored by name, and tracked\n")
    git(home, "add", "-f", ".gitignore", "tracked.log")
    git(home, "commit", "-qm", "more")
    (home / "file").write_text("changed\n")
    (home / "tracked.log").write_text("changed as well\n")
    (home / "new").write_bytes(b"\r\n\0binary\xff")
    (home / "staged").write_text("staged\n")
    git(home, "add", "staged")
    (home / "staged").write_text("and changed since\n")
    for name in ("x.log", "build/out"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("no\n")
    (home / "run.sh").write_text("#!/bin/sh\n")
    (home / "run.sh").chmod(0o755)
    (home / "link").symlink_to("/nowhere")
    (home / 'a\nb "\\ü').write_text("odd\n")
    os.mkfifo(home / "pipe")
    before, store = state_of(home), store_of(home)
    snapshot = store.take(REF, "as it is")
    assert state_of(home) == before
    assert kept(store, snapshot) == {
        ".gitignore": b"*.log\nbuild/\n",
        "file": b"changed\n",
        "tracked.log": b"changed as well\n",
        "new": b"\r\n\0binary\xff",
        "staged": b"and changed since\n",
        "run.sh": b"#!/bin/sh\n",
        "link": b"/nowhere",
        'a\nb "\\ü': b"odd\n",
    }
    assert snapshot.files == 8 and snapshot.parent == git(home, "rev-parse", "HEAD")
    modes = store._git("ls-tree", snapshot.commit, "run.sh", "link", "file").decode().split("\n")
    assert [line[:6] for line in modes if line] == ["100644", "120000", "100755"]


def test_files_that_git_was_told_to_overlook_are_in_it(home: Path) -> None:
    """Bits of the index hide changes from `git add`; a sparse checkout leaves files out."""
    for name in ("assumed", "sparse"):
        commit(home, name)
    git(home, "update-index", "--assume-unchanged", "assumed")
    git(home, "update-index", "--skip-worktree", "sparse")
    (home / "assumed").write_text("changed\n")
    (home / "sparse").unlink()
    store = store_of(home)
    found = kept(store, store.take(REF, "x"))
    assert found["assumed"] == b"changed\n" and found["sparse"] == b"one\n"


def test_a_repository_inside_is_in_it_what_was_removed_is_not_and_attributes_change_no_byte(home: Path) -> None:
    git(home, "init", "-q", "inner")
    commit(home / "inner", "a")
    (home / "inner" / "b").write_text("not committed\n")
    commit(home, "other")
    (home / "file").unlink()
    (home / "other").unlink()
    (home / "other").mkdir()
    (home / "other" / "now").write_text("a directory\n")
    (home / ".gitattributes").write_text("* text eol=crlf ident working-tree-encoding=UTF-16\n")
    (home / "it").write_bytes(b"$Id$\r\nline\n")
    store = store_of(home)
    found = kept(store, store.take(REF, "x"))
    assert set(found) == {".gitattributes", "inner/a", "inner/b", "it", "other/now"}
    assert found["it"] == b"$Id$\r\nline\n"


def test_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "home")
    (tmp_path / "home" / "a").write_text("a\n")
    store = store_of(tmp_path / "home")
    snapshot = store.take(REF, "x")
    assert snapshot.parent is None and kept(store, snapshot) == {"a": b"a\n"}


def test_it_is_pushed_with_its_history_and_read_back(home: Path) -> None:
    (home / "new").write_text("new\n")
    store, remote = store_of(home), far(home)
    snapshot = store.take(REF, "x")
    store.push(REF, snapshot, str(remote))
    store.read_back(REF, snapshot, str(remote))
    assert git(remote, "rev-parse", REF) == snapshot.commit
    assert git(remote, "rev-parse", f"{REF}^") == git(home, "rev-parse", "HEAD"), "commits that were never pushed, too"
    git(remote, "update-ref", REF, git(home, "rev-parse", "HEAD"))
    with pytest.raises(SnapshotFailed, match=r"is \w+ there, not"):
        store.read_back(REF, snapshot, str(remote))
    git(remote, "update-ref", "-d", REF)
    with pytest.raises(SnapshotFailed, match="couldn't find remote ref"):
        store.read_back(REF, snapshot, str(remote))


def test_a_remote_that_lost_a_file_or_takes_none_says_so(home: Path) -> None:
    (home / "new").write_text("new\n")
    store, remote = store_of(home), far(home)
    snapshot = store.take(REF, "x")
    with pytest.raises(SnapshotFailed, match="not appear to be a git"):
        store.push(REF, snapshot, str(home.parent / "none.git"))
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no secrets here >&2; exit 1\n")
    hook.chmod(0o755)
    with pytest.raises(SnapshotFailed, match="no secrets here"):
        store.push(REF, snapshot, str(remote))
    hook.unlink()
    store.push(REF, snapshot, str(remote))
    blob = git(remote, "rev-parse", f"{REF}:new")
    (remote / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(SnapshotFailed):
        store.read_back(REF, snapshot, str(remote))


def elsewhere(home: Path) -> Path:
    secret = home.parent / "secret"
    git(home.parent, "init", "-q", "secret")
    commit(secret, "private", "PRIVATE\n")
    return secret


def test_another_repository_of_the_users_is_never_pushed(tmp_path: Path) -> None:
    taken = []
    for how in ["gitdir", "commondir", "refs", "objects", "packed-refs", "branch"]:
        home = repository(tmp_path / how)
        store, secret = store_of(home), elsewhere(home)
        git(secret, "pack-refs", "--all")
        own = home / ".git"
        if how == "gitdir":
            own.rename(home / "old")
            own.write_text(f"gitdir: {secret}/.git\n")
        elif how == "commondir":
            (own / "commondir").write_text(f"{secret}/.git\n")
        elif how == "branch":
            git(secret, "switch", "-qc", "other")
            (own / "refs" / "heads" / "main").unlink()
            (own / "refs" / "heads" / "main").symlink_to(secret / ".git" / "refs" / "heads" / "other")
        else:
            if (own / how).is_dir():
                (own / how).rename(home / "old")
            (own / how).symlink_to(secret / ".git" / how)
        with suppress(SnapshotFailed):
            store.take(REF, "x")
            taken.append(how)
    assert taken == []


def test_no_object_of_another_repository_is_pushed(tmp_path: Path) -> None:
    """An agent that knows a commit of a repository of the user's could have that pushed, and read it."""
    taken = []
    for how in ["alternates", "http-alternates", "pack", "one folder", "one object"]:
        home = repository(tmp_path / how)
        secret = elsewhere(home)
        own, theirs = home / ".git" / "objects", secret / ".git" / "objects"
        if how == "pack":
            git(secret, "repack", "-adq")
            for file in (theirs / "pack").iterdir():
                (own / "pack" / file.name).symlink_to(file)
        elif "alternates" in how:
            (own / "info" / how).write_text(f"{theirs}\n")
        for folder in [one for one in theirs.iterdir() if len(one.name) == 2 and how.startswith("one")]:
            if how == "one folder":
                shutil.rmtree(own / folder.name, ignore_errors=True)
                (own / folder.name).symlink_to(folder)
            else:
                (own / folder.name).mkdir(exist_ok=True)
                for file in (one for one in folder.iterdir() if not (own / folder.name / one.name).exists()):
                    (own / folder.name / file.name).symlink_to(file)
        (home / ".git" / "refs" / "heads" / "main").write_text(f"{git(secret, 'rev-parse', 'HEAD')}\n")
        try:
            store_of(home).take(REF, "kept")
            taken.append(how)
        except SnapshotFailed as failed:
            assert re.search("borrows objects|symbolic link", str(failed)), how
    assert taken == []


def test_a_link_in_the_tree_leads_nowhere(home: Path) -> None:
    secret = home.parent / "id_rsa"
    secret.write_text("PRIVATE\n")
    (home / "sub").mkdir()
    (home / "sub" / "id_rsa").write_text("mine\n")
    git(home, "add", "-A")
    (home / "sub" / "id_rsa").unlink()
    (home / "sub").rmdir()
    (home / "sub").symlink_to(home.parent)  # what the index calls sub/id_rsa is the user's own now
    (home / "direct").symlink_to(secret)
    store = store_of(home)
    found = kept(store, store.take(REF, "x"))
    assert not any(b"PRIVATE" in content for content in found.values()) and found["direct"] == os.fsencode(secret)


@pytest.mark.parametrize(
    "plant", [filters, monitor, hooks, words, included, of_the_worktree, a_part], ids=lambda plant: plant.__name__
)
def test_nothing_of_the_repository_is_run(home: Path, plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mark = trap(home)
    plant(home, program)
    for name in ("pre-push", "post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        for folder in (home / ".git" / "hooks", home / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(program)
    remote = far(home)
    for key in ("core.sshCommand", "credential.helper", "remote.origin.receivepack", "alias.push", "alias.fast-import"):
        git(home, "config", key, f"!{program}")
    git(home, "config", f"url.ext::{program}.insteadOf", str(remote))
    git(home, "config", "protocol.ext.allow", "always")
    mark.unlink(missing_ok=True)
    (home / "new").write_text("new\n")
    monkeypatch.setenv("GIT_PAGER", program)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", program)
    store = store_of(home)
    snapshot = store.take(REF, "x")
    store.push(REF, snapshot, str(remote))
    store.read_back(REF, snapshot, str(remote))
    assert kept(store, snapshot)["new"] == b"new\n"
    store.restore(REF, snapshot, str(remote), "main")
    assert not mark.exists()


def test_the_trap_works(home: Path) -> None:
    program, mark = trap(home)
    hooks(home, program)
    (home / "hooks" / "pre-push").symlink_to(program)
    git(home, "push", "-q", str(far(home)), "main")
    assert mark.exists()


def test_only_what_is_missing_is_restored(home: Path) -> None:
    (home / "a").mkdir()
    (home / "a" / "b").write_text("b\n")
    (home / "run").write_text("run\n")
    (home / "run").chmod(0o755)
    (home / "link").symlink_to("run")
    store, remote = store_of(home), far(home)
    snapshot = store.take(REF, "x")
    store.push(REF, snapshot, str(remote))
    for name in ("a/b", "run", "link"):
        (home / name).unlink()
    (home / "a").rmdir()
    (home / "file").write_text("newer\n")
    assert store.restore(REF, snapshot, str(remote), "main") == 3
    assert (home / "a" / "b").read_text() == "b\n" and os.access(home / "run", os.X_OK)
    assert (home / "link").readlink() == Path("run") and (home / "file").read_text() == "newer\n"
    head = git(home, "rev-parse", "HEAD")
    subprocess.run(["rm", "-r", str(home)], check=True)
    assert store.restore(REF, snapshot, str(remote), "main") == 4, "all of it, on its branch"
    assert git(home, "rev-parse", "main") == head
    assert store.take(REF, "and again").tree == snapshot.tree


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..", ".git", "file") and len(name.encode()) < 100 and name.lower() != ".git"
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.binary(max_size=300), max_size=6))
def test_any_names_and_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    home = tmp_path_factory.mktemp("any") / "home"
    git(home.parent, "init", "-q", "home")
    commit(home)
    written = {}
    for name, content in files.items():
        if any(part in (".gitignore", ".gitattributes", ".gitmodules") for part in name.split("/")):
            continue
        try:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            continue
        written[name] = content
    store = store_of(home)
    assert kept(store, store.take(REF, "x")) == {"file": b"one\n", **written}
