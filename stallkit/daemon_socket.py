"""Requests to a daemon at a unix socket in a directory of the user, and its answers.

One connection carries one request, a line of JSON: ``{"do": ..., ...}``.  Lines ``{"progress": ...}`` may come before
the answer, also one line: an object, ``{"error": WHY}`` where the request is refused.

    def answer(request, progress):
        if request["do"] != "count":
            raise ValueError(f"unknown request {request['do']!r}")
        for number in range(request["to"]):
            progress(number)
        return {"counted": request["to"]}

    with Server(folder / "my.sock", answer):
        assert ask(folder / "my.sock", {"do": "count", "to": 3}) == {"counted": 3}
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator

from stallkit import private
from stallkit.errors import StallkitError
from stallkit.redact.redact import redact

# --- asking a daemon ---

DEADLINE_S = 2.0  # for a connection and for a request
ANSWER_S = 20.0  # between two lines of an answer
MAX_REQUEST = 1_000_000  # bytes: a request is a line, not a file
MAX_PATH = 100  # bytes of a socket's path that every system accepts (unix(7) allows 107)


class DaemonError(StallkitError):
    """A daemon did not start, or did not do what was requested."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__("daemon", where, why, "try again")


class DaemonGone(DaemonError):
    """No daemon runs, or it ended before it answered."""


class DaemonSilent(DaemonError):
    """The daemon does not answer before the deadline."""


class DaemonRefused(DaemonError):
    """The answer is an error, given in `why`."""


def ask(path: Path, request: dict[str, Any], answer_s: float = ANSWER_S) -> dict[str, Any]:
    """The answer of the daemon at a socket, without the progress before it; raises as `stream` does."""
    *_, answer = stream(path, request, answer_s)
    return answer


def stream(path: Path, request: dict[str, Any], answer_s: float = ANSWER_S) -> Iterator[dict[str, Any]]:
    """Every line of progress, and the answer as the last one; each line may take `answer_s` seconds.

    Raises DaemonGone, DaemonSilent or DaemonRefused; the last also for a request that is too long.
    """
    line = json.dumps(request).encode() + b"\n"
    if len(line) >= MAX_REQUEST:
        raise DaemonRefused(str(path), f"{len(line):,} bytes are too many: a request has less than {MAX_REQUEST:,}")
    try:
        with _connected(path) as connection:
            connection.sendall(line)
            connection.settimeout(answer_s)
            with connection.makefile("rb") as lines:
                while (value := json_line(lines.readline())) is not None:
                    if "error" in value:
                        raise DaemonRefused(str(path), str(value["error"]))
                    yield value
                    if "progress" not in value:
                        return
    except (TimeoutError, BlockingIOError) as error:  # the latter where too many clients wait
        raise DaemonSilent(str(path), "it does not answer") from error
    except OSError as error:
        raise DaemonGone(str(path), error.strerror or str(error)) from error
    raise DaemonGone(str(path), "it hung up without an answer")


def listens(path: Path) -> bool:
    """Whether a process listens at a socket, even one that is too busy to answer."""
    try:
        with _connected(path):
            return True
    except OSError as error:
        return isinstance(error, (TimeoutError, BlockingIOError))


@contextmanager
def _connected(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        private.checked(path.parent)  # what is sent may be a secret
        with short_address(path) as address:
            connection.connect(address)
        yield connection


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """A socket's address: its path, or, if that is too long, a short one by the descriptor of its directory."""
    if len(os.fsencode(path)) <= MAX_PATH:
        yield str(path)
        return
    handle = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)


def json_line(line: bytes) -> dict[str, Any] | None:
    """The object in one whole line; None if the line was cut off, or holds anything else."""
    with suppress(ValueError, RecursionError):
        value = json.loads(line) if line.endswith(b"\n") else None
        return value if isinstance(value, dict) else None
    return None


# --- being one ---

POLL_S = 0.1  # how soon a server notices that it must end
WAITING = 128  # clients at once, so that none of many is refused

Progress = Callable[[Any], None]


class Server:
    """Answers requests at a unix socket that only its owner can use, each in a thread, until it is closed.

    `answer(request, progress)` returns the answer as plain values; an exception refuses the request.  `progress(value)`
    sends a line before that, and raises OSError where the client has gone.  Closing waits for pending answers.
    A socket that another process left at `path` is replaced.  Raises OSError.
    """

    def __init__(self, path: Path, answer: Callable[[dict[str, Any], Progress], dict[str, Any]]) -> None:
        self.path = path.absolute()
        self._server = _SocketServer(str(path), _Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = bound(self.path)
        self._server.answer = answer
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), name=f"serve {path.name}")
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Accept no more requests, and return once all accepted ones are answered."""
        self._server.shutdown()
        self._thread.join()
        self.path.unlink(missing_ok=True)
        self._server.server_close()


def bound(path: Path) -> socket.socket:
    """A socket that listens at `path`, which only its owner can use; one that is there already is replaced.

    Raises OSError.
    """
    path = path.absolute()
    private.checked(path.parent)
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        with short_address(path) as address:
            made.bind(address)
        made.listen(WAITING)
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


class _SocketServer(socketserver.ThreadingUnixStreamServer):
    answer: Callable[[dict[str, Any], Progress], dict[str, Any]]


class _Handler(socketserver.StreamRequestHandler):
    timeout = DEADLINE_S  # for a client that sends or reads nothing: closing the server waits for it
    server: _SocketServer

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone
            line = self.rfile.readline(MAX_REQUEST)
            try:
                self._send(self.server.answer(_request(line), lambda value: self._send({"progress": value})))
            except Exception as error:
                self._send({"error": redact(getattr(error, "why", None) or f"{type(error).__name__}: {error}")})

    def _send(self, value: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(value).encode() + b"\n")


def _request(line: bytes) -> dict[str, Any]:
    if len(line) >= MAX_REQUEST:
        raise ValueError(f"a request has less than {MAX_REQUEST:,} bytes")
    request = json.loads(line)
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    return request
