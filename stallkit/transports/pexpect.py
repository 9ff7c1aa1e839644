"""A session that the caller drives with pexpect, looked at without taking anything away from the caller."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Iterator, Protocol

from stallkit.core.keys import Keys
from stallkit.core.marks import MarksReader
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.errors import KeysRefused, SessionGone, TransportError, TransportUnavailable
from stallkit.probes.process import foreground, probed
from stallkit.transports.emulator import Emulator, GhosttyEmulator
from stallkit.transports.pty import CHUNK, LOOK_BYTES, LOOK_S, readable, refuse_if_changed

if TYPE_CHECKING:
    import pexpect

__all__ = ["PexpectTransport"]

KEPT = 1_000_000  # of what a look read and no `expect` took yet, in the caller's units; older text is dropped

_numbers = count(1)


class _Log(Protocol):
    def write(self, text: Any, /) -> Any: ...
    def flush(self) -> Any: ...


class PexpectTransport:
    """An adopted `pexpect.spawn`, with an encoding or without one.

    Sees whatever is read, by the caller's `expect` or by a look, and writes on to the `logfile_read` that was there.
    What a look reads goes back into the buffer: a later `expect` finds it.  The screen begins with what the spawn still
    holds, so adopt it early.  Not for use from several threads at once.
    """

    def __init__(self, spawn: pexpect.spawn[Any], *, name: str | None = None, emulator: Emulator | None = None) -> None:
        try:
            import pexpect
        except ImportError as error:
            raise TransportUnavailable("pexpect:", "pexpect", str(error), "pip install stallkit[pexpect]") from error
        self._ends, self._timeouts = pexpect.EOF, pexpect.TIMEOUT
        self._failures = (pexpect.ExceptionPexpect, OSError, ValueError)  # ValueError: a closed file, a broken decoding
        self.target = f"pexpect:{name or spawn.pid}"
        self._spawn: Any = spawn
        self._identity = f"{spawn.pid}/{next(_numbers)}"
        self._marks = MarksReader()
        self._before: Snapshot | None = None
        self._closed = False
        with self._mapped():
            rows, columns = spawn.getwinsize()
        self._emulator = emulator or GhosttyEmulator(max(columns, 1), max(rows, 1))
        self._log: _Log | None = None
        self._attach()
        self._feed(_held(spawn))

    def capture(self) -> Snapshot:
        """The screen after all that is there to read; a program that ended keeps its last."""
        self._check_open()
        alive = self._alive()  # before the reading: what it wrote at its end is still on this look's screen
        self.pump()
        now = Snapshot(
            screen=self._emulator.screen(),
            taken_at=time.monotonic(),
            alive=alive,
            exit_status=None if alive else _status(self._spawn),
            process=ProcessFacts(foreground(self._spawn.child_fd) if alive else None, self._spawn.pid),
            marks=self._marks.marks,
            accepts_keys=alive,
            target=self.target,
            identity=self._identity,
        )
        self._before = probed(now, self._before, self._spawn.child_fd, self._spawn.pid)
        return self._before

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys through the spawn's own `send` if the screen still is the one that was seen.

        Its `delaybeforesend` is left out: that is time for the screen to change in.  Raises KeysRefused, nothing sent,
        where it changed or reads nothing; TransportError where it took only some of the bytes.
        """
        self._check_open()
        if not self._alive():
            raise SessionGone(self.target, "its program ended", _status(self._spawn))
        settled = self.pump()
        refuse_if_changed(self.target, self._identity, self._emulator.screen(), seen)
        if not settled or readable(self._spawn.child_fd):  # what came while the screens were compared
            raise KeysRefused(self.target, "it is printing")
        data = keys.to_bytes(self._emulator.application_cursor)
        encoding = self._spawn.encoding
        with self._mapped(), _hurried(self._spawn):
            try:
                wanted = len(data.decode().encode(encoding)) if encoding else len(data)
                sent = self._spawn.send(data.decode() if encoding else data)
            except UnicodeError as error:
                raise KeysRefused(self.target, f"it cannot be said in its encoding: {error}") from error
            except BlockingIOError as error:
                raise KeysRefused(self.target, "it reads nothing, its input is full") from error
        if sent < wanted:
            raise TransportError(self.target, f"it took {sent} of {wanted} bytes", "look again before you press")

    def close(self) -> None:
        """Give the caller's `logfile_read` back; the program is the caller's and lives on."""
        self._closed = True
        if self._spawn.logfile_read is self:
            self._spawn.logfile_read = self._log

    def write(self, text: Any) -> None:
        """What pexpect calls with everything that is read, as `logfile_read`."""
        self._feed(text)
        if self._log is not None:
            self._log.write(text)

    def flush(self) -> None:
        """The other thing that pexpect calls."""
        if self._log is not None:
            self._log.flush()

    def _attach(self) -> None:
        """Stand in `logfile_read`, in front of what the caller has put there by now."""
        if self._spawn.logfile_read is not self:
            self._log = self._spawn.logfile_read
            self._spawn.logfile_read = self

    def _feed(self, text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        self._emulator.feed(data)
        self._marks.feed(data, time.monotonic())
        self._emulator.replies()  # the terminal's answers are the caller's to give, or nobody's

    def _alive(self) -> bool:
        if self._spawn.closed:
            raise SessionGone(self.target, "its spawn is closed", _status(self._spawn))
        with self._mapped():
            return bool(self._spawn.isalive())

    def pump(self) -> bool:
        """Take what is there to read into the screen, and put it back for the caller's `expect`.

        False where more came than one look takes.  `capture` and `send` do it by themselves.
        """
        self._attach()
        deadline, left = time.monotonic() + LOOK_S, LOOK_BYTES
        while left > 0 and time.monotonic() < deadline:
            try:
                with self._mapped():
                    text = self._spawn.read_nonblocking(CHUNK, timeout=0)  # it writes to us as logfile_read
            except _Nothing:
                return True
            left -= len(text)
            _give_back(self._spawn, text)
        return False

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """The one place where pexpect's errors become ours."""
        try:
            yield
        except (self._ends, self._timeouts) as error:
            raise _Nothing from error
        except self._failures as error:
            raise TransportError(self.target, f"{type(error).__name__}: {error}", "look at the spawn itself") from error

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "adopt the spawn again")


