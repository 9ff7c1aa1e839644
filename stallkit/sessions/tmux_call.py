"""One call of the tmux client, within a deadline, with the commands on its command line or on its standard input.

On standard input there is room for any command (a command line holds 16 kB), nobody sees it in a list of processes, and
a server that was stopped meanwhile carries nothing out later: the words are with the client, which has ended by then.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, TransportError
from stallkit.sessions.record import Session
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.tmux_client import client, failure, not_installed

__all__ = ["Server", "quoted"]

_TRIES, _AGAIN_S = 5, 0.05  # at a server that is just ending, which takes milliseconds
_ENDING = re.compile("server exited|no server running")
_PLAIN = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=./:,@%")


@frozen
class Server:
    """The tmux server on one socket, whether it runs or not."""

    options: Options
    binary: str = "tmux"

    @classmethod
    def of(cls, session: Session, binary: str = "tmux") -> Server:
        """The server that a session was started on."""
        return cls(
            Options(tmux_socket_name=session.tmux_socket_name, tmux_socket_path=session.tmux_socket_path), binary
        )

    @property
    def name(self) -> str:
        """The server, as a command names it."""
        return " ".join(word for word in client(self.binary, self.options) if word != "-u")

    def run(self, target: str, words: Sequence[str], deadline_s: float = DEADLINE_S) -> str:
        """What these commands print, given as words, carried out at one moment; later where the deadline is over.

        Raises SessionGone, CaptureTimeout, TransportUnavailable, TransportError.
        """
        return self._call(target, words, b"", deadline_s, None)

    def read(self, target: str, line: str, deadline_s: float = DEADLINE_S) -> str:
        """What one line of commands prints, given on standard input.  Raises as `run` does."""
        return self._call(target, ["source-file", "-"], os.fsencode(line) + b"\n", deadline_s, None)

    def start(self, target: str, line: str, deadline_s: float, directory: str) -> str:
        """The same, on a server that is started where there is none; what is made begins in a directory.

        A server that ends just then, since its last session was closed, says nothing or is lost, and takes with it what
        it may have made: the next one is asked.  What is returned may still be nothing.
        """
        words, left = ["start-server", ";", "source-file", "-"], _TRIES
        while True:
            left -= 1
            try:
                said = self._call(target, words, os.fsencode(line) + b"\n", deadline_s, directory)
            except TransportError as error:
                if not _ENDING.search(error.why) or not left:
                    raise
            else:
                if said or not left:
                    return said
            time.sleep(_AGAIN_S)

    def _call(self, target: str, words: Sequence[str], given: bytes, deadline_s: float, directory: str | None) -> str:
        options = self.options
        if directory is not None and options.tmux_socket_path:  # it is meant from where we are
            options = Options(tmux_socket_path=str(Path(options.tmux_socket_path).absolute()))
        if directory is not None and not Path(directory).is_dir():
            raise TransportError(target, f"{directory} is no directory", "name one that exists")
        # A server that it starts is none of the session that we may be called in.
        environment = {name: value for name, value in os.environ.items() if name != "STALLKIT_SESSION"}
        try:
            done = subprocess.run(
                [*client(self.binary, options), *words],
                input=given,
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


def quoted(word: str) -> str:
    r"""A word as tmux reads it from a file.  What means anything there is written as `\ooo`, byte by byte.

    An empty word, a newline, `~`, `$HOME` and a `;` at the end come through as they are.
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in os.fsencode(word)) + '"'
