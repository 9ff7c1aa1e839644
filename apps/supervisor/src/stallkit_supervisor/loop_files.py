"""The two files between a loop and its supervisor, in the loop's working directory.

A loop writes ``.auto-signal`` where an iteration begins; the supervisor writes ``.auto-stop`` where it gives up.  That
file only tells the loop: whoever can write there can remove it, so a halt is in the store.  One that somebody else
wrote holds the loop's keys while it is there.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Iterable

from stallkit.errors import StoreError
from stallkit.redact.redact import redact_all
from stallkit_supervisor.store import Store

SIGNAL, STOP = ".auto-signal", ".auto-stop"
ROOM = 4_096  # bytes of an .auto-stop: ours has some 200


def working_directory(pid: int | None) -> Path | None:
    """The working directory of a session's first process; None if it is unknown."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() if pid else None
    except OSError:
        return None


def signal_stamp(directory: Path) -> str | None:
    """The stamp of a signal, which changes with another file or a new write.  None if there is none."""
    try:
        found = os.stat(f"{directory}/{SIGNAL}")  # noqa: PTH116  # at every beat of every session: a Path takes twice as long
    except OSError:
        return None
    return f"{found.st_ino}:{found.st_mtime_ns}"


def stopped(directory: Path) -> bool:
    """Whether there is an ``.auto-stop``; also True if that cannot be read."""
    try:
        os.lstat(f"{directory}/{STOP}")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def held(directories: Iterable[Path], session: str, store: Store | None) -> Path | None:
    """The ``.auto-stop`` that holds a session's keys, in one of these directories; None if there is none.

    Only one that the store knows as another session's halt, in a directory that both share, does not hold this one.
    """
    for directory in directories:
        if stopped(directory) and not _is_anothers(directory, session, store):
            return directory / STOP
    return None


def _is_anothers(directory: Path, session: str, store: Store | None) -> bool:
    other = _written_for(directory)
    if store is None or other is None or other == redact_all(session):
        return False
    try:
        return store.halted(other) is not None and store.stop_file(other) == str(directory / STOP)
    except StoreError:
        return False


def release(store: Store, session: str) -> tuple[str, Path | None] | None:
    """Lift a session's halt, and remove the ``.auto-stop`` that was written for it: what a person orders.

    Returns why it was halted, and an ``.auto-stop`` of somebody else that holds it anyway; None if it was not
    halted.  Raises StoreError, and lifts nothing, if the file or the store cannot be written.
    """
    why, last, file = store.halted(session), store.last(session), store.stop_file(session)
    if why is None and last is not None and last.outcome in (None, "unknown"):
        why = "a press with an unknown outcome"
    if why is None:
        return None
    stop = Path(file) if file else None
    if stop is not None and _written_for(stop.parent) == redact_all(session):
        try:
            stop.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError("stop file", str(stop), error.strerror or str(error), "remove it by hand") from error
    store.halt(session, None)
    return why, held(filter(None, (stop and stop.parent, store.home(session))), session, store)


def _written_for(directory: Path) -> str | None:
    """The session, redacted, that an ``.auto-stop`` in our form and of our user names; None if it is no such file.

    A link is not followed, and a pipe not waited for.
    """
    try:
        handle = os.open(directory / STOP, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        facts = json.loads(os.read(handle, ROOM)) if ours else None
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(handle)
    named = facts.get("session") if isinstance(facts, dict) else None
    return named if isinstance(named, str) else None


def write_stop(directory: Path, reason: str, why: str, session: str) -> Path:
    """Write ``.auto-stop``, one line of JSON, redacted: whole or not at all.  Raises StoreError.

    The directory is the agent's: a link or a pipe in its place is neither followed nor written to.  One that somebody
    else wrote is kept, since it holds the loop beyond this halt.
    """
    if stopped(directory) and _written_for(directory) != redact_all(session):
        why = "there is one that was not written for this halt"
        raise StoreError("stop file", str(directory / STOP), why, "stop the loop by hand")
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
