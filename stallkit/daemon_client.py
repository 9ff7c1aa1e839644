"""How a process asks a daemon at its unix socket (`stallkit.daemon_socket`), with the errors of that.

It imports little: a command that only asks takes hardly longer than a bare Python.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator

from stallkit import private
from stallkit.errors import StallkitError

__all__ = [
    "DEADLINE_S",
    "MAX_PATH",
    "MAX_REQUEST",
    "DaemonError",
    "DaemonGone",
    "DaemonRefused",
    "DaemonSilent",
    "ask",
    "json_line",
    "listens",
    "short_address",
    "stream",
]

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
    """A socket's address: its path, or, where that is too long, a short one by the descriptor of its directory."""
    if len(os.fsencode(path)) <= MAX_PATH:
        yield str(path)
        return
    handle = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)


def json_line(line: bytes) -> dict[str, Any] | None:
    """The object in one whole line; None where the line was cut off, or holds anything else."""
    with suppress(ValueError, RecursionError):
        value = json.loads(line) if line.endswith(b"\n") else None
        return value if isinstance(value, dict) else None
    return None
