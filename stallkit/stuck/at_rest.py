"""A signal that a process of many threads acts on once it is at rest: none of its threads but the first is there.

tinyproxy serves each connection in a thread, and reads its files anew in the first one, without a lock.  So the first
thread is held where it would act on the signal (`ptrace`), until the others have come to their end.  New connections
wait in the kernel's queue meanwhile: the first thread is the one that accepts.

Nothing in the process is changed, and it cannot be left held: the kernel lets go of it when the thread that holds it
ends, with kill -9 too, and the signal arrives then.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import suppress

from stallkit.probes.procfs import stat_of

__all__ = ["signal_at_rest"]

_SEIZE, _DETACH = 0x4206, 17  # requests of ptrace: <sys/ptrace.h>
_WALL = 0x40000000  # of waitpid: threads that are no children as well
_POLL_S = 0.002
_SLACK_S = 1.0  # beyond its patience, for the thread that holds


def signal_at_rest(pid: int, signum: int, patience_s: float) -> bool:
    """Send the process a signal, held back until it is at rest, for so many seconds at most; whether it came to rest.

    Where holding is not allowed (another user's process, `kernel.yama.ptrace_scope`), or it does not come to rest, the
    signal arrives all the same.  Raises OSError where there is no such process, or it may not be signalled.

        signal_at_rest(pid, signal.SIGUSR1, patience_s=2.0)
    """
    os.kill(pid, 0)
    rested: list[bool] = []
    holder = threading.Thread(target=lambda: rested.append(_hold(pid, signum, patience_s)), daemon=True)
    holder.start()  # its end is what lets go, in whatever state the process is
    holder.join(patience_s + _SLACK_S)
    return rested == [True]


def _hold(pid: int, signum: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        ptrace, tgkill = libc.ptrace, libc.tgkill
    except (OSError, AttributeError):
        return _plainly(pid, signum)
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if ptrace(_SEIZE, pid, None, None) < 0:
        return _plainly(pid, signum)
    tgkill(pid, pid, signum)
    stopped = _stopped_by(pid, deadline)
    rested = stopped == signum and _alone(pid, deadline)
    if stopped is not None:
        ptrace(_DETACH, pid, None, stopped)
    return rested


def _plainly(pid: int, signum: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signum)
    return False


def _stopped_by(pid: int, deadline: float) -> int | None:
    """The signal at which the first thread was stopped, 0 for a stop without one; None where there was no stop."""
    while time.monotonic() < deadline:
        try:
            found, status = os.waitpid(pid, os.WNOHANG | _WALL)
        except ChildProcessError:
            return None
        if found:
            return (0 if status >> 16 else os.WSTOPSIG(status)) if os.WIFSTOPPED(status) else None
        time.sleep(_POLL_S)
    return None


def _alone(pid: int, deadline: float) -> bool:
    """Whether the first thread is the only one before the deadline."""
    while (stat := stat_of(pid)) is not None and stat.threads > 1:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return stat is not None
