"""A command recorded on a terminal of its own, or a tmux pane recorded as it is.

A person's keyboard and screen are passed through to the command.  The output of a pane is piped through `pane_writer`,
and its program does not notice.  The screen at the beginning, from a capture in the same call of tmux, is the first
output.  A pane has one pipe: if the user has one already, it stays, and nothing is recorded.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
import termios
import time
import tty
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Callable, Iterator, Sequence

from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.terminal.screen import Screen
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.emulator import Emulator
from stallkit.transports.pty import PtyTransport
from stallkit.transports.tmux.format import Frame, lines_of, wraps
from stallkit.transports.tmux.pane import TmuxTransport, pipe_into
from stallkit_lab.record import pane_writer
from stallkit_lab.record.marking import Listener, MarkKeys
from stallkit_lab.record.recording import RecordingWriter

_CHUNK = 65_536
_GRACE_S = 1.0  # for output of the program's children, once it ended
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal ended the recorder; what was recorded is kept."""


def terminal_size() -> tuple[int, int]:
    """Columns and rows of the caller's own terminal; 80 and 24 where there is none."""
    for descriptor in (0, 1, 2):
        with suppress(OSError, ValueError):
            size = os.get_terminal_size(descriptor)
            if size.columns and size.lines:
                return size.columns, size.lines
    return 80, 24


def record_program(
    command: Sequence[str],
    recording: RecordingWriter,
    *,
    size: tuple[int, int],
    keys: MarkKeys | None = None,
    follows: bool = True,
    for_s: float | None = None,
    listener: Listener | None = None,
) -> int | None:
    """Run a command until it ends and record it; return its exit status, None if it was ended here.

    `keys` passes a person's keyboard and screen through, descriptors 0 and 1, which must be terminals; `follows` takes
    over changes of the window's size.  Without `keys` there is no input, and an emulator answers the program's queries.
    `for_s` ends it after that many seconds.  Raises TransportError if the command cannot be started, and
    `Interrupted` or KeyboardInterrupt at a signal to end.
    """
    emulator: Emulator | None = None if keys is None else _Nothing()
    with ExitStack() as stack:
        wake = stack.enter_context(signals(follows and keys is not None))
        terminal = PtyTransport.spawn(command, size=size, emulator=emulator)
        stack.callback(terminal.close)
        if keys is not None:
            stack.enter_context(_raw(0))
            terminal.on_output = _both(recording)
        else:
            terminal.on_output = recording.output
        running = _Recording(terminal, recording, keys, listener, wake)
        deadline = None if for_s is None else recording.began + for_s
        while not running.over and (deadline is None or time.monotonic() < deadline):
            running.step(deadline)
        return terminal.exit_status


class _Recording:
    """The work of the recorder between two events."""

    def __init__(
        self,
        terminal: PtyTransport,
        recording: RecordingWriter,
        keys: MarkKeys | None,
        listener: Listener | None,
        wake: int,
    ) -> None:
        self._terminal, self._recording = terminal, recording
        self._keys, self._listener, self._wake = keys, listener, wake
        self._typed = bytearray()  # input that the program did not read yet
        self._keyboard = keys is not None
        self._ended_at: float | None = None

    @property
    def over(self) -> bool:
        """Whether the program ended, and its output as well; background processes are not waited for."""
        if self._terminal.exit_status is None:
            return False
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            self._terminal.pump()
        return self._terminal.hung_up or time.monotonic() - self._ended_at >= _GRACE_S

    def step(self, deadline: float | None) -> None:
        """Wait for an event, and handle it."""
        ready = select.poll()
        master = self._terminal.fileno()
        ready.register(self._wake, select.POLLIN)
        if not self._terminal.hung_up:
            ready.register(master, select.POLLIN | (select.POLLOUT if self._typed else 0))
        if self._keyboard:
            ready.register(0, select.POLLIN)
        if self._listener is not None:
            ready.register(self._listener, select.POLLIN)
        until = min(
            filter(None, (self._recording.look_at, deadline, time.monotonic() + 0.1 if self._closing else None))
        )
        for descriptor, events in ready.poll(max(0.0, until - time.monotonic()) * 1_000):
            if descriptor == self._wake:
                os.read(self._wake, _CHUNK)
                self._resize()
            elif descriptor == 0:
                self._type()
            elif descriptor != master:
                assert self._listener is not None
                self._listener.ready()
            elif events & ~select.POLLOUT:
                self._terminal.pump()
        self._send()
        if time.monotonic() >= self._recording.look_at:
            self._look()

    @property
    def _closing(self) -> bool:
        return self._terminal.hung_up or self._ended_at is not None

    def _look(self) -> None:
        with suppress(SessionGone):
            seen = self._terminal.capture()  # reads all output first
            if time.monotonic() >= self._recording.look_at and seen.alive:
                self._recording.facts(seen.kernel, seen.tty)
        self._recording.looked()

    def _resize(self) -> None:
        if self._keyboard:
            size = terminal_size()
            with suppress(ValueError):  # a window without a size
                self._terminal.resize(*size)
                self._recording.resize(*size)

    def _type(self) -> None:
        assert self._keys is not None
        try:
            data = os.read(0, _CHUNK)
        except OSError:
            data = b""
        if not data:  # the person's terminal is gone
            raise Interrupted
        typed = self._keys.feed(data)
        self._typed += typed.passed
        for state in typed.marked:
            self._recording.marker(state)
        if typed.refused:
            _write(1, b"\a")

    def _send(self) -> None:
        """Pass on what was typed, as far as the program reads it, without blocking."""
        if self._typed and not self._terminal.hung_up:
            with suppress(BlockingIOError, OSError):
                del self._typed[: os.write(self._terminal.fileno(), self._typed)]


class _Nothing:
    """Stands in for an emulator where the person's own terminal shows the screen, and answers."""

    application_cursor = False

    def feed(self, data: bytes) -> None:
        pass

    def screen(self) -> Screen:
        return Screen.from_text("")

    def resize(self, columns: int, rows: int) -> None:
        pass

    def replies(self) -> bytes:
        return b""


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """A terminal in raw mode, restored afterwards in every case."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def signals(window: bool) -> Iterator[int]:
    """A descriptor that is ready when the window's size changed; signals that end the recorder raise `Interrupted`."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    def changed(number: int, frame: FrameType | None) -> None:
        with suppress(BlockingIOError):
            os.write(waker, b"\0")

    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    handlers: dict[int, Callable[[int, FrameType | None], None]] = dict.fromkeys(_ENDINGS, end)
    if window:
        handlers[signal.SIGWINCH] = changed
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield wake
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(waker)


def _both(recording: RecordingWriter) -> Callable[[bytes], None]:
    def output(data: bytes) -> None:
        recording.output(data)
        _write(1, data)

    return output


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError as error:  # the person's terminal is gone
        raise Interrupted from error


# --- a pane ---

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

        Raises TransportError if its output is piped elsewhere already, `Interrupted` or KeyboardInterrupt at a
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
        """Read what has come; False if nothing has."""
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
