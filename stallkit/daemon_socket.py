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
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from stallkit import private
from stallkit.daemon_client import ANSWER_S, DEADLINE_S, MAX_REQUEST, ask, listens, short_address, stream
from stallkit.redact.redact import redact

__all__ = ["ANSWER_S", "MAX_REQUEST", "Progress", "Server", "ask", "bound", "listens", "stream"]

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
