"""The tmux client as a child process: how it is called, within a deadline, and what its failures mean.

A plain client, never one in control mode: tmux 3.3a and 3.5a crash, with every session in them, if any session or
program ends in the milliseconds in which a control client connects (docs/tmux.md has the figures).

Commands go on its command line or on its standard input.  There, any command has room (a command line holds 16 kB),
no list of processes shows it, and a server that was stopped meanwhile carries nothing out later: the words are with the
client, which has ended by then.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import DEADLINE_S, Options

__all__ = [
    "EXITED",
    "Answer",
    "NoServer",
    "NoSessions",
    "Server",
    "ServerExited",
    "TmuxSession",
    "failure",
    "lost_socket",
    "not_installed",
    "quoted",
]

EXITED = "server exited unexpectedly"  # what a client says that lost its server
_NO_SERVER = re.compile(r"no server running|error connecting to .*\((?:No such file or directory|Connection refused)\)")
_NO_TARGET = re.compile(r"can't find (?:pane|session|window)")
_TRIES, _AGAIN_S = 5, 0.05  # at a server that is just ending, which takes milliseconds
_PLAIN = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=./:,@%")


class NoServer(SessionGone):
    """No server answers at the socket."""


class NoSessions(TransportError):
    """The server has no session; it runs all the same where its option `exit-empty` is off."""


class ServerExited(TransportError):
    """The server ended with the call in its hands: nobody knows whether it carried it out."""


def failure(target: str, complaints: str, status: int) -> TransportError:
    """What a call of tmux that failed says of its target: SessionGone where tmux says that there is none."""
    said = complaints.strip() or f"tmux exited with {status}"
    if _NO_SERVER.search(said):
        return NoServer(target, said)
    if _NO_TARGET.search(said):
        return SessionGone(target, said)
    kind = NoSessions if "no current target" in said else ServerExited if "server exited" in said else TransportError
    return kind(target, said, "see whether tmux answers by hand")


def lost_socket(target: str, pid: int) -> TransportError:
    """The server of this pid lives, and cannot be asked."""
    why = f"its server lives (pid {pid}), but not on this socket"
    return TransportError(target, why, f"kill -USR1 {pid}, and it makes its socket anew")


def not_installed(target: str, error: OSError) -> TransportUnavailable:
    """The client could not even be started."""
    if isinstance(error, FileNotFoundError):
        return TransportUnavailable(target, "tmux", "tmux is not installed", "install tmux, or add it to PATH")
    return TransportUnavailable(target, "tmux", str(error), "see whether tmux runs by hand")


class TmuxSession(Protocol):
    """What has to be known of a session to find it in tmux."""

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
        """The server, as a command names it."""
        return " ".join(word for word in self.client if word != "-u")

    def run(self, target: str, *commands: Sequence[str]) -> str:
        """What these commands print, given as words, carried out at one moment; later where the deadline is over.

        Raises SessionGone, CaptureTimeout, TransportUnavailable, TransportError.
        """
        words = [word for command in commands for word in (";", *map(_whole, command))][1:]
        return self._call(target, words, None, DEADLINE_S)

    def read(self, target: str, line: str) -> str:
        """What one line of commands prints, given on standard input.  Raises as `run` does."""
        return self._call(target, ["source-file", "-"], os.fsencode(line) + b"\n", DEADLINE_S)

    def start(self, target: str, line: str, deadline_s: float, directory: str) -> str:
        """The same, on a server that is started where there is none; what is made begins in a directory.

        A server that ends just then, since its last session was closed, says nothing or is lost, and takes with it what
        it may have made: the next one is asked.  What is returned may still be nothing.
        """
        if not Path(directory).is_dir():
            raise TransportError(target, f"{directory} is no directory", "name one that exists")
        words, left = ["start-server", ";", "source-file", "-"], _TRIES
        while True:
            left -= 1
            try:
                said = self._call(target, words, os.fsencode(line) + b"\n", deadline_s, directory)
            except (NoServer, ServerExited):
                if not left:
                    raise
            else:
                if said or not left:
                    return said
            time.sleep(_AGAIN_S)

    def _call(
        self, target: str, words: Sequence[str], given: bytes | None, deadline_s: float, directory: str | None = None
    ) -> str:
        server = self
        if directory is not None and self.options.tmux_socket_path:  # it is meant from where we are
            server = Server(Options(tmux_socket_path=str(Path(self.options.tmux_socket_path).absolute())), self.binary)
        # A server that it starts is none of the session that we may be called in.
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
        """What one call gives, with `lines` of commands for its standard input; whether it failed is for the caller.

        Raises CaptureTimeout after `DEADLINE_S`, TransportUnavailable where tmux cannot be started.  The child has
        ended when this returns or raises, also where it is cancelled.
        """
        import asyncio  # here: it takes long to load

        with _scratch() as asked, _scratch() as said:
            asked.write(lines.encode())
            asked.seek(0)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.client, *words, stdin=asked, stdout=said, stderr=subprocess.PIPE
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
            said.seek(0)
            text = said.read().decode("utf-8", "replace")
        return Answer(text, complaints.decode("utf-8", "replace"), process.returncode)


def quoted(word: str) -> str:
    r"""A word as tmux reads it from a file.  What means anything there is written as `\ooo`, byte by byte.

    An empty word, a newline, `~`, `$HOME` and a `;` at the end come through as they are.
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in os.fsencode(word)) + '"'


@frozen
class Answer:
    """What one call of tmux printed, its complaints, and its exit status."""

    text: str
    complaints: str
    status: int


def _whole(word: str) -> str:
    """A word of a command line that tmux does not end its command at, as it does at a ; in the last place."""
    return word[:-1] + r"\;" if word.endswith(";") else word


def _scratch() -> IO[bytes]:
    """A file for what tmux reads or prints, in one piece: pipes take 300 turns of the event loop for 500 panes.

    In memory where the system has that: a screen may show a secret, and a disk may be full.
    """
    if sys.platform == "linux":
        return open(os.memfd_create("stallkit"), "w+b")  # noqa: PTH123  # a descriptor has no path
    return tempfile.TemporaryFile()
