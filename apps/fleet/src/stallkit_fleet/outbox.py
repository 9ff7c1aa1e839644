"""The event log as an outbox: what was not sent yet, in order, and a mark of how far it was sent, kept on the disk.

The log is what the supervisor writes in any case (`stallkit.press.events`), with the files that it was rotated into.
The mark names a file by a hash of its first line, so a rotation in between loses nothing.  Events are counted from the
first that was ever sent: what is sent again after a kill -9 has the same number, and so the same id.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Iterator, Mapping, Self

from attrs import asdict, evolve, frozen

from stallkit import private
from stallkit.press.events import EventLog
from stallkit_fleet.messages import FleetEvent, shortened

SETTLED_S = 1.0  # after the last write to a file that was rotated
LINE = 16_000_000  # of one line: a longer one is skipped


@frozen
class Mark:
    """How far the log was sent: into which file, how many bytes of it, and how many events in all."""

    epoch: str
    file: str = ""  # "": nothing was sent yet, of any
    offset: int = 0
    sequence: int = 0
    lost: int = 0  # files that were rotated away before they were sent

    @classmethod
    def new(cls) -> Self:
        return cls(secrets.token_hex(6))


@frozen
class Pending:
    """An event that must be sent, and the mark once it and all before it are."""

    event: FleetEvent
    then: Mark


class Outbox:
    """Reads a log from its mark on; `read` goes on where the last one ended, `sent` keeps the mark on the disk."""

    def __init__(self, log: Path, folder: Path, host: str) -> None:
        self.log, self.host = log, host
        self._at = folder / f"sent-{hashlib.sha256(os.fsencode(log.absolute())).hexdigest()[:12]}.json"
        self.mark = self._ahead = self._kept() or Mark.new()  # sent; read, perhaps not sent
        self._at_end: tuple[int, int] | None = None  # file and size of the log, once all of it was read

    @contextmanager
    def only(self) -> Iterator[bool]:
        """Be the only one who sends this log, while the context lasts; False if another process does."""
        private.folder(self._at.parent)
        handle = private.opened(self._at.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            yield False
            return
        try:
            self.sent(self._kept() or self._begun())
            self.again()
            yield True
        finally:
            os.close(handle)

    def again(self) -> None:
        """Read again what was not sent."""
        self._ahead, self._at_end = self.mark, None

    def sent(self, mark: Mark) -> None:
        """All up to this mark was sent.  Raises OSError if that cannot be kept: then it is sent again, later."""
        self.mark = mark
        new = self._at.with_suffix(".new")
        with os.fdopen(private.opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as out:
            json.dump(asdict(mark), out)
        new.replace(self._at)

    def read(self, most: int = 500) -> list[Pending]:
        """The next events that were not read yet, `most` at a time.  Raises OSError."""
        found, size = list[Pending](), _size(self.log)
        if size is not None and size == self._at_end:
            return found
        with self._files() as files:
            names = [name for name, _ in files]
            if files and self._ahead.file not in names:
                lost = self._ahead.lost + bool(self._ahead.file)
                self._ahead = evolve(self._ahead, file=names[0], offset=0, lost=lost)
            for at in range(names.index(self._ahead.file) if files else 0, len(files)):
                if names[at] != self._ahead.file:
                    self._ahead = evolve(self._ahead, file=names[at], offset=0)
                self._lines(files[at][1], most, found)
                if len(found) >= most or at + 1 == len(files) or _may_grow(files[at][1]):
                    self._at_end = size if not found and at + 1 == len(files) else None
                    break
        return found

    @property
    def behind(self) -> int:
        """Bytes of the log that were not sent."""
        with self._files() as files:
            names = [name for name, _ in files]
            known = self.mark.file in names
            sizes = [
                os.fstat(file.fileno()).st_size for _, file in files[names.index(self.mark.file) if known else 0 :]
            ]
        return max(0, sum(sizes) - (self.mark.offset if known else 0))

    def _lines(self, file: IO[bytes], most: int, found: list[Pending]) -> None:
        """Read whole lines of one file, to its end or until there are `most` events."""
        if os.fstat(file.fileno()).st_size < self._ahead.offset:  # somebody emptied it
            self._ahead = evolve(self._ahead, offset=0, lost=self._ahead.lost + 1)
        file.seek(self._ahead.offset)
        skips = False
        while len(found) < most and (line := file.readline(LINE)):
            whole = line.endswith(b"\n")
            if not whole and len(line) < LINE:
                break  # it is being written
            event = _event(line) if whole and not skips else None
            number = self._ahead.sequence + (event is not None)
            self._ahead = evolve(self._ahead, offset=self._ahead.offset + len(line), sequence=number)
            if event is not None:
                found.append(Pending(FleetEvent(self.host, self._ahead.epoch, number, event), self._ahead))
            skips = not whole

    @contextmanager
    def _files(self) -> Iterator[list[tuple[str, IO[bytes]]]]:
        """The files of the log, the oldest first, each with a hash of its first line; one without a line is left out.

        The newest is opened first: a rotation meanwhile hides none, and one that is met twice is the same file.
        """
        found: dict[str, IO[bytes]] = {}
        with ExitStack() as stack:
            for path in [self.log, *(Path(f"{self.log}.{number}") for number in range(1, EventLog.KEPT + 1))]:
                with suppress(FileNotFoundError):
                    file = stack.enter_context(path.open("rb"))
                    if (first := file.readline(LINE)).endswith(b"\n"):
                        found.setdefault(hashlib.sha256(first).hexdigest()[:16], file)
            yield list(reversed(found.items()))

    def _begun(self) -> Mark:
        """A mark at the end of the log as it is: what was written before this host joined is not sent."""
        with self._files() as files:
            if not files:
                return Mark.new()
            name, file = files[-1]
            return evolve(Mark.new(), file=name, offset=os.fstat(file.fileno()).st_size)

    def _kept(self) -> Mark | None:
        with suppress(OSError, ValueError, TypeError):
            return Mark(**json.loads(private.content(self._at)))
        return None


def _size(log: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = log.stat()
        return found.st_ino, found.st_size
    return None


def _may_grow(file: IO[bytes]) -> bool:
    """Whether a writer that opened it before it was rotated may still add a line."""
    return abs(time.time() - os.fstat(file.fileno()).st_mtime) < SETTLED_S  # of a clock that was set back, too


def _event(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return shortened(found, len(line)) if isinstance(found, dict) and isinstance(found.get("event"), str) else None
