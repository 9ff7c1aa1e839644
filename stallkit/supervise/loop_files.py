"""The two files between a loop and its supervisor, in the loop's working directory.

A loop writes ``.auto-signal`` where an iteration begins; the supervisor writes ``.auto-stop`` where it gives up, and
goes on once a person has removed it.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from stallkit.core.redact import redact_all
from stallkit.errors import StoreError

__all__ = ["SIGNAL", "STOP", "working_directory", "signal_stamp", "stopped", "write_stop"]

SIGNAL, STOP = ".auto-signal", ".auto-stop"


def working_directory(pid: int | None) -> Path | None:
    """The working directory of a session's first process; None where it is unknown."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() if pid else None
    except OSError:
        return None


def signal_stamp(directory: Path) -> str | None:
    """The stamp of a signal, which changes with another file or a new write.  None where there is none."""
    try:
        found = (directory / SIGNAL).stat()
    except OSError:
        return None
    return f"{found.st_ino}:{found.st_mtime_ns}"


def stopped(directory: Path) -> bool:
    """Whether there is an ``.auto-stop``; also True where that cannot be read."""
    try:
        (directory / STOP).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def write_stop(directory: Path, reason: str, why: str, session: str) -> Path:
    """Write ``.auto-stop``, one line of JSON, redacted: whole or not at all.  Raises StoreError.

    The directory is the agent's: a link or a pipe in its place is neither followed nor written to.
    """
    stop, draft = directory / STOP, directory / f"{STOP}.{secrets.token_hex(8)}"
    facts = {"reason": reason, "why": why, "session": session, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(json.dumps(redact_all(facts)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(stop)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError("stop file", str(stop), error.strerror or str(error), "stop the loop by hand") from error
    return stop
