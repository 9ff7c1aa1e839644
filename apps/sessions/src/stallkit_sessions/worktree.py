"""The state of a session's git worktree: branch, changed files, commits that are nowhere else.

The directory is an agent's, and git runs programs that a repository's settings name: monitors, filters, hooks,
transports.  So git never reads those settings here.  It works on a folder of ours that borrows the repository's
objects, refs and index; it gets only the settings on comparing files and on upstreams, as values.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from stallkit_sessions.child_process import run_alone

DEADLINE_S = 0.2
GIT_PART = 0.9
NAMES = 5  # of changed files that are listed
SMALL = 65_536  # bytes of a file that says where something is
LEVELS = 64  # of directories above
# What an unfinished operation leaves in the git directory, and its name.
_UNFINISHED = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
# Settings that are passed on: how files are compared.  None of them names a program or a file.
_PASSED = frozenset(
    {"core.filemode", "core.ignorecase", "core.precomposeunicode", "core.autocrlf", "core.eol", "core.symlinks"}
    | {"core.safecrlf", "core.trustctime", "core.checkstat", "core.sparsecheckout", "core.sparsecheckoutcone"}
)
# What git is told in any case: nothing is run, nothing is fetched.
OURS = (
    ("core.fsmonitor", "false"),
    ("core.hookspath", os.devnull),
    ("core.untrackedcache", "false"),
    ("core.excludesfile", os.devnull),
    ("core.attributesfile", os.devnull),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("status.submodulesummary", "false"),
)


@frozen
class Repository:
    """Where a worktree and its repository are."""

    root: Path
    own: Path  # the worktree's git directory: HEAD and index
    common: Path  # the repository's: objects, refs, settings


def worktree(directory: str | Path, deadline_s: float = DEADLINE_S) -> dict[str, Any] | None:
    """The state of a directory's worktree; None if it is not in one.

    ``root``, ``branch`` (None if ``detached`` names a commit instead), ``commit`` (None before the first one),
    ``linked`` (to another worktree's repository), ``unfinished`` (rebase, merge, ...), ``dirty`` (files), of which
    ``untracked``, the first ``files``; ``upstream``, ``ahead`` and ``behind`` of it; ``unpushed`` commits, None if
    there is neither an upstream nor a remote.  Unknown facts are missing, and ``why`` gives the reason, such as taking
    longer than `deadline_s` seconds.  A submodule counts as changed where its commit differs.
    """
    # In a thread, since any call may hang on a file system of the agent's; git's own time-out is a little earlier.
    late = f"took longer than {deadline_s * 1000:g} ms"
    look = _Look(Path(directory), time.monotonic() + deadline_s * GIT_PART, late)
    thread = threading.Thread(target=look.run, name="stallkit worktree", daemon=True)
    thread.start()
    thread.join(deadline_s)
    if thread.is_alive():
        return {**look.found, "why": late}
    if look.outside:
        return None
    return dict(look.found)


def repository_place(directory: str | Path) -> Path | None:
    """The directory of the repository that a directory's worktree belongs to, resolved; None if there is none."""
    try:
        found = repository_of(Path(directory))
    except (OSError, ValueError):
        return None
    return None if found is None else Path(os.path.realpath(found.common))


class _Look:
    def __init__(self, directory: Path, deadline: float, late: str) -> None:
        self._directory, self._deadline, self._late = directory, deadline, late
        self.found: dict[str, Any] = {}
        self.outside = False

    def run(self) -> None:
        """Fill in the facts, step by step."""
        try:
            if not stat.S_ISDIR(self._directory.stat().st_mode):
                raise NotADirectoryError(0, "it is not a directory")
            repository = repository_of(self._directory)
            if repository is None:
                self.outside = True
                return
            self._see(repository)
        except subprocess.TimeoutExpired:
            self._add(why=self._late)
        except FileNotFoundError as error:
            git = error.filename == "git"
            self._add(why="git is not installed" if git else "the directory does not exist, or is no longer a worktree")
        except (OSError, ValueError) as error:  # ValueError: a path with a NUL
            self._add(why=getattr(error, "strerror", None) or str(error))

    def _add(self, **facts: Any) -> None:
        self.found = {**self.found, **facts}  # in one step: the waiting thread may read it at any time

    def _see(self, repository: Repository) -> None:
        own = repository.own
        unfinished = next((what for name, what in _UNFINISHED if os.path.lexists(own / name)), None)
        linked = own != repository.common
        self._add(root=_shown(os.fsencode(repository.root)), linked=linked, unfinished=unfinished)
        head = small_file(own / "HEAD").strip()
        if head == "ref: refs/heads/.invalid":
            self._add(why="the format of its refs is not supported")
            return
        branch = head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None
        if branch is not None and any(part.startswith(".") for part in branch.split("/")):
            raise ValueError("HEAD names no branch")  # a path that leads out of the refs
        if branch is None and unfinished == "rebase":
            with suppress(OSError):
                branch = small_file(own / "rebase-merge" / "head-name").strip().removeprefix("refs/heads/")
        self._add(branch=branch and _shown(branch.encode("utf-8", "surrogateescape")))
        with tempfile.TemporaryDirectory(prefix="stallkit-git-") as made:
            self._ask(repository, Path(made), branch)

    def _ask(self, repository: Repository, folder: Path, branch: str | None) -> None:
        settings = self._settings(repository.common / "config")
        _borrow(repository, folder, settings)
        git = partial(self._git, folder, repository.root, _given(settings, branch))
        arguments = ("--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
        self._add(**_status(git("status", *arguments)))
        if self.found.get("commit") is None:
            return
        if git("for-each-ref", "--count=1", "refs/remotes").strip():
            self._add(unpushed=int(git("rev-list", "--count", "HEAD", "--not", "--remotes", "--")))
        else:
            self._add(unpushed=self.found.get("ahead"))  # of an upstream that is a branch of its own

    def _settings(self, path: Path) -> list[tuple[str, str]]:
        """The repository's settings as values, without included files."""
        found = self._run(["git", "config", "--file", str(path), "--no-includes", "--list", "-z"], {}, Path("/"))
        pairs = [entry.partition("\n") for entry in found.decode("utf-8", "surrogateescape").split("\0") if entry]
        return [(key, value if nl else "true") for key, nl, value in pairs]

    def _git(self, folder: Path, root: Path, settings: list[tuple[str, str]], *arguments: str) -> bytes:
        variables = {
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_COUNT": str(len(settings)),
            **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(settings)},
            **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(settings)},
        }
        return self._run(["git", "--no-optional-locks", "--no-pager", *arguments], variables, folder)

    def _run(self, command: list[str], variables: dict[str, str], cwd: Path) -> bytes:
        given = {**bare_environment(), "GIT_ALLOW_PROTOCOL": "", **variables}
        done = run_alone(command, given, max(0.0, self._deadline - time.monotonic()), cwd)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
            raise ValueError(lines[-1][:200] if lines else f"git ended with status {done.returncode}")
        return done.stdout


