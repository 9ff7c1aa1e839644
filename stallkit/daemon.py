"""A process that outlives the command that started it: detached from its terminal, one at a time if needed.

The daemon's side, in a module that ``python -m`` runs::

    if daemon.lock(folder / "my.lock") is None:
        daemon.announce(error="another one runs")
        return 0
    with Server(folder / "my.sock", answer):  # stallkit.daemon_socket
        daemon.announce(ready=True)
        work()

and the side of the command that needs it::

    if not daemon.held(folder / "my.lock"):
        daemon.start("my.module", str(folder), log=folder / "my.log")
    answer = ask(folder / "my.sock", {"do": "status"})
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator

from stallkit import private
from stallkit.daemon_socket import DaemonGone, DaemonRefused, DaemonSilent, json_line

DEADLINE_S = 2.0  # for a terminated process to end
START_S = 20.0  # for a daemon to announce itself: Python's own start on a loaded machine
LOCK_S = 1.0  # for the processes that only check whether the lock is held
AGAIN_S = 0.02  # between two tries for the lock

_started: list[subprocess.Popen[bytes]] = []  # children of this process, collected once they ended


def start(
    module: str, *words: str, log: Path, payload: Any = None, cwd: str | None = "/", ready_s: float = START_S
) -> dict[str, Any]:
    """Start ``python -m MODULE WORDS...`` detached from this terminal, and return what it announces.

    Its standard error goes to the file `log`; `payload` is on its standard input, as JSON.  Its directory is ``/``,
    unless `cwd` names one (None: this process's).  Raises DaemonRefused with the error that it announces, DaemonGone
    if it ends without one, DaemonSilent if it announces nothing within `ready_s`; then it is killed.
    """
    _started[:] = [process for process in _started if process.poll() is None]
    with _log(log) as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words],  # -P: nothing is imported from the working directory
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            start_new_session=True,  # no terminal's hang-up and no Ctrl-C ends it
        )
    _started.append(process)
    try:
        line = _first_line(process, json.dumps(payload).encode(), ready_s)
        if line is None:
            raise DaemonSilent(module, f"it says nothing for {ready_s:g} s")
        if (announced := json_line(line)) is None:
            complaints = log.read_text("utf-8", "replace").strip().splitlines() or ["it ended without a word"]
            raise DaemonGone(module, complaints[-1])
        if "error" in announced:
            raise DaemonRefused(module, str(announced["error"]))
    except BaseException:  # an interrupt as well
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(DEADLINE_S)
        process.kill()
        process.wait()
        raise
    return announced


@contextmanager
def _log(path: Path) -> Iterator[int]:
    try:
        log = private.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError as error:
        raise DaemonRefused(str(path), error.strerror or str(error)) from error
    try:
        yield log
    finally:
        os.close(log)


def _first_line(process: subprocess.Popen[bytes], payload: bytes, ready_s: float) -> bytes | None:
    """Write the payload and read a line; None at the deadline, less than a line where the process ended."""
    assert process.stdin is not None and process.stdout is not None  # pipes
    deadline, line, ready = time.monotonic() + ready_s, b"", select.poll()
    with process.stdin as stdin, process.stdout as stdout:
        os.set_blocking(stdin.fileno(), False)  # it may read nothing
        ready.register(stdin, select.POLLOUT)
        ready.register(stdout, select.POLLIN)
        while not line.endswith(b"\n"):
            events = dict(ready.poll(max(0.0, deadline - time.monotonic()) * 1_000))
            if not events:
                return None
            if stdout.fileno() in events:
                line += (data := os.read(stdout.fileno(), 65_536))
                if not data:
                    break
            else:
                try:
                    payload = payload[os.write(stdin.fileno(), payload) :]
                except BrokenPipeError:
                    payload = b""
                if not payload:
                    ready.unregister(stdin)
                    stdin.close()
    return line


def announce(**message: Any) -> None:
    """Tell the process that started this one ``ready=True`` or ``error="why not"``, once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno(), inheritable=True)
    os.close(null)


class _Ascii(io.TextIOWrapper):
    def write(self, text: str) -> int:
        return super().write(
            "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)
        )


def escape_errors() -> None:
    """Have this process write nothing but printable ASCII to standard error, a log that is shown in terminals."""
    sys.stderr = _Ascii(sys.stderr.buffer, "ascii", "backslashreplace", line_buffering=True)


def lock(path: Path) -> int | None:
    """Take the lock of a daemon that runs once at a time, until this process ends; None if another has it.

    Raises OSError.
    """
    handle = private.opened(path, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(handle)
                return None
            time.sleep(AGAIN_S)
        else:
            return handle


def held(path: Path) -> bool:
    """Whether a process has the lock; a killed process no longer has it."""
    try:
        handle = private.opened(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(handle)
