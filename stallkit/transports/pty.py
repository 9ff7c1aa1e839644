"""A session that stallkit starts itself, on its own pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Callable, Mapping, Sequence

from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone, TransportError, bad_argument
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.probes.activity import Stillness
from stallkit.probes.foreground_job import foreground, probed
from stallkit.signals.collect import with_signals
from stallkit.terminal.keys import Keys
from stallkit.terminal.marks import MarksReader
from stallkit.terminal.screen import Screen
from stallkit.transports.base import DEADLINE_S, Closing
from stallkit.transports.emulator import Emulator, GhosttyEmulator, checked_size

CHUNK = 65_536  # bytes a read; Linux returns 4,096 at most
LOOK_BYTES = 1_000_000  # read in one look: a flood of 30 MB/s and more must not delay the caller ...
LOOK_S = 0.05  # ... nor must output that is slow to draw, such as many short lines
GRACE_S = 0.5  # between a hang-up, SIGTERM and SIGKILL

_numbers = count(1)


class PtyTransport(Closing):
    """A program on a pseudo-terminal that is read only while you look: one that prints much stands still between looks.

    `spawn` starts it, `close` ends it.  What it writes waits in the kernel's buffer, some kilobytes; a program that
    fills that waits as well.  If you look rarely at a program that prints much, call `pump` when `fileno` is readable,
    or give it to `run`, which reads all the time.  Not for use from several threads at once.

    >>> with PtyTransport.spawn(["sh", "-c", "printf 'Name: '; read it"]) as session:
    ...     while "Name" not in session.capture().screen.text: pass
    ...     session.capture().alive
    True
    """

    def __init__(self, process: subprocess.Popen[bytes], master: int, emulator: Emulator, name: str) -> None:
        self.target = f"pty:{name}"
        self._process = process
        self._master = master
        self._emulator = emulator
        self._identity = f"{process.pid}/{next(_numbers)}"
        self._hung_up = False
        self._marks = MarksReader()
        self._queries = 0
        self._printed_at: float | None = None
        self._before: Snapshot | None = None
        self._closed = False
        self.on_output: Callable[[bytes], object] | None = None  # called with the program's output, as it is read

    @classmethod
    def spawn(
        cls,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        emulator: Emulator | None = None,
        pass_fds: Sequence[int] = (),
    ) -> PtyTransport:
        """Start a program, without a shell, in a session and terminal of its own of `size` (columns, rows).

        `env` replaces the environment, except for TERM, which is the emulator's.  `name` is for the target, by default
        the program's; `pass_fds` are descriptors that stay open in it.  Raises TransportError if it cannot be
        started, ValueError for an empty command or an invalid size, TypeError for words or a size of another type.
        """
        words = _words(command)
        name = name or Path(words[0]).name
        emulator = emulator or GhosttyEmulator(*checked_size(size))
        master, slave = pty.openpty()
        try:
            _set_size(master, *size)
            process = subprocess.Popen(
                words,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=cwd,
                env={**(os.environ if env is None else env), "TERM": "xterm-256color"},
                start_new_session=True,
                pass_fds=pass_fds,
                # The only call between fork and exec: it takes no lock, so it is safe with threads.
                preexec_fn=_own_terminal,  # noqa: PLW1509
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            os.close(master)
            todo = "check the directory" if cwd is not None and not Path(cwd).is_dir() else "check the command"
            raise TransportError(f"pty:{name}", f"it does not start: {error}", todo) from error
        finally:
            os.close(slave)
        os.set_blocking(master, False)
        return cls(process, master, emulator, name)

    def capture(self) -> Snapshot:
        """The screen after all pending output, at most a megabyte of it; of a program that ended, its last screen."""
        self._check_open()
        status = self._process.poll()  # before reading, so that the last output of an ended program is on this screen
        self.pump()
        alive = status is None
        if not alive:
            self._marks.process_exited()
        now = Snapshot(
            screen=self._emulator.screen(),
            taken_at=time.monotonic(),
            alive=alive,
            exit_status=status,
            process=ProcessFacts(foreground(self._master) if alive else None, self._process.pid),
            marks=self._marks.marks,
            printed_at=self._printed_at,
            accepts_keys=alive and not self._hung_up,
            target=self.target,
            identity=self._identity,
        )
        now = probed(now, self._before, self._master, self._process.pid)
        self._before = with_signals(now, self._process.pid)
        return self._before

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys if the screen, with all output since, is still the one that was seen, and so is its program.

        Raises KeysRefused, nothing sent, if it changed, prints faster than it can be read or reads nothing for 2 s;
        TransportError if it stopped reading half-way.
        """
        self.send_below(keys, seen, 0)

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """The same, but what stands above a row of the screen may have changed since.  Raises as `send` does."""
        self._check_open()
        if self._process.poll() is not None:
            raise SessionGone(self.target, "its program ended", self._process.returncode)
        with Stillness(seen, self._master) as still:
            settled = self.pump()
            if self._hung_up:
                raise SessionGone(self.target, "its terminal is closed")
            refuse_if_changed(self.target, self._identity, self._emulator.screen(), seen, first)
            refuse_if_moving(self.target, self._master, still, settled)
            self._write(keys.to_bytes(self._emulator.application_cursor))

    def close(self) -> None:
        """Hang up, then end the program: SIGHUP, SIGTERM, SIGKILL, half a second between them.

        Leaves no zombie; raises CaptureTimeout for a program that SIGKILL does not end.
        """
        if self._closed:
            return
        self._closed = True
        os.close(self._master)  # the kernel sends SIGHUP to the session and to its foreground group
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            # The group is still its own: a process keeps its number until it is waited for.
            if number is not None and self._process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
                return
        raise CaptureTimeout(self.target, 3 * GRACE_S)  # killed, but blocked in a system call

    @property
    def pid(self) -> int:
        """The process id of the program."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """The program's exit status, negative for a signal; None while it runs."""
        return self._process.poll() if self._process.returncode is None else self._process.returncode

    @property
    def hung_up(self) -> bool:
        """Whether no process has the terminal open any more, so that nothing more can be read."""
        return self._hung_up

    def fileno(self) -> int:
        """The terminal's descriptor, to wait on until there is something to `pump`."""
        return self._master

    def pump(self) -> bool:
        """Read pending output into the screen; False if there is more than one look reads."""
        self._check_open()
        deadline, left = time.monotonic() + LOOK_S, LOOK_BYTES
        while not self._hung_up and left > 0 and time.monotonic() < deadline:
            try:
                data = os.read(self._master, CHUNK)
            except BlockingIOError:
                return True
            except OSError:  # EIO: no process has the terminal open any more
                data = b""
            self._hung_up = not data
            self._printed_at = time.time() if data else self._printed_at
            left -= len(data)
            if self.on_output is not None:
                self.on_output(data)
            self._emulator.feed(data)
            self._marks.feed(data, time.monotonic())
            self._answer_query()
            self._answer(self._emulator.replies())
        return self._hung_up

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size, in cells; the program gets SIGWINCH.  Raises ValueError as `spawn` does."""
        self._check_open()
        self._emulator.resize(columns, rows)
        _set_size(self._master, columns, rows)

    def _answer_query(self) -> None:
        """Confirm to a program that asks that OSC 7501 is understood, so that it reports its state; once a read.

        Before the emulator's replies: a program that gets its device attributes first takes that for a no.
        """
        marks = self._marks.marks
        if marks.queries > self._queries:
            self._queries = marks.queries
            self._answer(marks.answer)

    def _answer(self, replies: bytes) -> None:
        """Write the terminal's replies to the program, without waiting."""
        if replies and not self._hung_up:
            with suppress(OSError):
                os.write(self._master, replies)

    def _write(self, data: bytes) -> None:
        deadline, sent = time.monotonic() + DEADLINE_S, 0
        poll = select.poll()
        poll.register(self._master, select.POLLOUT)
        while sent < len(data):
            try:
                if poll.poll(max(0.0, deadline - time.monotonic()) * 1_000):
                    sent += os.write(self._master, data[sent:])
                    continue
            except BlockingIOError:  # there was too little room after all
                pass
            except OSError as error:
                raise SessionGone(self.target, f"its terminal is closed: {error.strerror}") from error
            if time.monotonic() >= deadline:
                if sent:
                    why = f"it took {sent} of {len(data)} bytes"
                    raise TransportError(self.target, why, "look again before you press")
                raise KeysRefused(self.target, f"it read nothing for {DEADLINE_S:g} s, its input is full")

    def _check_open(self) -> None:
        if self._closed:
            raise SessionGone(self.target, "it was closed", self._process.returncode)


