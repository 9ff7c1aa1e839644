"""The sandboxes that manifests describe: branch, repository, pull request, and each version of the manifest, on disk.

One file for each user.  A version is kept word for word with who started it and why, so that what changed can always be
shown.  The rows of rebuilds are in it too (`stallkit_operator.sandbox.rebuild_plan`).
"""

from __future__ import annotations

import difflib
import fcntl
import os
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from attrs import frozen
from stallkit_sessions.manifest import Manifest, read_manifest

from stallkit import private
from stallkit.database import Database
from stallkit.errors import StallkitError, Unknown

_STEPS = (
    """
create table if not exists sandbox (
    name text primary key, version integer not null, session text, git_place text,
    tmux_socket_name text, tmux_socket_path text, registered real not null
) without rowid;
create table if not exists manifest (
    sandbox text not null, version integer not null, text text not null, at real not null, by text not null,
    why text not null, item integer, primary key (sandbox, version)
) without rowid;
create table if not exists rebuild (
    id integer primary key autoincrement, sandbox text not null, item integer, asked text, old_session text not null,
    old_version integer not null, text text not null, by text not null, why text not null, at real not null,
    outcome text, told text
);
create unique index if not exists one_rebuild on rebuild (sandbox) where outcome is null;
create table if not exists rebuild_step (
    rebuild integer not null, step text not null, state text not null, at real not null, facts text not null,
    primary key (rebuild, step)
) without rowid;
""",
)


class NoSandbox(Unknown, StallkitError):
    """No sandbox of that name was started from a manifest."""

    def __init__(self, name: str) -> None:
        super().__init__("no sandbox", name, "none was started from a manifest", "stallkit start --manifest FILE")


@frozen
class ManifestVersion:
    """One version of a sandbox's manifest, and who started it, when and why."""

    sandbox: str
    version: int  # from 1 on
    text: str
    at: float  # seconds of the wall clock
    by: str
    why: str
    item: int | None = None  # of the queue: what asked for it


@frozen
class Sandbox:
    """One sandbox: what it runs from now."""

    name: str
    version: int
    session: str | None  # the id of its latest start; None until it started
    git_place: str | None  # the directory of its repository when it was registered; None where it had none
    tmux_socket_name: str | None
    tmux_socket_path: str | None
    registered: float
    latest: ManifestVersion

    @property
    def manifest(self) -> Manifest:
        """What it is made of.  Raises ConfigError if an earlier stallkit read it otherwise."""
        return read_manifest(self.latest.text, f"manifest {self.name}, version {self.version}")


class Sandboxes(Database):
    """The open file.  Failures raise StoreError."""

    def __init__(self, path: Path) -> None:
        """Open or make it."""
        super().__init__(path, "sandboxes", _STEPS)

    def enrol(
        self,
        manifest: Manifest,
        text: str,
        by: str,
        why: str,
        *,
        item: int | None = None,
        git_place: str | None = None,
        tmux: tuple[str | None, str | None] = (None, None),
    ) -> Sandbox:
        """Note what a sandbox is about to be started from: a new version where the text is a different one."""
        with self.writing() as base:
            known = self._find(base, manifest.name)
            version = 1 if known is None else known.version + (known.latest.text != text)
            if known is None or version > known.version:
                values = (manifest.name, version, text, time.time(), by, why, item)
                base.execute("insert into manifest values (?, ?, ?, ?, ?, ?, ?)", values)
            base.execute(
                "insert into sandbox values (?, ?, null, ?, ?, ?, ?) on conflict (name) do update set"
                " version = excluded.version, git_place = coalesce(excluded.git_place, git_place),"
                " tmux_socket_name = excluded.tmux_socket_name, tmux_socket_path = excluded.tmux_socket_path",
                (manifest.name, version, git_place, *tmux, time.time()),
            )
            found = self._find(base, manifest.name)
        assert found is not None  # it was just written
        return found

    def started(self, name: str, session: str) -> None:
        """Note which session it is now."""
        with self.writing() as base:
            base.execute("update sandbox set session = ? where name = ?", (session, name))

    def withdraw(self, name: str, version: int, before: Sandbox | None) -> None:
        """Take a version back that never ran; with `before` the sandbox is again as it was, else it is forgotten."""
        with self.writing() as base:
            if before is None or before.version < version:
                base.execute("delete from manifest where sandbox = ? and version = ?", (name, version))
            if before is None:
                base.execute("delete from sandbox where name = ?", (name,))
            else:
                base.execute("update sandbox set version = ? where name = ?", (before.version, name))

    def find(self, name: str) -> Sandbox | None:
        """The sandbox of that name."""
        with self.reading() as base:
            return self._find(base, name)

    def get(self, name: str) -> Sandbox:
        """The sandbox of that name.  Raises NoSandbox."""
        found = self.find(name)
        if found is None:
            raise NoSandbox(name)
        return found

    def listing(self) -> list[Sandbox]:
        """All of them, by name."""
        with self.reading() as base:
            names = [row["name"] for row in base.execute("select name from sandbox order by name")]
            return [one for name in names if (one := self._find(base, name)) is not None]

    def history(self, name: str) -> list[ManifestVersion]:
        """All versions of its manifest, the oldest first."""
        with self.reading() as base:
            rows = base.execute("select * from manifest where sandbox = ? order by version", (name,)).fetchall()
        return [ManifestVersion(**dict(row)) for row in rows]

    @staticmethod
    def _find(base: sqlite3.Connection, name: str) -> Sandbox | None:
        row = base.execute("select * from sandbox where name = ?", (name,)).fetchone()
        if row is None:
            return None
        wanted = (name, row["version"])
        latest = base.execute("select * from manifest where sandbox = ? and version = ?", wanted).fetchone()
        return Sandbox(**dict(row), latest=ManifestVersion(**dict(latest)))


def changes(before: str, after: str) -> list[str]:
    """The lines that differ, as `diff -u` shows them, without its head; none if nothing does.

    >>> changes("a\\nb\\n", "a\\nc\\n")
    ['@@ -1,2 +1,2 @@', ' a', '-b', '+c']
    """
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]


@contextmanager
def alone(lock: Path, refused: StallkitError) -> Iterator[None]:
    """While it is open no other process has this lock.  Raises `refused` if one has it."""
    private.folder(lock.parent)
    with os.fdopen(private.opened(lock, os.O_RDWR | os.O_CREAT)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused from None
        yield
