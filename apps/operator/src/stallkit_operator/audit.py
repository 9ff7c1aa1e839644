"""Append-only logs of what a person changed, as JSON lines in a chain: no line is altered, removed or cut off unseen.

Each line has `n`, its number from 1, and `previous`, the SHA-256 of the line before it (64 zeros in the first).  The
chain does not protect its own end, so that a head file beside the log (``NAME.head``) has the number of lines, of bytes
and the hash of the last one.  The line is on the disk before its head: who is killed between the two leaves one line
more than the head knows, or a part of one.  The next writer ends such a part with a line end, says in its own line how
many bytes are torn (`torn`, a list: one for each such line), and chains on; nothing is ever removed.

    log = AuditLog(audit_dir() / "manifests.log")
    log.append({"event": "manifest_approved", "sandbox": "web", "diff": diff})
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator, Mapping

from attrs import asdict, field, frozen

from stallkit import private
from stallkit.errors import StoreError, UnknownName
from stallkit.jsonlog import encode

NOTHING = "0" * 64  # in place of the hash of a line before the first one
_OWN = frozenset({"version", "n", "time", "previous", "torn"})


@frozen
class Head:
    """How far a log goes: lines, bytes, and the SHA-256 of the last line."""

    lines: int = 0
    size: int = 0
    last: str = NOTHING


@frozen
class Finding:
    """What is wrong with a log, at which line (1-based)."""

    line: int
    why: str


@frozen
class Report:
    """What `verify` found; a log without findings is whole."""

    path: Path
    head: Head
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()  # what a writer left that was killed
    events: tuple[dict[str, Any], ...] = field(default=(), repr=False)  # of the lines that can be read


class AuditLog:
    """One log.  Several processes may append to it; the folder is made, and only its owner can read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, event: Mapping[str, Any]) -> Head:
        """Write one line, redacted: on return it is on the disk.

        `version`, `n`, `time`, `previous` and `torn` are the log's own.  Raises ValueError for an event that has one of
        them, StoreError if it cannot be written, or if the log was cut or altered at its end: then whatever
        needs the audit must not be done.
        """
        if taken := _OWN & event.keys():
            raise ValueError(f"an event has no {', '.join(sorted(taken))}: they are the log's own")
        try:
            private.folder(self.path.parent)
            with self._locked() as log:
                return self._append(log, event)
        except OSError as error:
            raise self._error(str(error), "check for free space and permission to write") from error

    def verify(self, known: tuple[int, str] | None = None) -> Report:
        """Read the log, and find each line that is altered, missing or cut off.

        `known` is the number and hash of a line that was noted elsewhere, as `stallkit sandbox audit verify` prints it.
        It finds a log that was written again from some line on, head and all.  Raises StoreError if it cannot be read.
        """
        try:
            with self._locked(write=False) as log:
                head = self._head()
                data = _read(log, 0)
        except FileNotFoundError as error:
            head = self._head()
            if head is None:
                raise UnknownName(
                    "audit log", str(self.path), "there is no such log", "see: stallkit sandbox audit show"
                ) from error
            return Report(self.path, Head(), (Finding(1, f"the log is missing: it had {head.lines} lines"),))
        except OSError as error:
            raise self._error(str(error), "check the name, and permission to read") from error
        if head is None:
            missing = (Finding(1, f"its head {self._head_path.name} is missing: lines may be cut off"),)
            return Report(self.path, Head(), missing if data else ())
        return _verified(self.path, head, data, known)

    def _append(self, log: int, event: Mapping[str, Any]) -> Head:
        size, head = os.fstat(log).st_size, self._head()
        if head is None:
            if size:
                raise self._damaged(f"it has {size} bytes, and no head")
            head = Head()
            self._write_head(head)
        if size < head.size:
            raise self._damaged(f"it was cut: {head.size - size} bytes are missing at its end")
        if head.lines and hashlib.sha256(_last_line(log, head.size)).hexdigest() != head.last:
            raise self._damaged(f"line {head.lines} is not as it was written")
        torn: list[int] = []
        cut = False
        for line in _lines(_read(log, head.size)):  # of writers that were killed before they wrote the head
            cut = not line.endswith(b"\n")
            torn = [*torn, len(line.removesuffix(b"\n"))] if _event(line) is None else []
            head = Head(head.lines + 1, head.size + len(line) + cut, _hash(line))
        now = datetime.now().astimezone().isoformat(timespec="milliseconds")
        own = {"version": 1, "n": head.lines + 1, "time": now, **({"torn": torn} if torn else {})}
        # The hash is put behind the redactor, to which it may look like a secret.
        line = encode({**own, **event}).encode()[:-1] + b', "previous": "' + head.last.encode() + b'"}\n'
        _write(log, b"\n" + line if cut else line)
        head = Head(head.lines + 1, head.size + len(line), _hash(line))
        self._write_head(head)
        return head

    @contextmanager
    def _locked(self, write: bool = True) -> Iterator[int]:
        """The open log, with nobody else writing it; made if it must be written."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if write else os.O_RDONLY
        while True:
            log = private.opened(self.path, flags)
            try:
                fcntl.flock(log, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
                if _is_there(log, self.path):  # else it was moved away while this waited
                    yield log
                    return
            finally:
                os.close(log)

    @property
    def _head_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.head")

    def _head(self) -> Head | None:
        try:
            with os.fdopen(private.opened(self._head_path, os.O_RDONLY), "rb") as file:
                return Head(**json.loads(file.read()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise self._damaged(f"its head {self._head_path.name} cannot be read") from error

    def _write_head(self, head: Head) -> None:
        new = self._head_path.with_name(f".{self._head_path.name}.new")
        handle = private.opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            _write(handle, json.dumps(asdict(head)).encode() + b"\n")
        finally:
            os.close(handle)
        new.replace(self._head_path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _damaged(self, why: str) -> StoreError:
        return self._error(why, f"see: stallkit sandbox audit verify {self.path}; then move it and its head away")

    def _error(self, why: str, todo: str) -> StoreError:
        return StoreError("audit log", str(self.path), why, todo)


def _verified(path: Path, head: Head, data: bytes, known: tuple[int, str] | None) -> Report:
    findings: list[Finding] = []
    notes: list[str] = []
    events: list[dict[str, Any]] = []
    unread: list[tuple[int, int]] = []  # numbers and lengths of the lines above that are no events
    hashes, at = [NOTHING], 0
    for number, line in enumerate(_lines(data), 1):
        event, at = _event(line), at + len(line)
        if event is None:
            unread.append((number, len(line.removesuffix(b"\n"))))
        else:
            if event.get("torn", []) == [length for _, length in unread]:
                notes += [f"line {one} is torn: its writer was killed, line {number} says so" for one, _ in unread]
            else:
                findings += [Finding(one, _UNREAD) for one, _ in unread] or [Finding(number, _NOT_TORN)]
            findings += [Finding(number, why) for why in _wrong(event, number, hashes[-1])]
            events.append(event)
            unread = []
        hashes.append(_hash(line))
    for number, _ in unread:
        if number > head.lines:
            notes.append(f"line {number} is torn: its writer was killed")
        else:
            findings.append(Finding(number, _UNREAD))
    findings += _at_head(head, hashes, len(data), notes)
    if known is not None and (known[0] >= len(hashes) or hashes[known[0]] != known[1]):
        findings.append(Finding(known[0], "it is not the line that was noted: the log was written anew"))
    found = Head(len(hashes) - 1, len(data), hashes[-1])
    return Report(path, found, tuple(sorted(findings, key=lambda one: one.line)), tuple(notes), tuple(events))


_UNREAD = "it was altered: no event can be read"
_NOT_TORN = "it names torn lines that do not exist"


def _wrong(event: Mapping[str, Any], number: int, previous: str) -> Iterator[str]:
    if event.get("n") != number:
        yield f"it has the number {event.get('n')}: lines are missing, or were moved"
    if event.get("previous") != previous:
        before = f"line {number - 1} is" if number > 1 else "lines before it are"
        yield f"it does not follow the line above: {before} altered or missing"


def _at_head(head: Head, hashes: list[str], size: int, notes: list[str]) -> Iterator[Finding]:
    """What the head says of the end of the log; `hashes` begins with that of no line."""
    lines = len(hashes) - 1
    if size < head.size or lines < head.lines:
        missing, cut = max(head.lines - lines, 0), max(head.size - size, 0)
        yield Finding(lines + bool(missing), f"cut off: {missing} lines, {cut} bytes are missing at the end")
    elif hashes[head.lines] != head.last:
        yield Finding(head.lines, "it was altered: its hash is not that of the head")
    elif lines > head.lines:
        notes.append(f"the head knows {head.lines} of {lines} lines: a writer was killed")


def _lines(data: bytes) -> list[bytes]:
    """With their ends; the last one may have none."""
    *whole, rest = data.split(b"\n")
    return [*(line + b"\n" for line in whole), *([rest] if rest else [])]


def _event(line: bytes) -> dict[str, Any] | None:
    """What a line says; None if it is torn, or was altered."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _hash(line: bytes) -> str:
    """Of a line, without its end."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()


def _last_line(log: int, size: int) -> bytes:
    """The line that ends at `size`, without its end."""
    data, step = b"", 4_096
    while len(data) < size and b"\n" not in data[:-1]:
        step *= 2
        data = os.pread(log, min(step, size), max(0, size - step))
    return data.removesuffix(b"\n").rpartition(b"\n")[2]


def _read(log: int, start: int) -> bytes:
    parts = []
    while part := os.pread(log, 1 << 20, start):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write(handle: int, data: bytes) -> None:
    """All of it, on the disk."""
    while data:
        data = data[os.write(handle, data) :]
    os.fsync(handle)


def _is_there(log: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(log), path.lstat())
    except FileNotFoundError:
        return False
