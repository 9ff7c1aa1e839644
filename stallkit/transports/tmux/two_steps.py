"""A call of tmux in two steps: what it prints is read, and only then does it carry out a last line.

A client takes milliseconds to start and to connect.  Here it has done so before the caller makes up its mind, and what
is left to it is to pass on a brace.  The line is on its standard input, in braces, and tmux carries out nothing of it
without the last one: not if the client ends before, nor if the caller does.  (Without braces, tmux 3.3a reads a quote
that is still open as closed.)
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from contextlib import suppress
from types import TracebackType
from typing import Callable, Sequence

from stallkit.errors import CaptureTimeout
from stallkit.transports.base import DEADLINE_S
from stallkit.transports.tmux.call import Server, failure, not_installed

__all__ = ["TwoSteps"]

_CHUNK = 65_536
_BEGIN, _END = b"if-shell -F 1 {\n", b"}\n"


class TwoSteps:
    """One client: first it prints what `words` say, then it waits for its line.

    A context: a client that was not told to `finish` is killed, and nothing was carried out but `words`.  All of it has
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

    def __enter__(self) -> TwoSteps:
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
        """Pass the line of the second step on to tmux, but for its end."""
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
