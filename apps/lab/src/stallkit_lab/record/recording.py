"""Writing one recording: events go in, with their times, and come out as lines of a file."""

from __future__ import annotations

import codecs
import os
import time
from contextlib import suppress
from pathlib import Path

from attrs import evolve

from stallkit import private
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import KernelFacts, TtyFacts
from stallkit.redact.redact import redact
from stallkit_lab.record.asciicast import EXIT, FACTS, LOST, MARKER, OUTPUT, RESIZE, Encoder, Header, encode_header
from stallkit_lab.record.mask import StreamMask
from stallkit_lab.record.notes import encode_facts

_LOOKS_S = (0.1, 0.25, 0.5, 1.0)  # after the last output, and every second from then on
_QUIET_S = 1.0  # without output: then held output is written, so that a killed recorder loses little


def new_file(path: Path, what: str, *, overwrite: bool) -> int:
    """A descriptor of a new file of the user's alone, as it may hold private text; to `overwrite` empties an old one.

    Raises StoreError, which names the file as `what` it is, where it cannot be made.
    """
    try:
        return private.opened(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL))
    except OSError as error:
        todo = "name another, or give --overwrite" if isinstance(error, FileExistsError) else "name another"
        raise StoreError(what, str(path), error.strerror or str(error), todo) from error


class RecordingWriter:
    """Writes one recording; raises StoreError where its file cannot be made, or written.

    Times are seconds of the monotonic clock.  Typed text is never written: a secret that is not shown is not in it.
    """

    def __init__(self, path: Path, header: Header, *, redacts: bool = True, overwrite: bool = False) -> None:
        opened = new_file(path, "recording", overwrite=overwrite)
        self._file = os.fdopen(opened, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
        self._encoder = Encoder(header.version)
        self._mask = StreamMask() if redacts else None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.began = self._printed = time.monotonic()
        self._noted = ""
        self._looks = 0
        self._waiting = False  # held output may be due
        self.path, self.markers, self.lost_bytes = path, 0, 0
        self.empty = True  # nothing was printed
        if redacts:
            header = evolve(header, command=header.command and redact(header.command))
            header = evolve(header, title=header.title and redact(header.title))
        self._put(encode_header(header))
        self._flush()

    @property
    def seconds(self) -> float:
        """Its length so far."""
        return time.monotonic() - self.began

    def output(self, data: bytes, at: float | None = None) -> None:
        """Take output of the program, cut anywhere."""
        text = self._decoder.decode(data)
        if text:
            self.empty = False
            self._printed = time.monotonic() if at is None else at
            self._looks, self._noted = 0, ""
            self._event(OUTPUT, text, self._printed)

    def marker(self, text: str) -> float:
        """Set the truth from now on; return the time within the recording."""
        self.markers += 1
        now = time.monotonic()
        self._event(MARKER, redact(text) if self._mask else text, now)
        return round(now - self.began, 3)

    def facts(self, kernel: KernelFacts | None, tty: TtyFacts | None) -> None:
        """Note the kernel's facts while the screen rests; unchanged ones are not written again."""
        told = encode_facts(kernel, tty)
        if told not in ("{}", self._noted):
            self._noted = told
            self._event(FACTS, told, time.monotonic())

    def resize(self, columns: int, rows: int) -> None:
        """Note a new size of the terminal, in cells."""
        self._event(RESIZE, f"{columns}x{rows}", time.monotonic())

    def lost(self, count: int, at: float | None = None) -> None:
        """Note that this many bytes of output are missing here."""
        self.lost_bytes += count
        self._event(LOST, str(count), at)

    @property
    def look_at(self) -> float:
        """The time when facts are due, on the clock."""
        extra = max(0, self._looks - len(_LOOKS_S) + 1)
        return self._printed + _LOOKS_S[min(self._looks, len(_LOOKS_S) - 1)] + extra

    def looked(self) -> None:
        """Facts were taken; also write held output."""
        now = time.monotonic()
        while self.look_at <= now:
            self._looks += 1
        if self._waiting and now - self._printed >= _QUIET_S:
            self._waiting = False
            for event in self._mask.settled() if self._mask else ():
                self._write(*event)
            self._flush()

    def close(self, exit_status: int | None = None) -> None:
        """Write what is left; `status` is the program's, None where it goes on, or its end is unknown."""
        try:
            self._end(exit_status)
            self._flush()
        finally:
            with suppress(OSError):  # it was reported already
                self._file.close()

    def _end(self, exit_status: int | None) -> None:
        rest = self._decoder.decode(b"", final=True)
        if rest:
            self._event(OUTPUT, rest, time.monotonic())
        if exit_status is None:
            self._event(FACTS, self._noted or "{}")  # gives the duration of the last screen
        else:
            self._event(EXIT, str(exit_status))
        for event in self._mask.flush() if self._mask else ():
            self._write(*event)

    def _event(self, code: str, data: str, at: float | None = None) -> None:
        self._waiting = True
        at = (time.monotonic() if at is None else at) - self.began
        for event in self._mask.feed(at, code, data) if self._mask else ((at, code, data),):
            self._write(*event)

    def _write(self, at: float, code: str, data: str) -> None:
        self._put(self._encoder.line(at, code, data))

    def _put(self, line: str) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            raise self._unwritten(error) from error

    def _flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> StoreError:
        why, todo = error.strerror or str(error), "what was written before is kept; check disk space"
        return StoreError("recording", str(self.path), why, todo)
