"""Marks in a running recording: keys in its own terminal, or a request from another one.

The keys are a prefix, then a letter; the prefix twice is itself.  That part is pure: from typed bytes to bytes for the
program and marks.  A recording listens at a socket in the state directory, readable by its owner alone; sockets sort by
the start of their recording.  A request is
``{"do": "mark", "mark": "waiting:confirm", "file": null}``.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from attrs import frozen

from stallkit import private
from stallkit.config import state_dir
from stallkit.daemon_socket import DaemonGone, DaemonRefused, DaemonSilent, Progress, Server, ask, listens
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit_lab.record.recording import LETTERS, encode_marker, read_marker

ANSWER_S = 2.0  # for a recording to take a marker


class Listener:
    """The socket of one recording; `mark` is called with each marker's text, and returns its time in seconds.

    Requests come in threads of the socket's; `ready` carries them out, in the thread that records.  Raises StoreError
    if the socket cannot be made.
    """

    def __init__(self, file: Path, mark: Callable[[str], float]) -> None:
        self._file, self._mark = file.resolve(), mark
        self._requests: deque[tuple[str, Future[float]]] = deque()
        self._closed = False
        path = _folder() / f"{time.time_ns():020}-{os.getpid()}"
        try:
            private.folder(state_dir())
            private.folder(path.parent)
            self._server = Server(path, self._answer)
        except OSError as error:
            why, todo = error.strerror or str(error), "set STALLKIT_STATE_DIR to a folder that can be written"
            raise StoreError("socket for marks", str(path), why, todo) from error
        self._wake, self._waker = os.pipe()

    def fileno(self) -> int:
        """The descriptor to wait on: it is readable when `ready` has something to do."""
        return self._wake

    def ready(self) -> None:
        """Carry out the requests."""
        os.read(self._wake, 4_096)
        while self._requests:
            label, future = self._requests.popleft()
            try:
                future.set_result(self._mark(label))
            except Exception as error:
                future.set_exception(error)
                raise

    def close(self) -> None:
        """Stop listening; refuse the requests that were not carried out."""
        self._closed = True
        self._refuse()
        self._server.close()
        os.close(self._wake)
        os.close(self._waker)

    def _refuse(self) -> None:
        with suppress(IndexError):  # once none is left
            while True:
                self._requests.popleft()[1].set_exception(_NoRecording(str(self._file), "the recording has ended"))

    def _answer(self, request: dict[str, Any], _: Progress) -> dict[str, Any]:
        if request.get("do", "mark") != "mark":  # the previous version sends only the mark
            raise ValueError(f"unknown request {request['do']!r}")
        if request.get("file") not in (None, str(self._file)):
            return {"other": str(self._file)}
        label, future = encode_marker(read_marker(str(request["mark"]))), Future[float]()
        self._requests.append((label, future))
        os.write(self._waker, b"\0")
        if self._closed:
            self._refuse()
        return {"at": future.result(), "file": str(self._file)}


class _NoRecording(SessionGone):
    _what = "no recording"


def give(label: str, file: Path | None = None, answer_s: float = ANSWER_S) -> tuple[str, float]:
    """Mark a running recording, the newest or the one into `file`; return its file, and the time in seconds.

    Raises ValueError for an invalid marker, SessionGone if no such recording runs, TransportError if it does not
    answer within `answer_s`.
    """
    asked = {
        "do": "mark",
        "mark": encode_marker(read_marker(label)),
        "file": None if file is None else str(file.resolve()),
    }
    for path in sorted(_folder().glob("*-*"), reverse=True):
        try:
            said = ask(path, asked, answer_s)
        except DaemonGone:
            if not listens(path):  # it was killed
                path.unlink(missing_ok=True)
        except DaemonSilent as error:
            raise TransportError(f"recording {path.name}", "it does not answer", "try again") from error
        except DaemonRefused as error:
            raise TransportError(f"recording {path.name}", error.why, "check the marker") from error
        else:
            if "at" in said:
                return str(said["file"]), float(said["at"])
    raise _NoRecording(str(file or "to mark"), "no such recording runs" if file else "no recording runs")


def _folder() -> Path:
    return state_dir() / "recordings"


# What terminals send for a key where the program asked for these protocols: kitty's, and xterm's modifyOtherKeys.
_CODED = re.compile(rb"\x1b\[(?:(\d+)(?:;1)?u|(\d+);5u|27;5;(\d+)~)")


@frozen
class Typed:
    """Typed bytes: `passed` is for the program, `marked` are the states to mark, `refused` counts other letters."""

    passed: bytes
    marked: tuple[str, ...] = ()
    refused: int = 0


class MarkKeys:
    """Finds the prefix, one control character such as ``C-]``; raises ValueError for any other key."""

    def __init__(self, prefix: bytes = b"\x1d") -> None:
        if len(prefix) != 1 or not 0 < prefix[0] < 32 or prefix in (b"\x1b", b"\r", b"\t"):
            raise ValueError(f"the mark key must be one with Ctrl, such as C-], not {prefix!r}")
        self._prefix = prefix
        self._letter = bytes([prefix[0] | 0x40]).lower()  # as other protocols send it
        self._begun = False

    def feed(self, data: bytes) -> Typed:
        """Take typed bytes; terminals never cut a key in two."""
        passed, marked, refused = bytearray(), [], 0
        at = 0
        while at < len(data):
            key, plain = self._key(data, at)
            at += len(key)
            if not self._begun:
                self._begun = plain == self._prefix
                passed += b"" if self._begun else key
                continue
            self._begun = False
            state = LETTERS.get(plain.decode("latin-1"))
            if plain == self._prefix:
                passed += key
            elif state is None:
                refused += 1
            else:
                marked.append(str(state))
        return Typed(bytes(passed), tuple(marked), refused)

    def _key(self, data: bytes, at: int) -> tuple[bytes, bytes]:
        """The bytes of the next key, and its plain byte."""
        found = _CODED.match(data, at)
        if found is None:
            return data[at : at + 1], data[at : at + 1]
        number = int(next(filter(None, found.groups())))
        plain = bytes([number]) if number < 128 else b""
        if found[1] is None:  # with Ctrl held
            plain = self._prefix if plain.lower() == self._letter else b""
        return found[0], plain
