"""Whether all of a terminal's job stands in a read of that terminal: what proves that it waits for a line.

A program that has a thread at the keyboard while another one sleeps, polls or asks the network goes on by itself, and
does not stand.  What was on a CPU between two looks is told by the kernel's counts of context switches, which anybody
may read: CPU time comes in ticks, and misses what takes less.
"""

from __future__ import annotations

import os
from math import inf
from typing import Sequence

from stallkit.detect.families import SHELLS, WRAPPERS
from stallkit.evidence.facts import KEYS_ALONE_S, KernelFacts, Member, Standstill, TtyFacts
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, Stat, children_of, text_of
from stallkit.probes.threads import Threads

__all__ = ["keys_alone", "may_stand", "standstill", "turns"]

_MOST = 256  # threads looked at
_WAIT = WRAPPERS | SHELLS  # for what they started
_FEW = 4  # processes: more are seldom all at rest


def standstill(
    kernel: KernelFacts, settings: TtyFacts, *, apart: bool = False, at_least_s: float = inf
) -> Standstill | None:
    """All threads of the foreground and of what is below it, where one reads it and no other can go on by itself.

    `apart`: those alone that read it, in whatever way, and of what is below them: what is beside them may work, and
    below one that can do nothing but read.  So it is as well if the output of what reads goes elsewhere, for nobody
    else asks there.  `at_least_s`: a wait in epoll or poll whose limit of time is no shorter counts as one without.  A
    launcher (npm, timeout) only waits for what it started, in whatever way, and is left out.  None
    where that is not so, or is unknown.  Takes some fifty microseconds a thread.  Never raises.
    """
    if kernel.output and not apart:
        return standstill(kernel, settings, apart=True, at_least_s=at_least_s)
    waits = settings.blocks if kernel.how == "read" else apart
    hidden = settings.canonical is True and settings.echo is False  # a relay that asks for itself: ssh, a passphrase
    if not (kernel.listening and waits and kernel.complete) or (kernel.relay is not None and not (apart and hidden)):
        return None
    if kernel.reader is not None:
        return None
    readers = kernel.readers or ()
    launchers = {one.pid for one in kernel.members if one.names & WRAPPERS}.difference(one.pid for one in readers)
    waiting, seen = [one.pid for one in (readers if apart else kernel.members)], set[int]()
    blocked = waiting[0] if apart and kernel.how == "read" and [one.threads for one in readers] == [1] else None
    switches: dict[int, int] = {}
    try:
        while waiting:
            pid = waiting.pop()
            if pid in seen:
                continue
            seen.add(pid)
            waiting += [] if pid == blocked else children_of(pid)
            if pid not in launchers and not _stands(pid, switches, at_least_s):
                return None
    except (OSError, ValueError, IndexError):
        return None
    return Standstill(switches) if switches else None


def keys_alone(kernel: KernelFacts, settings: TtyFacts) -> bool | None:
    """Whether nothing but a key has what reads go on within `KEYS_ALONE_S`; None where who reads cannot be looked at.

    A timer that is due later counts for nothing: Node.js has one of its own at most times.
    """
    if not kernel.readers or not kernel.complete or kernel.relay is not None:
        return None
    return standstill(kernel, settings, apart=True, at_least_s=KEYS_ALONE_S) is not None


def may_stand(members: Sequence[Member]) -> bool:
    """Whether one of several may wait for its terminal and for nothing else, by its first thread: some 50 us each.

    Where the first thread only waits for others, as in Go and Java, it is another one that may.
    """
    alive = [one for one in members if not one.ended]
    return len(alive) > 1 and any(map(_may_stand, alive))


def _may_stand(member: Member) -> bool:
    try:
        at = os.open(f"{PROC}/{member.pid}", DIRECTORY)
        try:
            process = ProcEntry(at)
            threads = Threads(process, Stat.parse(process.read("stat")).device, within=True)
            seen = threads.look(str(member.pid))
        finally:
            os.close(at)
    except (OSError, ValueError, IndexError):  # it ended
        return False
    waits = seen is not None and seen.within
    return waits and seen is not None and (bool(seen.listening) or (seen.how is None and not member.names & _WAIT))


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


def _stands(pid: int, switches: dict[int, int], at_least_s: float) -> bool:
    """Whether each thread of a process waits for the terminal, or within its job; adds their counts.

    Raises OSError, ValueError or IndexError where the process ended meanwhile, or tells too little.
    """
    at = os.open(f"{PROC}/{pid}", DIRECTORY)
    try:
        process = ProcEntry(at)
        status = Stat.parse(process.read("stat"))
        if status.ended:
            return status.threads <= 1
        threads = Threads(process, status.device, within=True, at_least_s=at_least_s)
        for thread in process.threads():
            found = threads.look(thread)
            if found is None or not found.within or len(switches) >= _MOST:
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
