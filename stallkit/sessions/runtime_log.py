"""The log in a session's own directory, ``.stallkit/runtime.log``: one JSON line for each of its events.

The directory is the agent's, so what stands there is not trusted: no link is followed, nothing but a plain file of one
name is written to, and nothing there is waited for.  Who cannot write gets a StoreError, and goes on.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Mapping

from stallkit.core.redact import redact_all
from stallkit.errors import StoreError

__all__ = ["FOLDER", "NAME", "append", "holds", "log_of"]

FOLDER, NAME = ".stallkit", "runtime.log"
MOST = 1_000_000  # bytes: then the file becomes NAME.1, and the NAME.1 before it goes
TAIL = 65_536  # bytes at the end in which an event that may have been written is looked for
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hang it, nor a terminal become ours
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def log_of(directory: str | Path) -> Path:
    """Where the log of a session in this directory is."""
    return Path(directory, FOLDER, NAME)


def append(directory: str | Path, event: Mapping[str, Any]) -> None:
    """Append one line, redacted, readable by its owner alone.  Raises StoreError where that cannot be.

    The directory is not made; ``.stallkit`` is, with a ``.gitignore``, so that the worktree stays clean.
    """
    line = (json.dumps(redact_all(dict(event)), ensure_ascii=True) + "\n").encode()
    try:
        with _folder(directory) as at:
            _write(at, line)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise StoreError("runtime log", str(log_of(directory)), why, "see what stands in its place") from error


def holds(path: str | Path, event: str) -> bool:
    """Whether the end of a log, or of the one before it, has an event of this id; False where it cannot be read."""
    found = f'"id": {json.dumps(event)}'.encode()
    return any(found in _tail(name) for name in (str(path), f"{path}.1"))


@contextmanager
def _folder(directory: str | Path) -> Iterator[int]:
    above = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(FileExistsError):
            os.mkdir(FOLDER, 0o700, dir_fd=above)
        at = os.open(FOLDER, _FOLDER, dir_fd=above)
    finally:
        os.close(above)
    try:
        yield at
    finally:
        os.close(at)


def _write(at: int, line: bytes) -> None:
    log = _open(at)
    try:
        size = os.fstat(log).st_size
        if size and size + len(line) > MOST:
            os.replace(NAME, f"{NAME}.1", src_dir_fd=at, dst_dir_fd=at)  # a link there is replaced, not followed
            os.close(log)
            log = -1
            log, size = _open(at), 0
        if size and os.pread(log, 1, size - 1) != b"\n":  # a line that a full disk cut off
            line = b"\n" + line
        if os.write(log, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        if log >= 0:
            os.close(log)


def _open(at: int) -> int:
    """The log, made where there is none.  Raises OSError for anything but a plain file that has no other name."""
    log = os.open(NAME, os.O_RDWR | os.O_APPEND | os.O_CREAT | _SAFELY, 0o600, dir_fd=at)
    try:
        _plain_file(log)
        with suppress(FileExistsError):
            ignore = os.open(".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600, dir_fd=at)
            try:
                os.write(ignore, b"*\n")
            finally:
                os.close(ignore)
    except BaseException:
        os.close(log)
        raise
    return log


def _plain_file(opened: int) -> None:
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file")
    if found.st_nlink > 1:  # another name of it may be a file that matters
        raise OSError(errno.EMLINK, "it is a file that has another name as well")


def _tail(path: str) -> bytes:
    try:
        opened = os.open(path, os.O_RDONLY | _SAFELY)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(opened)
        return os.pread(opened, TAIL, max(0, found.st_size - TAIL)) if stat.S_ISREG(found.st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(opened)
