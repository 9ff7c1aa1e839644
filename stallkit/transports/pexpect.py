"""A session that the caller drives with pexpect, looked at without taking output from the caller."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Iterator, Protocol

from stallkit.errors import KeysRefused, SessionGone, TransportError, TransportUnavailable
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.probes.activity import Stillness
from stallkit.probes.foreground_job import foreground, probed
from stallkit.signals.collect import with_signals
from stallkit.terminal.keys import Keys
from stallkit.terminal.marks import MarksReader
from stallkit.transports.base import Closing
from stallkit.transports.emulator import Emulator, GhosttyEmulator
from stallkit.transports.pty import CHUNK, LOOK_BYTES, LOOK_S, refuse_if_changed, refuse_if_moving

if TYPE_CHECKING:
    import pexpect


KEPT = 1_000_000  # characters or bytes that a look read and no `expect` took yet; older text is dropped

_numbers = count(1)


class _Log(Protocol):
    def write(self, text: Any, /) -> Any: ...
    def flush(self) -> Any: ...


class PexpectTransport(Closing):
    """An adopted `pexpect.spawn`, with an encoding or without one.

    Sees everything that is read, by the caller's `expect` or by a look, and passes it on to the former `logfile_read`.
    What a look reads goes back into the buffer, where a later `expect` finds it.  The screen begins with what the spawn
    still holds, so adopt it early.  Not for use from several threads at once.

    >>> import pexpect, sys
    >>> with PexpectTransport(pexpect.spawn(sys.executable, ["-c", "input('Name: ')"])) as session:
    ...     while "Name" not in session.capture().screen.text: pass
    """

    def __init__(self, spawn: pexpect.spawn[Any], *, name: str | None = None, emulator: Emulator | None = None) -> None:
        try:
            import pexpect  # extra: pexpect
        except ImportError as error:
            raise TransportUnavailable("pexpect:", "pexpect", str(error), "pip install stallkit[pexpect]") from error
        _refuse_without_terminal(spawn)
        self._ends, self._timeouts = pexpect.EOF, pexpect.TIMEOUT
        self._failures = (pexpect.ExceptionPexpect, OSError, ValueError)  # ValueError: a closed file, a broken decoding
        self.target = f"pexpect:{name or spawn.pid}"
        self._spawn: Any = spawn
        self._identity = f"{spawn.pid}/{next(_numbers)}"
        self._marks = MarksReader()
        self._before: Snapshot | None = None
        self._printed_at: float | None = None
        self._closed = False
        with self._mapped():
            rows, columns = spawn.getwinsize()
        self._emulator = emulator or GhosttyEmulator(max(columns, 1), max(rows, 1))
        self._log: _Log | None = None
        self._attach()
        self._feed(_held(spawn))

    def capture(self) -> Snapshot:
        """The screen after all pending output; of a program that ended, its last screen."""
        self._check_open()
        alive = self._alive()  # before reading, so that the last output of an ended program is on this screen
        self.pump()
        now = Snapshot(
            screen=self._emulator.screen(),
            taken_at=time.monotonic(),
            alive=alive,
            exit_status=None if alive else _status(self._spawn),
            process=ProcessFacts(foreground(self._spawn.child_fd) if alive else None, self._spawn.pid),
            marks=self._marks.marks,
            printed_at=self._printed_at,
            accepts_keys=alive,
            target=self.target,
            identity=self._identity,
        )
        now = probed(now, self._before, self._spawn.child_fd, self._spawn.pid)
        self._before = with_signals(now, self._spawn.pid)
        return self._before

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys through the spawn's own `send` if the screen is still the one that was seen.

        Without its `delaybeforesend`, during which the screen could change.  Raises KeysRefused, nothing sent, if
        the screen changed or the program reads nothing; TransportError if it took only some of the bytes.
        """
        self.send_below(keys, seen, 0)

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """The same, but what stands above a row of the screen may have changed since.  Raises as `send` does."""
        self._check_open()
        if not self._alive():
            raise SessionGone(self.target, "its program ended", _status(self._spawn))
        with Stillness(seen, self._spawn.child_fd) as still:
            settled = self.pump()
            refuse_if_changed(self.target, self._identity, self._emulator.screen(), seen, first)
            data = keys.to_bytes(self._emulator.application_cursor)
            encoding = self._spawn.encoding
            with self._mapped(), _hurried(self._spawn):
                try:
                    size = len(data.decode().encode(encoding)) if encoding else len(data)
                    refuse_if_moving(self.target, self._spawn.child_fd, still, settled)
                    sent = self._spawn.send(data.decode() if encoding else data)
                except UnicodeError as error:
                    raise KeysRefused(self.target, f"its encoding does not have these characters: {error}") from error
                except BlockingIOError as error:
                    raise KeysRefused(self.target, "it reads nothing, its input is full") from error
        if sent < size:
            raise TransportError(self.target, f"it took {sent} of {size} bytes", "look again before you press")

    def close(self) -> None:
        """Restore the caller's `logfile_read`; the caller's program keeps running."""
        self._closed = True
        if self._spawn.logfile_read is self:
            self._spawn.logfile_read = self._log

    def write(self, text: Any) -> None:
        """Called by pexpect with everything that is read, as `logfile_read`."""
        self._feed(text)
        if self._log is not None:
            self._log.write(text)

    def flush(self) -> None:
        """Called by pexpect after each write."""
        if self._log is not None:
            self._log.flush()

    def _attach(self) -> None:
        """Become the spawn's `logfile_read`, in front of the caller's current one."""
        if self._spawn.logfile_read is not self:
            self._log = self._spawn.logfile_read
            self._spawn.logfile_read = self

    def _feed(self, text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        self._printed_at = time.time() if data else self._printed_at
        self._emulator.feed(data)
        self._marks.feed(data, time.monotonic())
        self._emulator.replies()  # dropped: only the caller may answer the program's queries

    def _alive(self) -> bool:
        if self._spawn.closed:
            raise SessionGone(self.target, "its spawn is closed", _status(self._spawn))
        with self._mapped():
            return bool(self._spawn.isalive())

    def pump(self) -> bool:
        """Read pending output into the screen, and put it back for the caller's `expect`.

        False if there is more than one look reads.  `capture` and `send` call it themselves.
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
        """Turns pexpect's errors into TransportError."""
        try:
            yield
        except (self._ends, self._timeouts) as error:
            raise _Nothing from error
        except self._failures as error:
            raise TransportError(self.target, f"{type(error).__name__}: {error}", "look at the spawn itself") from error

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "adopt the spawn again")


