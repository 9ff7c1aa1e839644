"""How commands and the warden find each other: one warden for each state directory, asked at a socket in it.

The lock tells whether one lives, so that none is started twice and a dead one's socket misleads nobody.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from stallkit.config import state_dir
from stallkit.errors import StoreError

__all__ = ["LOCK", "SOCKET", "ask", "ensure", "held", "in_folder"]

LOCK, SOCKET = "warden.lock", "warden.sock"
START_S = 20.0  # for a warden to say that it is there: Python's own start on a loaded machine
ANSWER_S = 8.0  # longer than it waits for the last witness (stallkit.sessions.explain)
_STARTED: list[subprocess.Popen[bytes]] = []  # children of this process, as long as they live


def ensure(folder: Path | None = None) -> None:
    """See to it that a warden lives; it watches when this returns.  Raises StoreError where none can be started."""
    folder = (folder or state_dir()).absolute()
    _STARTED[:] = [one for one in _STARTED if one.poll() is None]
    if held(folder):
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "warden.log").open("wb") as log:
        warden = subprocess.Popen(
            [sys.executable, "-P", "-m", "stallkit.sessions.monitor", str(folder)],  # -P: nothing is imported from here
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",  # so that it keeps no directory busy
            start_new_session=True,  # so that no terminal's hang-up and no Ctrl-C ends it
        )
    _STARTED.append(warden)
    assert warden.stdout is not None  # a pipe, as asked for
    with warden.stdout:
        ready = select.poll()
        ready.register(warden.stdout, select.POLLIN)
        said = warden.stdout.readline() if ready.poll(START_S * 1_000) else b""
    if said.strip() != b"ready" and not held(folder):  # another that was started at the same time is as good
        warden.kill()
        warden.wait()
        why = (folder / "warden.log").read_text("utf-8", "replace").strip().splitlines()
        last = why[-1] if why else f"it says nothing for {START_S:g} s"
        raise StoreError("warden", str(folder), last, "sessions are watched by the commands alone until it starts")


def ask(folder: Path | None = None) -> bool:
    """Have the warden look now; True once it has settled what it found, False where none lives or answers."""
    folder = folder or state_dir()
    if not held(folder):
        return False
    with suppress(OSError), in_folder(folder) as path, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(f"{path}/{SOCKET}")
        connection.sendall(b"settle\n")
        return connection.recv(64).strip() == b"settled"
    return False


def held(folder: Path) -> bool:
    """Whether a warden lives: it holds its lock as long as it does."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
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


@contextmanager
def in_folder(folder: Path) -> Iterator[str]:
    """A short path of a folder: a socket's path has 107 bytes at most (unix(7), sun_path), whatever the folder's."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
