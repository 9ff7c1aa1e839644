"""Files that a program published of itself, read with care: regular, of its own user, and bounded; and ones for it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from stallkit import private
from stallkit.probes.procfs import PROC
from stallkit.signals.publisher import MAX_BYTES, Publisher
from stallkit.terminal.marks import plain

__all__ = ["one_line", "read_json", "tail_of", "write_own"]

_WORDS = 500  # characters of what is asked


def read_json(path: Path, publisher: Publisher) -> dict[str, Any] | None:
    """The object in a JSON file of the process's own user; None if there is none, or it is cut, or not its own."""
    data = _read(path, publisher, from_end=False)
    try:
        found = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def tail_of(path: Path, publisher: Publisher) -> list[str]:
    """The last whole lines of a file of the process's own user."""
    data = _read(path, publisher, from_end=True)
    return data.decode("utf-8", "replace").splitlines() if data else []


def one_line(text: object) -> str:
    """A program's text on one line, without control or invisible characters, cut to a length; "" for no text."""
    return plain(" ".join(text.split()))[:_WORDS] if isinstance(text, str) else ""


def write_own(path: Path, text: str) -> None:
    """Write a file that nobody but this user can read, in the folder of a start.  Raises OSError."""
    with os.fdopen(private.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: Path, publisher: Publisher, *, from_end: bool) -> bytes | None:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != Path(PROC, str(publisher.pid)).stat().st_uid:
            return None
        if found.st_size > MAX_BYTES and not from_end:
            return None
        skipped = max(0, found.st_size - MAX_BYTES)
        data = os.pread(opened, MAX_BYTES, skipped)
        return data.partition(b"\n")[2] if skipped else data
    except OSError:
        return None
    finally:
        os.close(opened)
