"""What the kernel says of a terminal's foreground over one second, as a line of a corpus has it (docs/measure.md)."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable

from stallkit.evidence.snapshot import KernelFacts, Member
from stallkit.probes.foreground_job import probe, probe_elsewhere

SAMPLES = 5
# As corpora name them; the numbers are those of x86-64.
_CALLS = {0: "read", 1: "write", 7: "poll", 19: "readv", 23: "select", 34: "pause", 35: "nanosleep", 61: "wait4"}
_CALLS |= {130: "rt_sigsuspend", 202: "futex", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid"}
_CALLS |= {128: "rt_sigtimedwait", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait"}


def observed(tty: str, leader: int) -> dict[str, Any]:
    """`proc` and `probe_1s`, but for `screen_same`, of the job in this terminal; it takes a second."""
    hits = running = 0
    how: str | None = None
    first = kernel = probe(tty, leader)
    before = _cpu_ns(_job(first))
    for sample in range(SAMPLES):
        kernel = probe(tty, leader) if sample else first
        running += bool(kernel.running)
        if not kernel.listening:
            kernel = probe_elsewhere(kernel, tty)  # a pinentry is not in the foreground
        hits += kernel.listening is True
        how = kernel.how or how
        time.sleep(1 / SAMPLES)
    used = sum(max(spent - before.get(thread, 0), 0) for thread, spent in _cpu_ns(_job(first)).items())
    waits = {"how": {"epoll": "epoll_wait"}.get(how, how)} if how and hits else None
    return {
        "proc": _processes(first, kernel, waits),
        "probe_1s": {
            "cpu_ms": round(used / 1e6, 2),
            "tty_wait_hits": hits,
            "tty_wait_samples": SAMPLES,
            "running_hits": running,
        },
    }


def _job(kernel: KernelFacts) -> list[Member]:
    return [*kernel.members, *kernel.below]


def _processes(first: KernelFacts, last: KernelFacts, waits: dict[str, str] | None) -> list[dict[str, Any]]:
    """Each process of the job; where none of them is known to read, the first one stands for the reader elsewhere."""
    readers = {member.pid for member in last.readers or ()}
    told = [
        {
            "comm": member.name,
            "threads": member.threads,
            "syscall_name": _call(member.pid),
            "tty_wait": waits if member.pid in readers else None,
        }
        for member in _job(first)
    ] or [{"comm": first.foreground, "tty_wait": None}]
    if waits and not any(one["tty_wait"] for one in told):
        told[0]["tty_wait"] = waits
    return told


def _call(pid: int) -> str | None:
    with suppress(OSError, ValueError):
        number = Path(f"/proc/{pid}/syscall").read_text().split()[0]
        return _CALLS.get(int(number), number)
    return None


def _cpu_ns(members: Iterable[Member]) -> dict[str, int]:
    """For how long each of their threads was on a CPU."""
    spent = {}
    for member in members:
        for thread in Path(f"/proc/{member.pid}/task").glob("*/schedstat"):
            with suppress(OSError, ValueError):
                spent[str(thread)] = int(thread.read_text().split()[0])
    return spent
