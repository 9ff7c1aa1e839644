"""The tmux client as a child process: how it is called, within a deadline, and what its failures mean.

A plain client, never one in control mode: tmux 3.3a and 3.5a crash, with every session in them, if any session or
program ends in the milliseconds in which a control client connects (docs/tmux.md has the figures).

Commands go on its command line or on its standard input.  The latter has room for any command (a command line holds
16 kB), no list of processes shows it, and a server that was stopped meanwhile carries nothing out later: the words are
with the client, which has ended by then.
"""

from __future__ import annotations

import asyncio
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Callable, Protocol, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import DEADLINE_S, Options

EXITED = "server exited unexpectedly"  # what a client prints that lost its server
_NO_SERVER = re.compile(r"no server running|error connecting to .*\((?:No such file or directory|Connection refused)\)")
_NO_TARGET = re.compile(r"can't find (?:pane|session|window)")
_TRIES, _AGAIN_S = 5, 0.05  # while a server ends, which takes milliseconds
_PLAIN = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=./:,@%")


_CHUNK = 65_536
_BEGIN, _END = b"if-shell -F 1 {\n", b"}\n"


class NoServer(SessionGone):
    """No server answers at the socket."""

    _todo = "name its server with -L or -S (`stallkit config show` says which one is taken)"


class NoSessions(TransportError):
    """The server has no session; it still runs where its option `exit-empty` is off."""


class ServerExited(TransportError):
    """The server ended during the call: whether it carried it out is unknown."""


def failure(target: str, complaints: str, status: int) -> TransportError:
    """The error for a failed call of tmux: SessionGone where tmux reports that the target does not exist."""
    why = complaints.strip() or f"tmux exited with {status}"
    if _NO_SERVER.search(why):
        return NoServer(target, f"no tmux server there: {why}")
    if _NO_TARGET.search(why):
        return SessionGone(target, why)
    kind = NoSessions if "no current target" in why else ServerExited if "server exited" in why else TransportError
    return kind(target, why, "see whether tmux answers by hand")


def lost_socket(target: str, pid: int) -> TransportError:
    """The server of this pid runs, but cannot be reached."""
    why = f"its server runs (pid {pid}), but not on this socket"
    return TransportError(target, why, f"kill -USR1 {pid} makes it create its socket again")


def not_installed(target: str, error: OSError) -> TransportUnavailable:
    """The error for a client that could not be started."""
    if isinstance(error, FileNotFoundError):
        return TransportUnavailable(target, "tmux", "tmux is not installed", "install tmux, or add it to PATH")
    return TransportUnavailable(target, "tmux", str(error), "see whether tmux runs by hand")


class TmuxSession(Protocol):
    """The facts needed to find a session in tmux."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def directory(self) -> str: ...
    @property
    def tmux_socket_name(self) -> str | None: ...
    @property
    def tmux_socket_path(self) -> str | None: ...
    @property
    def identity(self) -> str: ...
    @property
    def pane_started(self) -> int | None: ...
    @property
    def sealed(self) -> bool: ...


@frozen
class Server:
    """The tmux server on one socket, whether it runs or not."""

    options: Options
    binary: str = "tmux"

    @classmethod
    def of(cls, session: TmuxSession, binary: str = "tmux") -> Server:
        """The server that a session was started on."""
        return cls(
            Options(tmux_socket_name=session.tmux_socket_name, tmux_socket_path=session.tmux_socket_path), binary
        )

    @property
    def client(self) -> list[str]:
        """The tmux command with its socket.  ``-u``: in the C locale a client loses every character beyond ASCII."""
        if self.options.tmux_socket_path:
            return [self.binary, "-u", "-S", self.options.tmux_socket_path]
        if self.options.tmux_socket_name:
            return [self.binary, "-u", "-L", self.options.tmux_socket_name]
        return [self.binary, "-u"]

    @property
    def name(self) -> str:
        """The server, as in a command."""
        return " ".join(word for word in self.client if word != "-u")

    def run(self, target: str, *commands: Sequence[str]) -> str:
        """What these commands, given as words, print; carried out at one moment, which may come after the deadline.

        Raises SessionGone, CaptureTimeout, TransportUnavailable, TransportError.
        """
        words = [word for command in commands for word in (";", *map(_whole, command))][1:]
        return self._call(target, words, None, DEADLINE_S)

    def read(self, target: str, line: str) -> str:
        """What one line of commands prints, given on standard input.  Raises as `run` does."""
        return self._call(target, ["source-file", "-"], os.fsencode(line) + b"\n", DEADLINE_S)

    def start(self, target: str, line: str, deadline_s: float, directory: str) -> str:
        """What one line of commands prints; starts a server where there is none.  What is made begins in `directory`.

        A server that is just ending, since its last session was closed, prints nothing or is lost, with anything it has
        made: then the next one is tried.  The result may still be empty.
        """
        if not Path(directory).is_dir():
            raise TransportError(target, f"{directory} is not a directory", "name one that exists")
        words, left = ["start-server", ";", "source-file", "-"], _TRIES
        while True:
            left -= 1
            try:
                output = self._call(target, words, os.fsencode(line) + b"\n", deadline_s, directory)
            except (NoServer, ServerExited):
                if not left:
                    raise
            else:
                if output or not left:
                    return output
            time.sleep(_AGAIN_S)

    def _call(
        self, target: str, words: Sequence[str], given: bytes | None, deadline_s: float, directory: str | None = None
    ) -> str:
        server = self
        if directory is not None and self.options.tmux_socket_path:  # relative to our own directory
            server = Server(Options(tmux_socket_path=str(Path(self.options.tmux_socket_path).absolute())), self.binary)
        # A server that it starts does not belong to the session that may call us.
        environment = {name: value for name, value in os.environ.items() if name != "STALLKIT_SESSION"}
        try:
            done = subprocess.run(
                [*server.client, *words],
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                timeout=deadline_s,
                check=False,
                cwd=directory,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise CaptureTimeout(target, deadline_s) from error
        except OSError as error:
            raise not_installed(target, error) from error
        if done.returncode:
            raise failure(target, done.stderr.decode("utf-8", "replace"), done.returncode)
        return done.stdout.decode("utf-8", "replace")

    async def answer(self, words: Sequence[str], lines: str = "") -> Answer:
        """The result of one call, with `lines` of commands on its standard input; the caller checks whether it failed.

        Raises CaptureTimeout after `DEADLINE_S`, TransportUnavailable if tmux cannot be started.  The child has
        ended when this returns or raises, also if it is cancelled.
        """
        with _scratch() as commands, _scratch() as output:
            commands.write(lines.encode())
            commands.seek(0)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.client, *words, stdin=commands, stdout=output, stderr=subprocess.PIPE
                )
            except OSError as error:
                raise not_installed(self.name, error) from error
            try:
                async with asyncio.timeout(DEADLINE_S):
                    _, complaints = await process.communicate()
            except TimeoutError as error:
                raise CaptureTimeout(self.name, DEADLINE_S) from error
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
            assert process.returncode is not None  # it has ended
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        return Answer(text, complaints.decode("utf-8", "replace"), process.returncode)


def quoted(word: str) -> str:
    r"""A word as tmux reads it from a file.  Special characters are written as `\ooo`, byte by byte.

    An empty word, a newline, `~`, `$HOME` and a `;` at the end are kept as they are.
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in os.fsencode(word)) + '"'


