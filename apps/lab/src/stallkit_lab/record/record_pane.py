"""A tmux pane recorded as it is: its output is piped through `pane_writer`, and its program does not notice.

The screen at the beginning, from a capture in the same call of tmux, is the first output.  A pane has one pipe: where
the user has one already, it stays, and nothing is recorded.
"""

from __future__ import annotations

import os
import select
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Iterator

from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.tmux.format import Frame, lines_of, wraps
from stallkit.transports.tmux.pane import TmuxTransport, pipe_into
from stallkit_lab.record import pane_writer
from stallkit_lab.record.marking import Listener
from stallkit_lab.record.recorder import signals
from stallkit_lab.record.recording import RecordingWriter

_WRITER = Path(pane_writer.__file__)
_START_S = 20.0  # for the pane writer to report that it runs: Python's start on a loaded machine
_LOOK_S = 1.0  # between two looks at a pane that prints all the time: it may have been resized, or have ended
_PAUSE_S = 0.05
_FIELDS = ("pane_pipe", "pane_width", "pane_height", "cursor_x", "cursor_y", "cursor_flag", "alternate_on")
_FORMAT = ",".join(f"#{{{name}}}" for name in _FIELDS)


class PaneRecorder(TmuxTransport):
    """One pane, ready to be recorded; a context manager.  Raises the errors of a look at the pane."""

    def __init__(self, target: str, options: Options) -> None:
        super().__init__(target.removeprefix("tmux:"), options)
        self._folder = tempfile.mkdtemp(prefix="stallkit-")
        self._from = -1
        self._rest = b""
        self._over = self._stale = False  # stale: output was lost, and the screen differs from the recording

    def __enter__(self) -> PaneRecorder:
        try:
            seen = self.capture()
            assert seen.screen.size is not None  # tmux always gives it
            self.size = (seen.screen.size.columns, seen.screen.size.rows)
            self.title = seen.screen.title
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._from >= 0 and not self._over:
            with suppress(TransportError):  # the pane writer ends with its listener in any case
                self._run(["pipe-pane", "-t", self._at])
        if self._from >= 0:
            os.close(self._from)
            self._from = -1
        shutil.rmtree(self._folder, ignore_errors=True)
        self.close()

    def record(
        self, recording: RecordingWriter, *, for_s: float | None = None, listener: Listener | None = None
    ) -> int | None:
        """Record the pane until it or its session ends; return the program's exit status where tmux knows it.

        Raises TransportError where its output is piped elsewhere already, `Interrupted` or KeyboardInterrupt at a
        signal to end.
        """
        with signals(False):
            self._begin(recording)
            deadline = time.monotonic() + (1e9 if for_s is None else for_s)
            look_at = time.monotonic()
            while not self._over and time.monotonic() < deadline:
                due = min(
                    deadline, max(look_at, recording.look_at) if recording.look_at > time.monotonic() else look_at
                )
                self._wait(recording, listener, due)
                now = time.monotonic()
                if now >= due and now < deadline:
                    look_at = now + _LOOK_S
                    try:
                        status, alive = self._look(recording)
                    except SessionGone:
                        break
                    except CaptureTimeout:  # the pipe goes on
                        continue
                    recording.looked()
                    if not alive:
                        self._drain(recording)
                        return self._status() if status is None else status
            return self._status() if self._over else None

    def _status(self) -> int | None:
        """The exit status of a program that ended, or is about to: tmux gets it later, or never."""
        deadline = time.monotonic() + DEADLINE_S
        with suppress(TransportError):
            while time.monotonic() < deadline:
                if (status := self.capture().exit_status) is not None:
                    return status
                time.sleep(_PAUSE_S)
        return None

    def _begin(self, recording: RecordingWriter) -> None:
        fifo = str(Path(self._folder, "output"))
        os.mkfifo(fifo, 0o600)
        self._from = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._draw(recording, [pipe_into(self._at, _WRITER, fifo)])
        self._await_tap(recording)

    def _draw(self, recording: RecordingWriter, first: list[list[str]]) -> None:
        """Write the present screen, captured in the same call of tmux that runs `first`."""
        frame, at = Frame(), ["-p", "-t", self._at]
        answer = self._run(
            ["display-message", *at, frame.line(_FORMAT)],
            *first,
            ["capture-pane", *at, "-N"],
            ["capture-pane", *at, "-J"],
            frame.end,
            ["capture-pane", *at, "-e", "-N"],
            frame.end,
        )
        try:
            numbers, captured, styled = frame.parts(answer)
            values = dict(zip(_FIELDS, map(int, numbers.split(",")), strict=True))
        except ValueError as error:
            raise TransportError(self.target, str(error), "run tmux by hand to check it") from error
        if first and values["pane_pipe"]:
            self._over = True  # not ours to remove
            why = "its output is piped elsewhere already"
            raise TransportError(self.target, why, f"end that first: tmux pipe-pane -t {self._at}")
        height = values["pane_height"]
        lines = lines_of(captured)
        plain, joined = lines[:height], lines[height:]
        if (values["pane_width"], height) != self.size:
            self.size = (values["pane_width"], height)
            recording.resize(*self.size)
        recording.output(drawn(values, lines_of(styled), wraps(plain, joined)).encode("utf-8", "replace"))

    def _await_tap(self, recording: RecordingWriter) -> None:
        """Wait for the pane writer: the FIFO reads as ended until that has opened it."""
        deadline = time.monotonic() + _START_S
        while not self._rest:
            if time.monotonic() >= deadline:
                raise TransportError(self.target, "tmux did not start the pane writer", "try again")
            with suppress(BlockingIOError):
                self._rest = os.read(self._from, pane_writer.CHUNK)
            if not self._rest:
                time.sleep(0.01)
        shutil.rmtree(self._folder, ignore_errors=True)  # both ends are open, so the folder can go now
        self._take_frames(recording)

    def _wait(self, recording: RecordingWriter, listener: Listener | None, due: float) -> None:
        ready = select.poll()
        ready.register(self._from, select.POLLIN)
        if listener is not None:
            ready.register(listener, select.POLLIN)
        for descriptor, _ in ready.poll(min(max(0.0, due - time.monotonic()), DEADLINE_S) * 1_000):
            if descriptor == self._from:
                self._read(recording)
            else:
                assert listener is not None
                listener.ready()

    def _read(self, recording: RecordingWriter) -> bool:
        """Read what there is; False where there is nothing."""
        try:
            data = os.read(self._from, 1 << 20)
        except BlockingIOError:
            return False
        self._over = not data
        self._rest += data
        self._take_frames(recording)
        return bool(data)

    def _drain(self, recording: RecordingWriter) -> None:
        """Read the last output, which may still be on its way."""
        deadline = time.monotonic() + DEADLINE_S
        while not self._over and time.monotonic() < deadline:
            self._wait(recording, None, time.monotonic() + 0.1)
            if not self._read(recording):
                return

    def _take_frames(self, recording: RecordingWriter) -> None:
        for kind, at, count, data in self._frames():
            if kind == b"l":
                recording.lost(count, at)
                self._stale = True
            elif data:
                recording.output(data, at)

    def _frames(self) -> Iterator[tuple[bytes, float, int, bytes]]:
        head = pane_writer.HEAD
        while len(self._rest) >= head.size:
            kind, at, count = head.unpack_from(self._rest)
            end = head.size + (count if kind == b"o" else 0)
            if len(self._rest) < end:
                return
            data, self._rest = self._rest[head.size : end], self._rest[end:]
            yield kind, at, count, data

    def _look(self, recording: RecordingWriter) -> tuple[int | None, bool]:
        seen = self.capture()
        size = seen.screen.size
        if size is not None and (size.columns, size.rows) != self.size:
            self.size = (size.columns, size.rows)
            recording.resize(*self.size)
        if seen.alive is False:
            return seen.exit_status, False
        if not self._read(recording) and self._stale:
            self._stale = False
            self._draw(recording, [])
        if time.monotonic() >= recording.look_at:
            recording.facts(seen.kernel, seen.tty)
        return None, True


def drawn(values: dict[str, int], rows: list[str], wraps: list[bool]) -> str:
    """The bytes that draw a captured screen, row by row, its wrapped rows wrapped by the terminal itself."""
    parts = ["\x1b[?1049h" if values["alternate_on"] else "", "\x1b[H\x1b[2J"]
    for number, (row, goes_on) in enumerate(zip(rows, wraps, strict=True)):
        parts += [row, "" if goes_on or number == len(rows) - 1 else "\x1b[m\r\n"]
    parts.append(f"\x1b[m\x1b[{values['cursor_y'] + 1};{values['cursor_x'] + 1}H")
    parts.append("" if values["cursor_flag"] else "\x1b[?25l")
    return "".join(parts)
