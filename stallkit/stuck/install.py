"""The agent's side, written into a directory that can be mounted into a sandbox."""

from __future__ import annotations

import errno
import os
from importlib import resources
from pathlib import Path

__all__ = ["DENIED", "FILES", "install"]

# What each file is made of, and whether it is a program.
FILES = {
    "stuck": ("stuck.sh", True),
    "stuck.py": ("stuck_client.py", True),
    "SKILL.md": ("SKILL.md", False),
    "commands/stuck.md": ("command.md", False),
    "STUCK.md": ("STUCK.md", False),
}
DENIED = {"denied.py": ("denied_hook.py", True), "hooks.json": ("hooks.json", False)}  # only where it is asked for


def install(folder: Path, inside: str | None = None, denied: bool = False) -> list[Path]:
    """Write the files, over earlier ones; `inside` is the path of the directory in the sandbox.

    With `denied` also the hook that asks by itself when a tool call is denied.

    An agent may write there as well: no link that it laid is followed.  Raises OSError.
    """
    there = inside or str(folder.absolute())
    written = []
    for name, (origin, runs) in {**FILES, **(DENIED if denied else {})}.items():
        text = (resources.files("stallkit.stuck") / "agent" / origin).read_text("utf-8")
        if not runs:
            text = text.replace("{dir}", there.rstrip("/"))
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent != folder and path.parent.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link: remove it", str(path.parent))
        _write(path, text, 0o755 if runs else 0o644)
        written.append(path)
    return written


def _write(path: Path, text: str, mode: int) -> None:
    """A new file in place of the one that is there: a sandbox that runs it meanwhile has one or the other."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(handle, mode)
    new.replace(path)