class _Nothing(Exception):
    """There is nothing to read: not now, or nevermore."""


@contextmanager
def _hurried(spawn: Any) -> Iterator[None]:
    """No delay before sending, and no waiting for room: a program that reads nothing must not hold us up."""
    delay, spawn.delaybeforesend = spawn.delaybeforesend, None
    blocking = os.get_blocking(spawn.child_fd)
    os.set_blocking(spawn.child_fd, False)
    try:
        yield
    finally:
        spawn.delaybeforesend = delay
        os.set_blocking(spawn.child_fd, blocking)


def _held(spawn: Any) -> str | bytes:
    """What was read before the adoption and is still there: text before the last match, the match, and the rest."""
    rest = spawn._before.getvalue()
    held: str | bytes = rest or spawn.before or b""  # after a time-out the two are the same
    if isinstance(spawn.after, (str, bytes)):
        held = spawn.before + spawn.after + rest
    return held


def _give_back(spawn: Any, text: str | bytes) -> None:
    """Append to both buffers, as `expect` itself does; the public `buffer` would copy all of it every time."""
    for name in ("_buffer", "_before"):
        getattr(spawn, name).write(text)
        if getattr(spawn, name).tell() > 2 * KEPT:
            kept = spawn.buffer_type()
            kept.write(getattr(spawn, name).getvalue()[-KEPT:])
            setattr(spawn, name, kept)


def _status(spawn: Any) -> int | None:
    """The exit status, negative for a signal, as subprocess has it."""
    status = spawn.exitstatus if spawn.signalstatus is None else -spawn.signalstatus
    return None if status is None else int(status)
