"""One recording, written: events go in, with their times, and come out as lines of a file; and what it has besides.

That is markers, which are the truth, and facts, which are the kernel's.  A person sets a marker after seeing the
screen, so it is true of that screen: its interval begins with the last output before it.  If nothing was printed since
the previous marker, it begins at its own time; one with the same state then replaces the previous one, as the more
exact.
"""

from __future__ import annotations

import codecs
import json
import os
import time
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable, Sequence

from attrs import evolve, frozen

from stallkit import private
from stallkit.detect.signature import Kind, State
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import KernelFacts, TtyFacts
from stallkit.redact.redact import redact
from stallkit_lab.corpus_lines import Label
from stallkit_lab.record.asciicast import (
    EXIT,
    FACTS,
    LOST,
    MARKER,
    OUTPUT,
    RESIZE,
    Encoder,
    Event,
    Header,
    Problems,
    encode_header,
)
from stallkit_lab.record.mask import StreamMask

NO_TRUTH = State.UNKNOWN  # a marker that says: from here on the truth is unknown
LETTERS = {
    "w": State.WAITING,
    "k": State.WORKING,
    "i": State.IDLE,
    "q": State.QUOTA,
    "e": State.ENDED,
    "u": NO_TRUTH,
}
_FLAGS = ("listening", "stopped")
_TEXTS = ("foreground", "how", "relay", "through", "reader")
_HOW = ("read", "poll", "select", "epoll")


def read_marker(text: str) -> Label:
    """The label of a marker's text: ``waiting:confirm``, ``working``; None for ``unknown``.

    Raises ValueError for any other text.

    >>> read_marker("waiting:confirm").kind
    <Kind.CONFIRM: 'confirm'>
    """
    state, colon, kind = text.partition(":")
    if state not in tuple(State):
        raise ValueError(f"marker {text!r:.60} is unknown: use {', '.join(State)} or waiting:KIND")
    if not colon:
        return Label(State(state))
    if state != State.WAITING:
        raise ValueError(f"marker {text!r:.60}: only waiting has a kind")
    if kind not in tuple(Kind):
        raise ValueError(f"marker {text!r:.60}: {kind!r:.40} is not a kind: use {', '.join(Kind)}")
    return Label(State(state), Kind(kind))


def encode_marker(label: Label) -> str:
    """The text of a label's marker."""
    return f"{label.state}:{label.kind}" if label.kind else str(label.state)


def encode_facts(kernel: KernelFacts | None, tty: TtyFacts | None) -> str:
    """The known facts as a JSON object, without unknown ones.

    >>> encode_facts(KernelFacts(foreground="rm", listening=True, how="read"), TtyFacts(echo=True))
    '{"listening": true, "foreground": "rm", "how": "read", "echo": true}'
    """
    kernel, tty = kernel or KernelFacts(), tty or TtyFacts()
    told: dict[str, Any] = {name: getattr(kernel, name) for name in (*_FLAGS, *_TEXTS)}
    told |= {"echo": tty.echo, "canonical": tty.canonical}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def read_facts(text: str) -> tuple[KernelFacts, TtyFacts]:
    """The inverse of `encode_facts`; unknown keys are ignored.  Raises ValueError for anything else."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"facts that are not JSON: {text!r:.60}") from error
    if not isinstance(facts, dict):
        raise ValueError(f"facts that are not a JSON object: {text!r:.60}")
    for name in (*_FLAGS, "echo", "canonical"):
        if type(facts.get(name)) not in (bool, type(None)):
            raise ValueError(f"the fact {name} is {facts[name]!r:.40}, neither true nor false")
    for name in _TEXTS:
        if not isinstance(facts.get(name), str | None):
            raise ValueError(f"the fact {name} is {facts[name]!r:.40}, no text")
    if facts.get("how") not in (None, *_HOW):
        raise ValueError(f"the fact how is {facts['how']!r:.40}; {', '.join(_HOW)} are known")
    known: dict[str, Any] = {name: facts.get(name) for name in (*_FLAGS, *_TEXTS)}
    return KernelFacts(**known), TtyFacts(facts.get("echo"), facts.get("canonical"))


# --- from markers to the truth about every moment ---


@frozen
class Marker:
    """One marker as it was given, `at` seconds after the beginning; `label` is None if it is unknown."""

    at: float
    text: str
    label: Label | None
    line: int


@frozen
class Interval:
    """From `start` to `end`, in seconds, the label holds."""

    start: float
    end: float
    label: Label


@frozen
class Marked:
    """The markers of a recording and their intervals; `duration` is the time of its last event, in seconds."""

    markers: tuple[Marker, ...]
    intervals: tuple[Interval, ...]
    duration: float


def marked(events: Iterable[Event], problems: Problems) -> Marked:
    """Every marker and the intervals that they make; an unknown marker is a problem, and is ignored."""
    markers: list[Marker] = []
    starts: list[tuple[float, Label]] = []
    now, printed = 0.0, None
    for event in events:
        now = event.at
        if event.code == OUTPUT and event.data:
            printed = event.at
        elif event.code == MARKER:
            try:
                label = read_marker(event.data)
            except ValueError as error:
                problems.note(event.line, str(error), "correct the marker")
                markers.append(Marker(event.at, event.data, None, event.line))
                continue
            markers.append(Marker(event.at, event.data, label, event.line))
            if printed is None and starts and starts[-1][1].state is label.state:
                starts[-1] = (starts[-1][0], label)
            else:
                starts.append((event.at if printed is None else printed, label))
            printed = None
    ends = [start for start, _ in starts[1:]] + [now]
    pairs = zip(starts, ends, strict=True) if starts else ()
    found = [Interval(start, end, label) for (start, label), end in pairs]
    return Marked(tuple(markers), tuple(one for one in found if one.label.state is not NO_TRUTH), now)


def truth_at(intervals: Sequence[Interval], at: float) -> Interval | None:
    """The interval at a moment, or None; where two meet, the later one."""
    index = bisect_right(intervals, at, key=lambda one: one.start) - 1
    return intervals[index] if index >= 0 and at <= intervals[index].end else None


_LOOKS_S = (0.1, 0.25, 0.5, 1.0)  # after the last output, and every second from then on
_QUIET_S = 1.0  # without output: then held output is written, so that a killed recorder loses little


def new_file(path: Path, what: str, *, overwrite: bool) -> int:
    """A descriptor of a new file of the user's alone, as it may hold private text; to `overwrite` empties an old one.

    Raises StoreError, which names the file as `what` it is, if it cannot be made.
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
        """When to look for facts next, on the clock."""
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
        """Write what is left; `status` is the program's, None if it goes on, or its end is unknown."""
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
