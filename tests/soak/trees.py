"""The processes of a terminal: which there are, how much they have read, and how they are ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Iterable

__all__ = ["end_all", "held", "read_by", "tree"]


def tree(pid: int) -> list[int]:
    """That process and all below it, the parents first."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*"):
            with suppress(OSError):  # it ended
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def read_by(pids: Iterable[int]) -> dict[int, int]:
    """How many bytes each of these has read so far, from anything; those that ended are left out."""
    found = {}
    for pid in pids:
        with suppress(OSError, ProcessLookupError):
            found[pid] = int(Path(f"/proc/{pid}/io").read_text().split("\n")[0].split()[1])
    return found


def held(pids: Iterable[int]) -> list[int]:
    """Handles of the processes that are there now, which name no other process later."""
    found = []
    for pid in pids:
        with suppress(ProcessLookupError):
            found.append(os.pidfd_open(pid))
    return found


def end_all(handles: Iterable[int]) -> None:
    """End these processes, also what outlives the loss of its terminal (script does)."""
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
