"""Files of JSON lines: each line appended whole, secrets redacted, and the file rotated before it grows too large.

    with folder(path.parent) as at:
        append(at, path.name, encode({"event": "detection"}), max_bytes=1_000_000, kept=5)

FILE becomes FILE.1, and the earlier one FILE.2, up to `kept` of them; several processes may write to one file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Mapping

from stallkit import private
from stallkit.redact.redact import redact_all

TAIL = 65_536  # bytes at the end in which an event that may have been written is looked for
WRITTEN_S = 0.01  # a write of another process takes no longer: a line that is incomplete then was cut off
_SAFELY = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW  # opening a FIFO must not hang


def encode(value: Mapping[str, Any]) -> str:
    """One redacted line of ASCII: JSON escapes control characters, so that it is safe to show in a terminal."""
    return json.dumps(redact_all(dict(value)), ensure_ascii=True)


@contextmanager
def folder(path: str | Path, at: int | None = None, follow: bool = True) -> Iterator[int]:
    """A descriptor of an existing folder, within the folder `at`; `follow` a link or refuse it.  Raises OSError."""
    flags = os.O_RDONLY if not follow else getattr(os, "O_PATH", os.O_RDONLY)
    opened = os.open(path, flags | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW), dir_fd=at)
    try:
        yield opened
    finally:
        os.close(opened)


def append(at: int, name: str, line: str, *, max_bytes: int | None = None, kept: int = 1, trusted: bool = True) -> None:
    """Append a line to the file `name` in the folder `at`, readable by its owner alone.  Raises OSError.

    A file that would have more than `max_bytes` is rotated first; where that fails, the line is appended anyway.
    Where the folder is not `trusted`, it must be a plain file, and one that cannot be rotated takes no line.
    """
    data = line.encode() + b"\n"
    with _opened(at, name, trusted) as log:
        size = os.fstat(log).st_size
        full = max_bytes is not None and size > 0 and size + len(data) > max_bytes
        if not (full and _rotated(at, name, log, kept, trusted)):
            return _write(at, name, log, data)
    with _opened(at, name, trusted) as log:
        return _write(at, name, log, data)


def holds(path: str | Path, event: str) -> bool:
    """Whether the end of a file, or of the rotated one, has an event of this id; False if it cannot be read."""
    found = f'"id": {json.dumps(event)}'.encode()
    return any(found in _tail(name) for name in (str(path), f"{path}.1"))


@contextmanager
def _opened(at: int, name: str, trusted: bool) -> Iterator[int]:
    log = private.opened(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, at=at, special=trusted)
    try:
        yield log
    finally:
        os.close(log)


def _write(at: int, name: str, log: int, data: bytes) -> None:
    """Write with one call, so that writers do not mix; end a line first that a full disk cut off."""
    data = b"\n" + data if _torn(at, name, log) else data
    if os.write(log, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _torn(at: int, name: str, log: int) -> bool:
    """Whether the file ends in the middle of a line that no other process is writing now."""
    try:
        reader = os.open(name, os.O_RDONLY | _SAFELY, dir_fd=at)
    except OSError:
        return False
    try:
        sizes = []
        for _ in range(2):
            found = os.fstat(reader)
            sizes.append(found.st_size)
            if not os.path.samestat(found, os.fstat(log)) or not stat.S_ISREG(found.st_mode) or not sizes[-1]:
                return False
            if os.pread(reader, 1, sizes[-1] - 1) == b"\n":
                return False
            time.sleep(WRITTEN_S)
        return sizes[0] == sizes[1]
    finally:
        os.close(reader)


def _rotated(at: int, name: str, log: int, kept: int, trusted: bool) -> bool:
    """Rotate the files once, even if several processes try; False, without waiting, where another locks the file."""
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    try:
        if os.path.samestat(os.fstat(log), os.stat(name, dir_fd=at, follow_symlinks=False)):
            for number in range(kept, 1, -1):
                with suppress(FileNotFoundError):
                    os.replace(f"{name}.{number - 1}", f"{name}.{number}", src_dir_fd=at, dst_dir_fd=at)
            os.replace(name, f"{name}.1", src_dir_fd=at, dst_dir_fd=at)  # a link there is replaced, not followed
    except FileNotFoundError:
        pass  # another process rotated it, and none has written since
    except OSError:
        if not trusted:
            raise
        return False
    return True


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
