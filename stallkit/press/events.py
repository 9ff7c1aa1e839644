"""What happened, as one JSON line each: every detection, every dismissal, every decision not to.

All that is written passes the redactor; control characters are escaped by JSON itself, so that reading the log in a
terminal changes nothing there.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from stallkit.core.redact import redact_all
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import StoreError

__all__ = ["Event", "EventLog", "describe"]

VERSION = 1


@frozen
class Event:
    """One thing that happened to one target; `facts` are plain values."""

    name: str
    target: str
    facts: dict[str, Any]
    at: datetime = field(factory=lambda: datetime.now(UTC))  # the wall clock: for the record, never for an interval

    def to_json(self) -> str:
        """The event as one line of JSON, redacted, in ASCII."""
        head = {"version": VERSION, "time": self.at.isoformat(timespec="milliseconds"), "event": self.name}
        return json.dumps(redact_all({**head, "target": self.target, **self.facts}), ensure_ascii=True)


def describe(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values: state, certainty, kind, and which signature of which pack on which line."""
    match = verdict.match
    return {
        "state": str(verdict.state),
        "certainty": str(verdict.certainty),
        "kind": str(verdict.kind) if verdict.kind else None,
        "signature": match.signature.id if match else None,
        "pack": match.pack.name if match else None,
        "severity": str(match.signature.severity) if match else None,
        "line": match.line if match else None,
        "reasons": list(verdict.reasons),
    }


class EventLog:
    """A file that events are appended to, readable by its owner alone.

    With `max_bytes` a file that grew beyond them becomes ``FILE.1``, the one before it ``FILE.2``, up to `KEPT`.
    """

    ROTATED = 10_000_000  # bytes, where files are rotated: some 25,000 events
    KEPT = 5

    def __init__(self, path: Path, max_bytes: int | None = None) -> None:
        self.path, self.max_bytes = path, max_bytes
        self._torn = False

    def detection(self, verdict: Verdict, snapshot: Snapshot) -> None:
        """Record what a look at a session showed."""
        self.write(Event("detection", snapshot.target, {**describe(verdict), "foreground": snapshot.foreground}))

    def write(self, event: Event) -> None:
        """Append one line, whole: concurrent writers do not mix.  Raises StoreError where it cannot be written."""
        line = (event.to_json() + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(
                self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600
            )  # a FIFO must not hang it
            try:
                self._append(handle, line)
                if self.max_bytes is not None and os.fstat(handle).st_size > self.max_bytes:
                    with suppress(OSError):  # the line is written, and counts for more than the file's size
                        self._rotate(handle)
            finally:
                os.close(handle)
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreError("event log", str(self.path), why, "give another file with --log") from error

    def _append(self, handle: int, line: bytes) -> None:
        """Write it with one call; a line that a full disk cut off is ended before the next one."""
        line = b"\n" + line if self._torn else line
        written = os.write(handle, line)
        self._torn = written < len(line)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _rotate(self, handle: int) -> None:
        """Move the files on, once, whoever else writes to them; whoever holds the file for long is not waited for."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            if not os.path.samestat(os.fstat(handle), self.path.stat()):
                return  # somebody else did
        except FileNotFoundError:
            return
        for number in range(self.KEPT, 1, -1):
            older = self.path.with_name(f"{self.path.name}.{number - 1}")
            if older.exists():
                older.replace(self.path.with_name(f"{self.path.name}.{number}"))
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))