def bare_environment() -> dict[str, str]:
    """Ours without git's variables, and with none of anybody's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def repository_of(directory: Path) -> Repository | None:
    """The worktree that a directory is in, found as git finds it."""
    start = Path(os.path.realpath(directory))
    for root in [start, *start.parents][:LEVELS]:
        entry = root / ".git"
        with suppress(FileNotFoundError, NotADirectoryError):
            own = entry
            if not stat.S_ISDIR(entry.stat().st_mode):
                own = root / small_file(entry).removeprefix("gitdir:").strip()
            common = own
            with suppress(FileNotFoundError):
                common = own / small_file(own / "commondir").strip()
            if (common / "objects").is_dir() and (own / "HEAD").exists():
                return Repository(root, own, common)
        if (root / "objects").is_dir() and (root / "refs").is_dir() and (root / "HEAD").exists():
            return None  # a bare repository, or within a git directory
    return None


def small_file(path: Path, most: int = SMALL, links: bool = True) -> str:
    """The beginning of a plain file; refuses anything else, without waiting at a FIFO, and links if told to."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:  # Path.open has none
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, f"{path.name} is not a plain file")
        return file.read(most).decode("utf-8", "surrogateescape")


def _borrow(repository: Repository, folder: Path, settings: list[tuple[str, str]]) -> None:
    """Make a git directory of ours with the repository's data, without its settings."""
    kind = next((value for key, value in settings if key == "extensions.objectformat"), "sha1")
    lines = ["[core]", f"\trepositoryformatversion = {0 if kind == 'sha1' else 1}", "\tbare = false"]
    if kind == "sha256":
        lines += ["[extensions]", "\tobjectFormat = sha256"]
    (folder / "config").write_text("\n".join(lines) + "\n")
    (folder / "HEAD").write_bytes(small_file(repository.own / "HEAD").encode("utf-8", "surrogateescape"))
    for name in ("objects", "refs", "packed-refs", "shallow"):
        if os.path.lexists(repository.common / name):
            (folder / name).symlink_to(os.path.realpath(repository.common / name))
    with os.scandir(repository.own) as entries:
        for entry in entries:
            if entry.name == "index" or entry.name.startswith("sharedindex."):
                (folder / entry.name).symlink_to(os.path.realpath(entry.path))
    (folder / "info").mkdir()
    with suppress(OSError):  # the repository's own exclude patterns, which name no program
        (folder / "info" / "exclude").write_bytes(
            small_file(repository.common / "info" / "exclude").encode("utf-8", "surrogateescape")
        )


def _given(settings: list[tuple[str, str]], branch: str | None) -> list[tuple[str, str]]:
    """The settings that are passed on, overridden by ours."""
    passed = [(key, value) for key, value in settings if key in _PASSED]
    own = dict(settings)
    remote = own.get(f"branch.{branch}.remote")
    if branch and remote:
        wanted = {f"branch.{branch}.remote", f"branch.{branch}.merge", f"remote.{remote}.fetch"}
        passed += [(key, value) for key, value in settings if key in wanted]
    return [*passed, *OURS]


def _status(out: bytes) -> dict[str, Any]:
    """The facts of `git status --porcelain=v2 --branch -z`."""
    facts: dict[str, Any] = {"commit": None, "detached": None, "upstream": None, "ahead": None, "behind": None}
    names: list[bytes] = []
    untracked = 0
    entries = iter(out.split(b"\0"))
    for entry in entries:
        kind, _, rest = entry.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            if key == b"branch.oid" and value != b"(initial)":
                facts["commit"] = value.decode("ascii", "replace")[:12]
            elif key == b"branch.head" and value == b"(detached)":
                facts["detached"] = facts["commit"]
            elif key == b"branch.upstream":
                facts["upstream"] = _shown(value)
            elif key == b"branch.ab":
                ahead, behind = value.split()
                facts["ahead"], facts["behind"] = int(ahead), -int(behind)
        elif kind == b"?":
            untracked += 1
            names.append(rest)
        elif kind in (b"1", b"2", b"u"):
            names.append(rest.split(b" ", {b"1": 7, b"2": 8, b"u": 9}[kind])[-1])
            if kind == b"2":
                next(entries, None)  # its previous path
    return {**facts, "dirty": len(names), "untracked": untracked, "files": [_shown(name) for name in names[:NAMES]]}


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
