"""How commands find and ask the monitor, which answers at a socket in its state directory."""

from __future__ import annotations

from pathlib import Path

from stallkit import daemon, daemon_socket, private
from stallkit.config import state_dir
from stallkit.daemon_socket import DaemonError
from stallkit.errors import StoreError

LOCK, SOCKET, LOG = "warden.lock", "warden.sock", "monitor.log"  # the first version's names
ANSWER_S = 8.0  # longer than it waits for the last witness (`explain.PATIENCE_S`)


def ensure(folder: Path | None = None) -> None:
    """Start a monitor unless one runs; it watches when this returns.  Raises StoreError if none can be started."""
    folder = (folder or state_dir()).absolute()
    if held(folder):
        return
    todo = "until it starts, only commands look at sessions"
    try:
        private.folder(folder)
        daemon.start("stallkit_sessions.monitor", str(folder), log=folder / LOG)
    except DaemonError as error:
        if not held(folder):  # another may have been started at the same time
            raise StoreError("monitor", str(folder), error.why, todo) from error
    except OSError as error:
        raise StoreError("monitor", str(folder), error.strerror or str(error), todo) from error


def ask(folder: Path | None = None, answer_s: float = ANSWER_S) -> bool:
    """Have the monitor look now; True once it wrote down what it found, False if none answers."""
    folder = (folder or state_dir()).absolute()
    if not held(folder):
        return False
    try:
        return bool(daemon_socket.ask(folder / SOCKET, {"do": "settle"}, answer_s).get("settled"))
    except DaemonError:  # the previous version answers differently
        return False


def held(folder: Path) -> bool:
    """Whether a monitor runs in this state directory."""
    return daemon.held(folder / LOCK)
