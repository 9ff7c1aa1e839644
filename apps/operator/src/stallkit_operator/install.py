"""The agent's side, written into a directory that can be mounted into a sandbox."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Iterator

# --- where the endpoint's sockets of a sandbox are ---


def mounted_socket(folder: Path, sandbox: str) -> Path:
    """In the sandbox's own directory, below the directory of all."""
    return folder / sandbox / "notify.sock"


def host_socket(folder: Path, sandbox: str) -> Path:
    """For the sandbox's proxy; no sandbox's name begins with a dot."""
    return folder / ".host" / f"{sandbox}.sock"


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

# What each file is made of, and whether it is a program.
_FILES = {
    "stuck": ("stuck.sh", True),
    "stuck.py": ("stuck_client.py", True),
    "SKILL.md": ("SKILL.md", False),
    "commands/stuck.md": ("command.md", False),
    "STUCK.md": ("STUCK.md", False),
}
_DENIED = {"denied.py": ("denied_hook.py", True), "hooks.json": ("hooks.json", False)}  # only where it is asked for


def install(folder: Path, inside: str | None = None, denied: bool = False) -> list[Path]:
    """Write the files, over earlier ones; `inside` is the path of the directory in the sandbox.

    With `denied` also the hook that asks on its own when a tool call is denied.

    An agent may write there as well, also at this moment: no link that it lays is followed.  Raises OSError.
    """
    there = inside or str(folder.absolute())
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, (origin, runs) in {**_FILES, **(_DENIED if denied else {})}.items():
        text = (resources.files("stallkit_operator") / "agent" / origin).read_text("utf-8")
        if not runs:
            text = text.replace("{dir}", there.rstrip("/"))
        path = folder / name
        with _opened(folder, path.parent) as at:
            _write(at, path.name, text, 0o755 if runs else 0o644)
        written.append(path)
    return written


@contextmanager
def _opened(folder: Path, inner: Path) -> Iterator[int]:
    """A directory, or one that is made in it, held open: what takes its name meanwhile is a different one."""
    at = os.open(folder, _FOLDER)
    try:
        if inner != folder:
            with suppress(FileExistsError):
                os.mkdir(inner.name, 0o755, dir_fd=at)
            try:
                below = os.open(inner.name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            except OSError as error:
                raise OSError(error.errno, "it is a symbolic link, or no directory: remove it", str(inner)) from error
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _write(at: int, name: str, text: str, mode: int) -> None:
    """A new file instead of the one that is there: a sandbox that runs it meanwhile has one or the other."""
    new = f".{name}.new"
    with suppress(FileNotFoundError):
        os.unlink(new, dir_fd=at)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=at)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(handle, mode)
    os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
