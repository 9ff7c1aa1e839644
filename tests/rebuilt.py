"""A sandbox with work in a repository, and its remote, ready to be rebuilt; for tests and the soak."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from pathlib import Path

from boxed import FOREVER
from repositories import git
from stallkit_operator.item import Item
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.rebuild_plan import RebuildRows, approve, propose
from stallkit_operator.sandbox.sandbox_start import Start, home_of, start_sandbox
from stallkit_operator.sandbox.sandboxes import Sandboxes
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import Session
from started import House

from stallkit.config import queue_file, sandboxes_file

NO_AUDIT = [].append


class Site:
    """One sandbox's work tree, its remote, and the files that say what stallkit knows."""

    def __init__(self, folder: Path, socket: Path, name: str = "web") -> None:
        self.folder, self.socket, self.name = folder, socket, name
        self.work, self.far = folder / "work", folder / "far.git"
        self.work.mkdir(exist_ok=True)
        git(folder, "init", "-q", "--bare", "far.git")
        git(self.work, "init", "-q")
        (self.work / ".gitignore").write_text("*.log\n")
        (self.work / "file").write_text("one\n")
        git(self.work, "add", "-A")
        git(self.work, "commit", "-qm", "first")
        self.sandboxes, self.queue = Sandboxes(sandboxes_file()), Queue(queue_file())

    def close(self) -> None:
        self.sandboxes.close()
        self.queue.close()

    def text(self, *lines: str, command: list[str] | None = None, **more: object) -> str:
        given = {
            **{"name": self.name, "engine": "bwrap", "command": command or FOREVER, "directory": str(self.work)},
            **{"branch": "main", "repository": str(self.far), **more},
        }
        return "\n".join([*(f"{key} = {json.dumps(value)}" for key, value in given.items()), *lines, ""])

    def start(self, text: str | None = None) -> Session:
        how = Start("ada", tmux_socket_path=str(self.socket), size=(80, 24))
        return start_sandbox(self.sandboxes, text or self.text(), "web.toml", how)[1]

    def scribble(self, names: int = 5) -> dict[str, bytes]:
        """Uncommitted work: files that were never anywhere else."""
        written = {}
        for _ in range(names):
            name = f"d{secrets.randbelow(3)}/{secrets.token_hex(4)}"
            (self.work / name).parent.mkdir(exist_ok=True)
            written[name] = secrets.token_bytes(secrets.randbelow(2_000))
            (self.work / name).write_bytes(written[name])
        return written

    def lost(self, written: dict[str, bytes]) -> list[str]:
        """The files of those that the work tree does not have as they were."""
        return [
            name
            for name, content in written.items()
            if not (self.work / name).is_file() or (self.work / name).read_bytes() != content
        ]

    def unpushed(self, written: dict[str, bytes], ref: str) -> list[str]:
        """The files of those that the remote does not have at that ref."""
        found = []
        for name, content in written.items():
            blob = subprocess.run(
                ["git", "--git-dir", str(self.far), "cat-file", "blob", f"{ref}:{name}"],
                capture_output=True,
                check=False,
            )
            if blob.returncode or blob.stdout != content:
                found.append(name)
        return found

    def ask(self, words: str = "I need the mirror") -> Item:
        return self.queue.notify(self.name, secrets.token_hex(8), words, time.time() + 1_000)

    def approve(self, text: str, item: Item | None = None, why: str = "it may use the mirror now") -> int:
        proposal = propose(self.sandboxes.get(self.name), text, item)
        return approve(self.sandboxes, proposal, "ada", why, NO_AUDIT).id

    @property
    def rows(self) -> RebuildRows:
        return RebuildRows(self.sandboxes)

    def running(self) -> Session | None:
        """The session that runs; None where none does."""
        with Sessions() as sessions:
            found = sessions.latest(self.name)
        return found if isinstance(found, Session) else None

    @property
    def given(self) -> Path:
        """What the sandbox is told."""
        return home_of(self.name) / "given"

    def refuse_pushes(self, refuse: bool) -> None:
        hook = self.far / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.unlink(missing_ok=True)
        if refuse:
            hook.write_text("#!/bin/sh\necho not now >&2; exit 1\n")
            hook.chmod(0o755)


def site_in(house: House) -> Site:
    """One whose work tree is the house's."""
    os.environ.setdefault("GIT_CONFIG_GLOBAL", os.devnull)
    return Site(house.folder, house.socket)
