"""Marks in a running recording: keys in its own terminal, or a request from another one.

The keys are a prefix, then a letter; the prefix twice is itself.  That part is pure: what is typed goes in, what the
program gets and what is marked come out.  A recording listens at a socket in the state directory, readable by its owner
alone; sockets sort by when their recording began.  One line of JSON is one request:
``{"mark": "waiting:confirm", "file": null}``.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from attrs import frozen

from stallkit.config import state_dir
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.lab.notes import LETTERS, encode_marker, read_marker
from stallkit.transports.base import DEADLINE_S

__all__ = ["Listener", "MarkKeys", "Typed", "give"]

MAX_PATH = 107  # bytes of a socket's path (unix(7), sun_path)
MAX_REQUEST = 4_096  # bytes
MAX_WAITING = 16  # who connected and said nothing yet


class Listener:
    """The socket of one recording; `mark` is called with each marker's text, and gives its time in seconds.

    Raises StoreError where there is no room for it.
    """

    def __init__(self, file: Path, mark: Callable[[str], float]) -> None:
        self._file, self._mark = file.resolve(), mark
        self._clients: dict[int, tuple[socket.socket, bytes]] = {}
        folder = _folder()
        self._path = folder / f"{time.time_ns():020}-{os.getpid()}"
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if len(os.fsencode(self._path)) > MAX_PATH:
                raise OSError("its path is too long for a socket")
            before = os.umask(0o077)
            try:
                self._socket.bind(str(self._path))
            finally:
                os.umask(before)
            self._socket.listen(128)  # or one of many who ask at once would be turned away
            self._socket.setblocking(False)
        except OSError as error:
            self._socket.close()
            why, todo = error.strerror or str(error), "set STALLKIT_STATE_DIR to a short path that can be written"
            raise StoreError("socket for marks", str(self._path), why, todo) from error

    def descriptors(self) -> list[int]:
        """What to wait on."""
        return [self._socket.fileno(), *self._clients]

    def ready(self, descriptor: int) -> None:
        """Something happened at one of the descriptors."""
        if descriptor == self._socket.fileno():
            with suppress(OSError):  # once there is nobody more
                while True:
                    client, _ = self._socket.accept()
                    client.setblocking(False)
                    if len(self._clients) >= MAX_WAITING:
                        self._forget(next(iter(self._clients)))
                    self._clients[client.fileno()] = (client, b"")
        elif descriptor in self._clients:
            self._hear(descriptor)

    def close(self) -> None:
        """Listen no more."""
        self._path.unlink(missing_ok=True)
        self._socket.close()
        for descriptor in list(self._clients):
            self._forget(descriptor)

    def _hear(self, descriptor: int) -> None:
        client, said = self._clients[descriptor]
        try:
            data = client.recv(MAX_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        said += data
        if b"\n" in said:
            with suppress(OSError):
                client.sendall(json.dumps(self._answer(said)).encode() + b"\n")
        elif data and len(said) < MAX_REQUEST:
            self._clients[descriptor] = (client, said)
            return
        self._forget(descriptor)

    def _answer(self, said: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(said)
            if asked.get("file") not in (None, str(self._file)):
                return {"other": str(self._file)}
            label = encode_marker(read_marker(str(asked["mark"])))
            return {"at": self._mark(label), "file": str(self._file)}
        except (ValueError, KeyError, AttributeError, RecursionError) as error:
            return {"error": str(error)}

    def _forget(self, descriptor: int) -> None:
        self._clients.pop(descriptor)[0].close()


class _NoRecording(SessionGone):
    _what = "no recording"


def give(label: str, file: Path | None = None) -> tuple[str, float]:
    """Mark a running recording, the newest or the one into `file`; gives its file, and the time in seconds.

    Raises ValueError for a marker that is none, SessionGone where no such recording runs, TransportError where it does
    not answer.
    """
    asked = {"mark": encode_marker(read_marker(label)), "file": None if file is None else str(file.resolve())}
    for path in sorted(_folder().glob("*-*"), reverse=True):
        said = _ask(path, asked)
        if said is None or "other" in said:
            continue
        if "error" in said:
            raise TransportError(f"recording {path.name}", str(said["error"]), "check the marker")
        return str(said["file"]), float(said["at"])
    raise _NoRecording(str(file or "to mark"), "no such recording runs" if file else "no recording runs")


def _ask(path: Path, asked: dict[str, Any]) -> dict[str, Any] | None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        try:
            connection.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):  # it ended without a word
            path.unlink(missing_ok=True)
            return None
        except OSError as error:
            raise TransportError(f"recording {path.name}", str(error), "try again") from error
        try:
            connection.sendall(json.dumps(asked).encode() + b"\n")
            with connection.makefile("rb") as lines:
                said: dict[str, Any] = json.loads(lines.readline() or "{}")
        except TimeoutError as error:
            raise TransportError(f"recording {path.name}", "it does not answer", "try again") from error
        except (OSError, ValueError):
            return None
    return said if "at" in said or "error" in said or "other" in said else None


def _folder() -> Path:
    return state_dir() / "recordings"


# What terminals send instead of a key where the program asked for it: kitty's protocol, and xterm's modifyOtherKeys.
_CODED = re.compile(rb"\x1b\[(?:(\d+)(?:;1)?u|(\d+);5u|27;5;(\d+)~)")


@frozen
class Typed:
    """What was typed: `passed` is for the program, `marked` are the states to mark, `refused` counts other letters."""

    passed: bytes
    marked: tuple[str, ...] = ()
    refused: int = 0


class MarkKeys:
    """Finds the prefix, one control character such as ``C-]``; raises ValueError for any other key."""

    def __init__(self, prefix: bytes = b"\x1d") -> None:
        if len(prefix) != 1 or not 0 < prefix[0] < 32 or prefix in (b"\x1b", b"\r", b"\t"):
            raise ValueError(f"the key to mark with is one with Ctrl, such as C-], not {prefix!r}")
        self._prefix = prefix
        self._letter = bytes([prefix[0] | 0x40]).lower()  # under which other protocols send it
        self._begun = False

    def feed(self, data: bytes) -> Typed:
        """Take what was typed; a key is never cut in two by a terminal."""
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
        """The bytes of the next key, and the plain byte that it stands for."""
        found = _CODED.match(data, at)
        if found is None:
            return data[at : at + 1], data[at : at + 1]
        number = int(next(filter(None, found.groups())))
        plain = bytes([number]) if number < 128 else b""
        if found[1] is None:  # with Ctrl held
            plain = self._prefix if plain.lower() == self._letter else b""
        return found[0], plain
