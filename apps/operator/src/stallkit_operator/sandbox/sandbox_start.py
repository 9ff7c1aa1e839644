"""Starting a sandbox from its manifest: what is recorded, which directories it gets, and its session.

It is written down before anything runs, so that no sandbox is unknown; a start that fails takes it back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Callable

from attrs import frozen

from stallkit import private
from stallkit.config import sandboxes_dir, stuck_dir
from stallkit.errors import ConfigError, StallkitError, StartRefused, StoreError
from stallkit.sessions.lifecycle import SIZE, lasting
from stallkit.sessions.manager import Sessions
from stallkit.sessions.manifest import SOCKET_PLACE, Manifest, read_manifest
from stallkit.sessions.model import Sandboxed, Session
from stallkit.sessions.sandbox_session import Folders, options_of, variables_of, writable_of
from stallkit.sessions.worktree import repository_place, worktree
from stallkit_operator.install import install
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes

__all__ = ["Start", "folders_of", "home_of", "start_sandbox"]

LOOK_S = 5.0  # for git to say which branch a directory is on


@frozen
class Start:
    """How a sandbox is to be started: by whom and why, and where its terminal is."""

    by: str
    why: str = "started"
    item: int | None = None
    tmux_socket_name: str | None = None
    tmux_socket_path: str | None = None
    size: tuple[int, int] = SIZE
    replace: bool = False
    command: tuple[str, ...] | None = None  # in place of the manifest's
    tell: Callable[[str], object] = lambda line: None


def start_sandbox(sandboxes: Sandboxes, text: str, path: str, how: Start) -> tuple[Sandbox, Session]:
    """Start it; `path` is where the text is from, for messages.

    Raises ConfigError for a manifest that cannot be read, StartRefused and other TransportErrors where it could not be
    started, StoreError where that cannot be noted: then nothing runs, and nothing is recorded.
    """
    manifest = read_manifest(text, path)
    before = sandboxes.find(manifest.name)
    socket = lasting(how.tmux_socket_name, how.tmux_socket_path)
    place = _checked(manifest, before)
    variables = variables_of(manifest, os.environ)
    folders, home = folders_of(manifest.name), home_of(manifest.name)
    options = options_of(manifest, folders, socket[1], _written_by_others(sandboxes, manifest.name))
    if manifest.unproxied:
        how.tell(f"{manifest.name}: {manifest.unproxied}")
    try:
        _make(folders, home)
    except OSError as error:
        raise StoreError("sandbox", str(error.filename or home), error.strerror or str(error), "make room") from error
    noted = sandboxes.enrol(manifest, text, how.by, how.why, item=how.item, git_place=place, tmux=socket)
    try:
        kept = home / "manifest.toml"
        _write(kept, text)
        with Sessions() as sessions:
            session = sessions.start(
                manifest.name,
                manifest.command if how.command is None else how.command,
                directory=manifest.directory,
                engine=manifest.engine,
                image=manifest.image,
                engine_options=options,
                ports=manifest.ports,
                size=how.size,
                replace=how.replace,
                env=variables,
                tmux_socket_name=how.tmux_socket_name,
                tmux_socket_path=how.tmux_socket_path,
                sandbox=Sandboxed(str(kept), noted.version, sealed=not manifest.interactive),
                tell=how.tell,
            )
    except (StallkitError, OSError, ValueError) as error:
        sandboxes.withdraw(manifest.name, noted.version, before)
        if isinstance(error, StallkitError):
            raise
        raise StartRefused(manifest.name, str(error), "correct the manifest, or what it names") from error
    sandboxes.started(manifest.name, session.id)
    return sandboxes.get(manifest.name), session


def _written_by_others(sandboxes: Sandboxes, name: str) -> list[str]:
    """The directories in which sandboxes of another name can write."""
    found: list[str] = []
    for one in sandboxes.listing():
        if one.name != name:
            with suppress(ConfigError):  # an earlier stallkit read it otherwise
                found += writable_of(one.manifest)
    return found


def home_of(name: str) -> Path:
    """The directory of all that stallkit keeps of a sandbox."""
    return sandboxes_dir() / name


def folders_of(name: str) -> Folders:
    """The directories that a sandbox gets."""
    home = home_of(name)
    return Folders(socket=stuck_dir() / name, given=home / "given", transcript=home / "transcript")


def _make(folders: Folders, home: Path) -> None:
    private.folder(home.parent)
    private.folder(folders.socket.parent)
    for folder in (home, folders.socket, folders.given, folders.transcript):
        private.folder(folder)
    install(folders.socket, SOCKET_PLACE)


def _write(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def _checked(manifest: Manifest, before: Sandbox | None) -> str | None:
    """Where the work tree's repository is.  Raises StartRefused where it is not what the manifest says."""
    name = manifest.name
    place = repository_place(manifest.directory)
    found = None if place is None else str(place)
    if before is not None and before.git_place not in (None, found) and _same_tree(before, manifest):
        why = f"the repository of its directory is {found} now, and was {before.git_place} when it was registered"
        raise StartRefused(name, why, "put back what its .git file says, or give the sandbox another name")
    if manifest.repository is not None and found is None:
        why = f"{manifest.directory} is in no git repository, so nothing of it could be pushed"
        raise StartRefused(name, why, "clone it there, or leave repository out of the manifest")
    if manifest.branch is not None and found is not None:
        is_on = (worktree(manifest.directory, LOOK_S) or {}).get("branch")
        if is_on != manifest.branch:
            why = f"{manifest.directory} is on {'no branch' if is_on is None else is_on}, not on {manifest.branch}"
            raise StartRefused(name, why, "git switch it, or correct the manifest")
    return found


def _same_tree(before: Sandbox, manifest: Manifest) -> bool:
    try:
        return before.manifest.directory == manifest.directory
    except ConfigError:  # of another version
        return False