def refuse_if_changed(target: str, identity: str, now: Screen, seen: Snapshot, first: int = 0) -> None:
    """Raise KeysRefused if the session is not the one that was seen, or shows something else from a row on."""
    if seen.identity != identity:
        raise KeysRefused(target, "another session was looked at")
    if now.size != seen.screen.size or now.below(first).fingerprint != seen.screen.below(first).fingerprint:
        raise KeysRefused(target, "it changed since it was looked at")


def refuse_if_moving(target: str, terminal: int, still: Stillness, settled: bool) -> None:
    """Raise KeysRefused if the program does something, or output came while the screens were compared."""
    doubt = still.doubt()
    if not settled or _readable(terminal):
        raise KeysRefused(target, "it is printing")
    if doubt:
        raise KeysRefused(target, doubt)


def _readable(terminal: int) -> bool:
    """Whether there is something to read right now."""
    poll = select.poll()  # select() itself refuses descriptors above 1,023: a fleet has more
    poll.register(terminal, select.POLLIN)
    return bool(poll.poll(0))


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _words(command: Sequence[str]) -> list[str]:
    """The words of a command.  Raises ValueError for a line or none, TypeError for a word that is no text."""
    if isinstance(command, str | bytes) or not command:
        line = os.fsdecode(command) if isinstance(command, str | bytes) else ""
        hint = f": write {line.split()}" if line.split() else ""
        raise ValueError(f"a command is a sequence of words, not {command!r}{hint}")
    for word in command:
        if not isinstance(word, str | bytes | os.PathLike):
            raise bad_argument("each word of a command is a text", word, f"write {str(word)!r}")
    return list(command)


def _set_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
