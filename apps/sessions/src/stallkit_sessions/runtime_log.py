"""The log in a session's own directory, ``.stallkit/runtime.log``: one JSON line for each of its events.

The directory is the agent's, so its content is not trusted: no link is followed, only a plain file with a single name
is written to, and no call waits.  Where it cannot be written, a StoreError says why.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Mapping

from stallkit import jsonlog
from stallkit.errors import StoreError

__all__ = ["FOLDER", "NAME", "append", "log_of"]

FOLDER, NAME = ".stallkit", "runtime.log"
MOST = 1_000_000  # bytes: then the file becomes NAME.1, which replaces the previous NAME.1
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def log_of(directory: str | Path) -> Path:
    """Where the log of a session in this directory is."""
    return Path(directory, FOLDER, NAME)


def append(directory: str | Path, event: Mapping[str, Any], max_bytes: int = MOST) -> None:
    """Append one redacted line, readable by its owner alone.  Raises StoreError where that fails.

    It does not make the directory; it makes ``.stallkit`` with a ``.gitignore``, so that the worktree stays clean.
    """
    try:
        with jsonlog.folder(directory) as above:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, 0o700, dir_fd=above)
            with jsonlog.folder(FOLDER, above, follow=False) as at:
                _ignore(at)
                jsonlog.append(at, NAME, jsonlog.encode(event), max_bytes=max_bytes, trusted=False)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise StoreError("runtime log", str(log_of(directory)), why, "check what is in its place") from error


def _ignore(at: int) -> None:
    with suppress(FileExistsError):
        handle = os.open(".gitignore", _NEW, 0o600, dir_fd=at)
        try:
            os.write(handle, b"*\n")
        finally:
            os.close(handle)
