"""One sample of what the processes of a session did: CPU time, bytes, and what came on their TCP connections.

A sample costs some ten microseconds a process, and one call of `ss` for all sessions that share `TcpSockets`.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from contextlib import suppress
from typing import Collection, Iterable, Iterator

from attrs import define, field

from stallkit.probes.activity import Activity, Connection, ProcessActivity, outgoing
from stallkit.probes.procfs import DIRECTORY, PROC, TICKS, ProcEntry, Stat, children_of, stat_of
from stallkit.probes.tcp_sockets import Sockets, TcpSockets

__all__ = ["PROCESSES", "sample"]

PROCESSES = 256  # looked at in one sample
SERVERS = 2  # in a row that are followed: a server of a server
_BYTES = re.compile(r"^(rchar|wchar): (\d+)$", re.MULTILINE)
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def sample(roots: Iterable[int], sockets: TcpSockets | None = None) -> Activity | None:
    """What these processes and all below them have done so far; None where no process can be seen.

    With them is a server of the same name that one of them has a unix socket to, as the sessions of an agent may share
    one that asks the model and runs the tools.  `sockets` are shared by the samples of one sweep.  Of another
    user's processes the CPU time is known and the rest is not; if that is so of one of them, or none has a TCP
    connection while one speaks to another program through a unix socket, the connections are unknown.  Never raises.
    """
    found = _Found(TcpSockets() if sockets is None else sockets)
    found.add(roots)
    for _ in range(SERVERS):
        servers = found.servers()
        if not servers:
            break
        found.add(servers)
    if not found.processes:
        return None
    return Activity(found.at, tuple(found.processes.values()), found.connections())


@define
class _Found:
    """What was seen of the processes that were added."""

    sockets: TcpSockets
    processes: dict[int, ProcessActivity] = field(factory=dict)
    known: bool = True
    at: float = field(factory=time.monotonic)
    _boot: float = field(factory=lambda: time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))
    _tcp: dict[Connection, None] = field(factory=dict)  # two processes may share one
    _ports: set[str] = field(factory=set)
    _ends: set[int] = field(factory=set)  # of all sockets
    _peers: dict[int, int] = field(factory=dict)  # of unix sockets: the other end of each

    def add(self, roots: Iterable[int]) -> None:
        """These processes, and all below them."""
        for entry, stat, pid in _tree(roots, self.processes):
            self.processes[pid] = _process(entry, stat, pid, self._boot)
            inodes = _socket_inodes(entry)
            seen = self.sockets.seen_by(pid) if inodes else Sockets()
            if inodes is None or seen is None or len(self.processes) >= PROCESSES:
                self.known = False
                continue
            self._ends |= inodes
            self._tcp.update((seen.connections[one], None) for one in inodes if one in seen.connections)
            self._ports |= {seen.listening[one] for one in inodes if one in seen.listening}
            self._peers.update((one, seen.peers[one]) for one in inodes if one in seen.peers)

    def servers(self) -> set[int]:
        """The processes of the same name at the other end of a unix socket that were not added yet."""
        names = {one.name for one in self.processes.values() if one.foreground}
        holders = {self.sockets.holder(one) for one in self._outside} - {None} - self.processes.keys()
        return {pid for pid in holders if pid is not None and (stat := stat_of(pid)) and stat.name in names}

    def connections(self) -> tuple[Connection, ...] | None:
        """Those to others; None where not all are known."""
        found = outgoing(self._tcp, self._ports)
        return found if self.known and (found or not self._outside) else None

    @property
    def _outside(self) -> set[int]:
        """The other ends of unix sockets that none of the processes has."""
        return set(self._peers.values()) - self._ends


def _tree(roots: Iterable[int], known: Collection[int]) -> Iterator[tuple[ProcEntry, Stat, int]]:
    """Each process that is there, with its directory, which is open only until the next one is asked for."""
    waiting, seen = deque(roots), set(known)
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
        with suppress(OSError):  # the kernel does not list them
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
