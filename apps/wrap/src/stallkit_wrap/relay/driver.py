"""The relay itself: a program on a terminal of its own, copied to the user's terminal and back.

One thread and one poll.  What the program writes is passed on before anything else is done with it.  ``python -m
stallkit_wrap.relay.driver -- COMMAND...`` is ``stallkit wrap`` without its options, for who starts it.
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import sys
import termios
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Sequence

from stallkit import private
from stallkit.config import relay_socket
from stallkit.daemon_socket import bound
from stallkit.errors import StallkitError
from stallkit.probes.procfs import Process
from stallkit_wrap.relay.judge_client import JudgeClient
from stallkit_wrap.relay.status_filter import SelfReports
from stallkit_wrap.relay.terminals import InnerProgram, OuterTerminal, Signals, copy_size, end_as

CHUNK = 4_096  # bytes of one read: Linux returns no more of a terminal's
READS = 16  # before anything else is looked after
TYPED = 65_536  # bytes of one read of what is typed, or pasted
MAX_TYPED = 65_536  # bytes of input that the program did not read yet
REST_S = 0.05  # without output, before the judge gets it
START_S = 0.3  # ... and before a judge is started: most commands end sooner
MOVING_S, MOVING_START_S = 1.0, 5.0  # the same where output never rests
FULL_S = 0.02  # for a terminal that takes no more
AGAIN_S = 0.2  # between looks at what no event tells: a foreground that comes back, a terminal that is opened again
HANG_UP_S = 2.0  # for the program to end when its terminal is gone
NOT_STARTED = 127  # the exit code, as of a shell
MAX_REQUEST = 4_096  # bytes that are read of a request at the socket
MAX_CLIENTS = 32  # that have not asked yet: the oldest is dropped
_NAME = "stallkit"  # as /proc/PID/comm, by which `stallkit.probes` knows a relay


def wrapped(command: Sequence[str], judge: bool = True) -> list[str]:
    """The command that runs another one behind a relay."""
    options = [] if judge else ["--no-judge"]
    return [sys.executable, "-P", "-m", __name__, *options, "--", *command]


def wrap(command: Sequence[str], judge: bool = True) -> int:
    """Run a command behind a relay until it ends; its status is as os.wait gives it, for `end_as`.

    Where standard input or output is no terminal, there is nothing to relay, and the command takes this process's
    place.  With `judge`, a program that says nothing of itself is judged.  Raises TransportError if the command
    cannot be started.
    """
    if not (os.isatty(0) and os.isatty(1)):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(command[0], list(command))
    with suppress(OSError):
        Path("/proc/self/comm").write_text(_NAME)
    with ExitStack() as stack:
        master, slave = pty.openpty()
        stack.callback(os.close, master)
        outer = OuterTerminal()
        stack.callback(outer.close)
        termios.tcsetattr(slave, termios.TCSANOW, outer.settings)
        copy_size(outer.writes, master)
        terminal = os.ttyname(slave)
        wake = stack.enter_context(Signals())
        try:
            program = InnerProgram.start(command, slave, keep_stderr=not os.isatty(2))
        finally:
            os.close(slave)
        os.set_blocking(master, False)
        relay = _Relay(outer, master, program, JudgeClient(terminal, program.leader) if judge else None, terminal, wake)
        stack.callback(relay.close)
        stack.enter_context(outer)
        relay.run()
        return relay.status


class _Relay:
    """The copying, from the program's start to its end."""

    def __init__(
        self,
        outer: OuterTerminal,
        master: int,
        program: InnerProgram,
        judge: JudgeClient | None,
        terminal: str,
        wake: Signals,
    ) -> None:
        self._outer, self._master, self._program, self._judge, self._wake = outer, master, program, judge, wake
        self._terminal = terminal
        self._reports = SelfReports(lambda: os.tcgetpgrp(master))
        self._socket = RelaySocket(self._describe)
        self._ready = select.poll()
        self._room = select.poll()
        for descriptor, events in ((outer.writes, select.POLLOUT), (wake.descriptor, select.POLLIN)):
            self._room.register(descriptor, events)
        self._room.register(outer.reads, select.POLLIN)
        self._waits: set[int] = set()  # the descriptors that `_ready` waits for, by this state
        self._state: tuple[object, ...] = ()
        self._typed = bytearray()  # for the program
        self._shown = b""  # for the terminal
        self._open = self._connected = True  # the program's terminal, and the user's
        self._drained = False  # the program has ended, and all that it wrote was read
        self._printed_at = self._passed_at = time.monotonic()
        self._hung_up_at: float | None = None

    @property
    def status(self) -> int:
        """How the program ended; as by SIGHUP where it goes on without a terminal."""
        return signal.SIGHUP if self._program.status is None else self._program.status

    def run(self) -> None:
        """Copy until the program has ended and all that it wrote is shown."""
        self._program_changed()
        while not self._over:
            self._wait_for()
            for descriptor, events in self._ready.poll(self._timeout()):
                self._handle(descriptor, events)
            if not self._outer.ours:
                self._outer.take()
            if self._hung_up_at is None:
                self._see_an_end()
                self._judge_what_rests()
        self._show(self._reports.over())
        deadline = time.monotonic() + HANG_UP_S
        while self._shown and self._connected and time.monotonic() < deadline:
            self._flush()

    def close(self) -> None:
        """End what belongs to the relay."""
        self._socket.close()
        if self._judge is not None:
            self._judge.close()

    def _see_an_end(self) -> None:
        """Read the last output of a program that ended, and look again at a terminal that it closed and may open."""
        if self._program.status is not None and not self._shown:
            self._drained = not self._copy_out()  # background processes may keep theirs, as where any terminal closes
        elif not self._open:
            self._open = True
            self._copy_out()

    @property
    def _over(self) -> bool:
        if self._hung_up_at is not None:
            return self._program.status is not None or time.monotonic() - self._hung_up_at > HANG_UP_S
        return self._drained and not self._shown

    def _timeout(self) -> float | None:
        """Milliseconds."""
        if not self._open or not self._outer.ours:
            return AGAIN_S * 1_000
        if self._judge is not None and (self._judge.waiting or self._reports.pending):
            return REST_S * 1_000
        return None

    def _wait_for(self) -> None:
        """Have `_ready` wait for what matters now; mostly that is what mattered before."""
        judge = self._judge.descriptor if self._judge is not None else -1
        keys = self._outer.ours and len(self._typed) < MAX_TYPED
        state = (self._open, self._connected, keys, bool(self._shown), bool(self._typed), judge, self._socket.taken)
        if state == self._state:
            return
        self._state = state
        wanted = {descriptor: select.POLLIN for descriptor in (self._wake.descriptor, *self._socket.descriptors)}
        if self._open:
            wanted[self._master] = (0 if self._shown else select.POLLIN) | (select.POLLOUT if self._typed else 0)
        if self._connected:
            wanted[self._outer.reads] = select.POLLIN if keys else 0
            if self._shown:
                wanted[self._outer.writes] = select.POLLOUT
        if judge >= 0:
            wanted[judge] = select.POLLIN
        for descriptor in self._waits - wanted.keys():
            self._ready.unregister(descriptor)
        for descriptor, events in wanted.items():
            self._ready.register(descriptor, events)
        self._waits = set(wanted)

    def _handle(self, descriptor: int, events: int) -> None:
        if descriptor == self._master:
            if events & select.POLLOUT:
                self._type()
            if events & ~select.POLLOUT and not self._shown and self._open:
                self._copy_out()
        elif descriptor == self._outer.reads and events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            self._copy_in()
        elif descriptor == self._outer.writes:
            self._flush()
        elif descriptor == self._wake.descriptor:
            for number in self._wake.taken():
                self._signalled(number)
        elif self._judge is not None and descriptor == self._judge.descriptor:
            for told in self._judge.verdicts():
                self._reports.judged(told, time.monotonic())
        else:
            self._socket.ready(descriptor)

    def _copy_out(self) -> bool:
        """Pass on what the program wrote, if anything.

        Each read is written at once, so that program, relay and terminal work side by side.
        """
        now, some = time.monotonic(), False
        for _ in range(READS):
            try:
                data = os.read(self._master, CHUNK)
            except BlockingIOError:
                break
            except OSError:  # EIO: no process has the terminal open
                data = b""
            if not data:
                self._open = False
                break
            some = True
            self._printed_at = now
            self._pass_on(data, now)
            if self._shown or not self._open:
                break
        return some

    def _pass_on(self, data: bytes, now: float) -> None:
        """To the terminal, but answers to the program's queries first."""
        if not self._reports.passes(data):
            filtered = self._reports.feed(data, now)
            if filtered.answer:
                self._typed += filtered.answer
                self._type()
            data = filtered.outward
        self._show(data)
        if self._judge is not None:
            self._judge.output(data)

    def _copy_in(self) -> None:
        """Take what the user typed."""
        try:
            data = os.read(self._outer.reads, TYPED)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
        self._typed += data
        self._type()

    def _type(self) -> None:
        """Give the program its input, as far as there is room for it."""
        if self._typed and self._open:
            with suppress(OSError):
                del self._typed[: os.write(self._master, self._typed)]

    def _show(self, data: bytes) -> None:
        if self._connected:
            self._shown += data
            self._flush()

    def _flush(self) -> None:
        """Write what must be shown, until a key or a signal comes, or the terminal takes no more for a moment."""
        shown, writes = self._shown, self._outer.writes
        try:
            at = _written(writes, shown)
            while at < len(shown) and self._room.poll(FULL_S * 1_000) == [(writes, select.POLLOUT)]:
                at += _written(writes, memoryview(shown)[at:])
        except OSError:
            self._hang_up()
        else:
            self._shown = shown[at:]

    def _hang_up(self) -> None:
        """The user's terminal is gone: so is the program's, which gets a SIGHUP from the kernel."""
        if self._connected:
            self._open = self._connected = False
            self._shown, self._hung_up_at = b"", time.monotonic()
            self._wait_for()
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(null, self._master, inheritable=False)  # which closes it; its number stays taken
            os.close(null)

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGCHLD:
            self._program_changed()
        elif number == signal.SIGCONT:
            self._outer.take()
        elif number == signal.SIGHUP and not self._outer.exists:
            self._hang_up()
        else:
            self._program.signal(number)

    def _program_changed(self) -> None:
        while self._program.look():  # stopped
            self._flush()
            self._outer.stop()
            self._resize()
            self._program.resume()

    def _resize(self) -> None:
        copy_size(self._outer.writes, self._master)
        if self._judge is not None:
            self._judge.resized(self._size)

    @property
    def _size(self) -> tuple[int, int]:
        size = os.get_terminal_size(self._master)
        return max(size.columns, 1), max(size.lines, 1)

    def _judge_what_rests(self) -> None:
        """Give the judge what it waits for, and show its latest verdict, while nothing is printed."""
        if self._judge is None or not self._open:
            return
        now = time.monotonic()
        if self._judge.waiting:
            begun = self._judge.descriptor >= 0
            rests = now - self._printed_at >= (REST_S if begun else START_S)
            if rests or now - self._passed_at >= (MOVING_S if begun else MOVING_START_S):
                self._passed_at = now
                self._judge.pass_on(self._size)
        if self._reports.pending and not self._shown:
            self._show(self._reports.due())

    def _describe(self) -> dict[str, Any]:
        """What the relay answers at its socket."""
        foreground = 0
        with suppress(OSError):
            foreground = os.tcgetpgrp(self._master)
        return {
            "version": 1,
            "pid": self._program.pid,
            "terminal": self._terminal,
            "foreground": foreground,
            **self._reports.describe(time.monotonic()),
        }