def _refuse_without_terminal(spawn: Any) -> None:
    """Raise TransportError for pexpect's other spawns, which this cannot look at."""
    name = type(spawn).__name__
    if not hasattr(spawn, "proc") and hasattr(spawn, "ptyproc"):
        return
    lacks = "pipes and no terminal" if hasattr(spawn, "proc") else "a descriptor, and no process or terminal of its own"
    todo = "feed what it reads to a StreamTransport, or use pexpect.spawn (docs/embedding.md)"
    raise TransportError(f"pexpect:{name}", f"a {name} has {lacks}", todo)


class _Nothing(Exception):
    """There is nothing to read, now or at all."""


@contextmanager
def _hurried(spawn: Any) -> Iterator[None]:
    """Without a delay before sending, and without waiting for room: a program may read nothing."""
    delay, spawn.delaybeforesend = spawn.delaybeforesend, None
    blocking = os.get_blocking(spawn.child_fd)
    os.set_blocking(spawn.child_fd, False)
    try:
        yield
    finally:
        spawn.delaybeforesend = delay
        os.set_blocking(spawn.child_fd, blocking)


def _held(spawn: Any) -> str | bytes:
    """What was read before the adoption and is still held: text before the last match, the match, and the rest."""
    rest = spawn._before.getvalue()
    held: str | bytes = rest or spawn.before or b""  # after a time-out the two are the same
    if isinstance(spawn.after, (str, bytes)):
        held = spawn.before + spawn.after + rest
    return held


def _give_back(spawn: Any, text: str | bytes) -> None:
    """Append to both buffers, as `expect` does; the public `buffer` would copy all of it every time."""
    for name in ("_buffer", "_before"):
        getattr(spawn, name).write(text)
        if getattr(spawn, name).tell() > 2 * KEPT:
            kept = spawn.buffer_type()
            kept.write(getattr(spawn, name).getvalue()[-KEPT:])
            setattr(spawn, name, kept)


def _status(spawn: Any) -> int | None:
    """The exit status, negative for a signal, as in subprocess."""
    status = spawn.exitstatus if spawn.signalstatus is None else -spawn.signalstatus
    return None if status is None else int(status)
