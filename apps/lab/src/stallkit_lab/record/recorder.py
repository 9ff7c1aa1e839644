"""A command recorded on a terminal of its own, a person's keyboard and screen passed through where there is one."""

from __future__ import annotations

import os
import select
import signal
import termios
import time
import tty
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Callable, Iterator, Sequence

from stallkit.errors import SessionGone
from stallkit.terminal.screen import Screen
from stallkit.transports.emulator import Emulator
from stallkit.transports.pty import PtyTransport
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
    """Run a command until it ends and record it; return its exit status, None where it was ended here.

    `keys` passes a person's keyboard and screen through, descriptors 0 and 1, which must be terminals; `follows` takes
    over changes of the window's size.  Without `keys` there is no input, and an emulator answers the program's queries.
    `for_s` ends it after that many seconds.  Raises TransportError where the command cannot be started, and
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