def _written(descriptor: int, data: bytes | memoryview) -> int:
    """How many bytes of it the terminal took."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


class RelaySocket:
    """Answers at the socket of this process, in the caller's loop: call `ready` for each descriptor of `descriptors`.

    Whoever asks there, as `stallkit.probes.readers` does, gets one JSON line with what the relay knows.  If no socket
    can be made, there is none: a relay does not fail for that.
    """

    def __init__(self, describe: Callable[[], dict[str, Any]]) -> None:
        self._describe = describe
        self._clients: dict[int, socket.socket] = {}
        self.taken = 0  # differs when `descriptors` differ
        self._server: socket.socket | None = None
        self._path = relay_socket(*Process.ours())
        with suppress(OSError):
            private.folder(self._path.parent)
            _remove_dead(self._path.parent)
            self._server = bound(self._path)
            self._server.setblocking(False)

    @property
    def descriptors(self) -> list[int]:
        """What to wait for, until it can be read."""
        return [*self._clients, *([self._server.fileno()] if self._server is not None else [])]

    def ready(self, descriptor: int) -> None:
        """Take a connection, or answer the request of one."""
        client = self._clients.pop(descriptor, None)
        self.taken += 1
        with suppress(OSError):
            if client is not None:
                with client:
                    if client.recv(MAX_REQUEST):
                        client.sendall(json.dumps(self._describe()).encode() + b"\n")
            elif self._server is not None:
                client = self._server.accept()[0]
                client.setblocking(False)
                self._clients[client.fileno()] = client
                if len(self._clients) > MAX_CLIENTS:
                    self._clients.pop(next(iter(self._clients))).close()

    def close(self) -> None:
        """Answer no more, and remove the socket."""
        for client in self._clients.values():
            client.close()
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)


def _remove_dead(folder: Path) -> None:
    """Remove the sockets of relays that were killed."""
    for path in folder.glob("*-*.sock"):
        pid, _, started = path.stem.partition("-")
        if pid.isdecimal() and started.isdecimal() and not Process(int(pid), int(started)).alive():
            path.unlink(missing_ok=True)


def main() -> None:
    """``python -m stallkit_wrap.relay.driver [--no-judge] -- COMMAND...``"""
    at = sys.argv.index("--")
    try:
        status = wrap(sys.argv[at + 1 :], "--no-judge" not in sys.argv[1:at])
    except (StallkitError, OSError) as error:
        sys.stderr.write(f"stallkit: {error}\n")
        sys.exit(NOT_STARTED)
    end_as(status)


if __name__ == "__main__":
    main()
