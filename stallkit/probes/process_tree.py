"""One sample of what the processes of a session did: CPU time, bytes, and what came on their TCP connections.

A sample costs some ten microseconds a process, and one call of `ss` for all sessions that share `TcpSockets`.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from contextlib import suppress
from typing import Iterable, Iterator

from stallkit.core.activity import Activity, Connection, ProcessActivity, outgoing
from stallkit.probes.procfs import DIRECTORY, PROC, TICKS, ProcEntry, Stat, children_of
from stallkit.probes.tcp_sockets import Sockets, TcpSockets

__all__ = ["PROCESSES", "sample"]

PROCESSES = 256  # looked at in one sample
_BYTES = re.compile(r"^(rchar|wchar): (\d+)$", re.MULTILINE)
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def sample(roots: Iterable[int], sockets: TcpSockets | None = None) -> Activity | None:
    """What these processes and all below them have done so far; None where no process can be seen.

    `sockets` are shared by the samples of one sweep.  Of another user's processes the CPU time is known and the rest is
    not; if that is so of one of them, the connections are unknown.  Never raises.
    """
    sockets = TcpSockets() if sockets is None else sockets
    processes: list[ProcessActivity] = []
    connections: list[Connection] = []
    listening: set[str] = set()
    known = True
    boot, now = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)), time.monotonic()
    for entry, stat, pid in _tree(roots):
        processes.append(_process(entry, stat, pid, boot))
        inodes = _socket_inodes(entry)
        seen = sockets.seen_by(pid) if inodes else Sockets()
        if inodes is None or seen is None:
            known = False
            continue
        connections += [seen.connections[one] for one in inodes if one in seen.connections]
        listening |= {seen.listening[one] for one in inodes if one in seen.listening}
    if not processes:
        return None
    if not known or len(processes) >= PROCESSES:
        return Activity(now, tuple(processes), None)
    return Activity(now, tuple(processes), outgoing(dict.fromkeys(connections), listening))  # two may share one


def _tree(roots: Iterable[int]) -> Iterator[tuple[ProcEntry, Stat, int]]:
    """Each process that is there, with its directory, which is open only until the next one is asked for."""
    waiting, seen = deque(roots), set[int]()
    while waiting and len(seen) < PROCESSES:
        pid = waiting.popleft()
        if pid in seen:
            continue
        seen.add(pid)
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)
        except OSError:  # it ended
            continue
        try:
            entry = ProcEntry(at)
            stat = Stat.parse(entry.read("stat"))
            if not stat.ended:
                yield entry, stat, pid
        except (OSError, ValueError, IndexError):
            continue
        finally:
            os.close(at)
        waiting.extend(children_of(pid))


def _process(entry: ProcEntry, stat: Stat, pid: int, boot: float) -> ProcessActivity:
    try:
        counts = dict(_BYTES.findall(entry.read("io")))
    except OSError:  # another user's
        counts = {}
    return ProcessActivity(
        pid=pid,
        started=stat.started,
        name=stat.name,
        parent=stat.parent,
        age_s=max(0.0, boot - stat.started / TICKS),
        cpu_s=stat.ticks / TICKS,
        foreground=stat.device != 0 and stat.group == stat.foreground,
        read=int(counts["rchar"]) if "rchar" in counts else None,
        written=int(counts["wchar"]) if "wchar" in counts else None,
    )


def _socket_inodes(entry: ProcEntry) -> set[int] | None:
    """The sockets that a process has open; None where that is unknown."""
    try:
        at = os.open("fd", DIRECTORY, dir_fd=entry.at)
    except OSError:
        return None
    found = set()
    try:
        with os.scandir(at) as entries:
            for one in entries:
                with suppress(OSError):  # closed meanwhile
                    if link := _SOCKET.fullmatch(os.readlink(one.name, dir_fd=at)):
                        found.add(int(link[1]))
    except OSError:
        return None
    finally:
        os.close(at)
    return found
