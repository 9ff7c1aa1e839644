"""Whether all of a terminal's job stands in a read of that terminal: what proves that it waits for a line.

A program that has a thread at the keyboard while another one sleeps, polls or asks the network goes on by itself, and
does not stand.  What was on a CPU between two looks is told by the kernel's counts of context switches, which anybody
may read: CPU time comes in ticks, and misses what takes less.
"""

from __future__ import annotations

import os

from stallkit.core.agents import WRAPPERS
from stallkit.core.facts import KernelFacts, Standstill, TtyFacts
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, Stat, children_of, text_of
from stallkit.probes.threads import Threads

__all__ = ["standstill", "turns"]

_MOST = 256  # threads looked at
_FEW = 4  # processes: more are seldom all at rest


def standstill(kernel: KernelFacts, settings: TtyFacts) -> Standstill | None:
    """All threads of the foreground and of what is below it, where one reads it and no other can go on by itself.

    A launcher (npm, timeout) only waits for what it started, in whatever way, and is left out.  None where that is not
    so, or is unknown.  Takes some fifty microseconds a thread.  Never raises.
    """
    if not (kernel.listening and kernel.how == "read" and settings.blocks and kernel.complete):
        return None
    if kernel.relay is not None or kernel.reader is not None:
        return None
    launchers = {member.pid for member in kernel.members if member.names & WRAPPERS}
    waiting, seen = [member.pid for member in kernel.members], set[int]()
    switches: dict[int, int] = {}
    try:
        while waiting:
            pid = waiting.pop()
            if pid in seen:
                continue
            seen.add(pid)
            waiting += children_of(pid)
            if pid not in launchers and not _stands(pid, switches):
                return None
    except (OSError, ValueError, IndexError):
        return None
    return Standstill(switches) if switches else None


def turns(kernel: KernelFacts) -> tuple[str, ...] | None:
    """How often each process of the foreground, and of what it started, had a CPU: as long as none had, all stays true.

    None where there are many, or threads, or where the kernel does not tell.  Takes some ten microseconds a process.
    """
    there = (*kernel.members, *kernel.below)
    if not kernel.complete or not 0 < len(there) <= _FEW or any(one.threads != 1 for one in there):
        return None
    try:
        return tuple([text_of(one.pid, "schedstat").split()[2] for one in there])
    except (OSError, IndexError):
        return None


def _stands(pid: int, switches: dict[int, int]) -> bool:
    """Whether each thread of a process waits for the terminal, or within its job; adds their counts.

    Raises OSError, ValueError or IndexError where the process ended meanwhile, or tells too little.
    """
    at = os.open(f"{PROC}/{pid}", DIRECTORY)
    try:
        process = ProcEntry(at)
        status = Stat.parse(process.read("stat"))
        if status.ended:
            return status.threads <= 1
        threads = Threads(process, status.device)
        for thread in process.threads():
            found = threads.look(thread)
            if found is None or len(switches) >= _MOST:
                return False
            if not (found.within or (found.listening and found.how == "read")):
                return False
            switches[int(thread)] = _switches(process.read(f"task/{thread}/status"))
    finally:
        os.close(at)
    return True


def _switches(status: str) -> int:
    """How often a thread was put off a CPU.  Raises ValueError where the kernel does not count that."""
    counts = [line.rpartition(":")[2] for line in status.splitlines() if "voluntary_ctxt_switches:" in line]
    if not counts:
        raise ValueError("no context switches are counted")
    return sum(map(int, counts))