@frozen
class Answer:
    """What one call of tmux printed, its complaints, and its exit status."""

    text: str
    complaints: str
    status: int


class DeferredCommand:
    """A client that prints what `words` say, and carries out a last line only at `finish`.

    A client takes milliseconds to start and to connect.  Here it has done so before the caller makes up its mind, and
    what is left to it is to pass on a brace.  The line is on its standard input, in braces, and tmux carries out
    nothing of it without the last one: not if the client ends before, nor if the caller does.  (Without braces, tmux
    3.3a reads a quote that is still open as closed.)

    A context: a client that did not `finish` is killed, and nothing was carried out but `words`.  All of it has
    `DEADLINE_S` from the start.  Raises as `Server.run` does.
    """

    def __init__(self, server: Server, target: str, words: Sequence[str]) -> None:
        self._target = target
        self._deadline = time.monotonic() + DEADLINE_S
        command = [*server.client, *words, ";", "source-file", "-"]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        except OSError as error:
            raise not_installed(target, error) from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._given, self._said = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._complained = self._process.stderr.fileno()
        for descriptor in (self._given, self._said, self._complained):
            os.set_blocking(descriptor, False)
        self._output = b""

    def __enter__(self) -> DeferredCommand:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        process = self._process
        if process.returncode is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()

    @property
    def pid(self) -> int:
        """The client's process id."""
        return self._process.pid

    def said(self, enough: Callable[[str], bool]) -> str:
        """What the first step printed, as soon as it is enough."""
        while not enough(text := self._output.decode("utf-8", "replace")):
            if not self._read():
                raise self._failed()
        return text

    def give(self, line: str) -> None:
        """Pass the line of the second step on to tmux, except its end."""
        data = _BEGIN + os.fsencode(line)
        while data:
            self._wait(self._given, selectors.EVENT_WRITE)
            try:
                with suppress(BlockingIOError):
                    data = data[os.write(self._given, data) :]
            except BrokenPipeError:
                raise self._failed() from None

    def finish(self) -> str:
        """End the line, so that tmux carries it out; what it prints then.

        After a CaptureTimeout it may be carried out later.
        """
        self._output = b""
        assert self._process.stdin
        try:
            os.write(self._given, _END)
            self._process.stdin.close()
        except BrokenPipeError:
            raise self._failed() from None
        while self._read():
            pass
        if self._ended() != 0:
            raise self._failed()
        return self._output.decode("utf-8", "replace")

    def _read(self) -> bool:
        """Whether there was more."""
        self._wait(self._said, selectors.EVENT_READ)
        data = os.read(self._said, _CHUNK)
        self._output += data
        return bool(data)

    def _failed(self) -> Exception:
        """Why the client ended."""
        status, complaints = self._ended(), b""
        with suppress(BlockingIOError):  # it complained of nothing
            complaints = os.read(self._complained, _CHUNK)
        return failure(self._target, complaints.decode("utf-8", "replace"), status)

    def _ended(self) -> int:
        try:
            return self._process.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise CaptureTimeout(self._target, DEADLINE_S) from error

    def _wait(self, descriptor: int, event: int) -> None:
        with selectors.PollSelector() as selector:  # select() refuses descriptors above 1,023
            selector.register(descriptor, event)
            if not selector.select(max(0.0, self._deadline - time.monotonic())):
                raise CaptureTimeout(self._target, DEADLINE_S)


def _whole(word: str) -> str:
    """A word of a command line with a ; at its end escaped, at which tmux would end the command."""
    return word[:-1] + r"\;" if word.endswith(";") else word


def _scratch() -> IO[bytes]:
    """A file for what tmux reads or prints: pipes take 300 turns of the event loop for 500 panes.

    In memory where the system supports it: a screen may show a secret, and a disk may be full.
    """
    if sys.platform == "linux":
        return open(os.memfd_create("stallkit"), "w+b")  # noqa: PTH123  # a descriptor has no path

    return tempfile.TemporaryFile()
