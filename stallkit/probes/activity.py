"""One sample of what the processes of a session did: CPU time, bytes, and what came on their TCP connections.

A sample costs some ten microseconds a process, and one call of `ss` for all sessions that share `TcpSockets`.  `ss` of
iproute2 (sock_diag, tcp_info) is on every Linux machine that has `ip`, asks the kernel once for all sockets, and takes
a few milliseconds.  Another network namespace, as a container has, is entered by `nsenter`, where that is permitted.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from stallkit.probes.procfs import DIRECTORY, PROC, TICKS, ProcEntry, Stat, children_of, stat_of

__all__ = [
    "Activity",
    "Connection",
    "PROCESSES",
    "ProcessActivity",
    "Sockets",
    "TcpSockets",
    "outgoing",
    "parsed",
    "sample",
]

PROCESSES = 256  # looked at in one sample
SERVERS = 2  # in a row that are followed: a server of a server


ANSWER_S = 3.0
_WORDS = ("-H", "-t", "-x", "-n", "-i", "-e", "state", "all", "exclude", "time-wait")
_HOLDER = re.compile(r"pid=(\d+)")
_BYTES = re.compile(r"^(rchar|wchar): (\d+)$", re.MULTILINE)
_SOCKET = re.compile(r"socket:\[(\d+)\]")


@frozen
class ProcessActivity:
    """One process; (pid, started) is one process, a pid alone is not."""

    pid: int
    started: int  # clock ticks since boot
    name: str
    parent: int
    age_s: float = field(eq=False)  # how long it has been there
    cpu_s: float  # user and system time of all its threads, since it started
    foreground: bool  # its group is the one in the foreground of its terminal
    read: int | None = None  # bytes, from files, pipes and most sockets
    written: int | None = None  # bytes, to anything

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from every other process of this boot."""
        return (self.pid, self.started)


@frozen
class Connection:
    """One TCP connection, as the kernel counts it: data only, no keep-alive probes, nothing sent twice."""

    local: str  # address and port
    peer: str
    received: int  # bytes, since it was opened
    sent: int
    received_s: float = field(eq=False)  # since data last came; where none did, since it was opened
    sent_s: float = field(eq=False)

    @property
    def unanswered(self) -> bool:
        """Whether something was sent later than anything came."""
        return self.sent > 0 and (self.received == 0 or self.sent_s < self.received_s)


@frozen
class Activity:
    """One sample of the processes below a session."""

    at: float  # seconds of a monotonic clock
    processes: tuple[ProcessActivity, ...]
    connections: tuple[Connection, ...] | None  # to others; None: not all of them are known


def outgoing(connections: Iterable[Connection], listening: Collection[str]) -> tuple[Connection, ...]:
    """The connections that these processes opened to others: the ones that a model's answer can come on.

    Left out are those among themselves, such as a screen's to its own server, which sends a sign of life every few
    seconds, and those that others opened to one of the ports at which they listen.

    >>> own = Connection("127.0.0.1:9", "127.0.0.1:5", 1, 1, 0.0, 0.0)
    >>> outgoing([own, Connection("127.0.0.1:5", "127.0.0.1:9", 1, 1, 0.0, 0.0)], ()), outgoing([own], {"9"})
    ((), ())
    """
    known = tuple(connections)
    ends = {(one.local, one.peer) for one in known}
    return tuple(
        one for one in known if (one.peer, one.local) not in ends and one.local.rpartition(":")[2] not in listening
    )


# --- one sample ---


@frozen
class Sockets:
    """The sockets of one network namespace, by their inodes."""

    connections: Mapping[int, Connection] = field(factory=dict)
    listening: Mapping[int, str] = field(factory=dict)  # the ports
    peers: Mapping[int, int] = field(factory=dict)  # of unix sockets: the other end of each


@define
class TcpSockets:
    """The sockets of each network namespace, asked once: for one sample of many sessions."""

    _known: dict[str, Sockets | None] = field(factory=dict)
    _holders: dict[int, int] | None = None

    def seen_by(self, pid: int) -> Sockets | None:
        """Those in the namespace of a process; None where they are unknown.  Never raises."""
        space = _namespace(pid)
        if space is None:
            return None
        if space not in self._known:
            own = space == _namespace("self")
            text = _asked(*(() if own else ("nsenter", f"--net={PROC}/{pid}/ns/net")), "ss", *_WORDS)
            self._known[space] = None if text is None else parsed(text)
        return self._known[space]

    def holder(self, inode: int) -> int | None:
        """A process that holds this end of a unix socket; None where none is seen."""
        if self._holders is None:
            self._holders = {}
            for row in (_asked("ss", "-H", "-x", "-n", "-p") or "").splitlines():
                ends, who = _ends(row.split()), _HOLDER.search(row)
                if ends and who:
                    self._holders[ends[0]] = int(who[1])
        return self._holders.get(inode)


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
            with ProcEntry.of(pid) as entry:
                stat = entry.stat()
                if not stat.ended:
                    yield entry, stat, pid
        except (OSError, ValueError, IndexError):  # it ended
            continue
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


# --- what `ss` prints ---


def parsed(text: str) -> Sockets:
    """What `ss` printed.

    >>> found = parsed("tcp ESTAB 0 0 10.0.0.2:4711 10.0.0.9:443 ino:7 sk:1 <->\\n\\t bytes_received:9 lastrcv:20")
    >>> found.connections[7].peer, found.connections[7].received, found.connections[7].received_s
    ('10.0.0.9:443', 9, 0.02)
    """
    connections: dict[int, Connection] = {}
    listening: dict[int, str] = {}
    peers: dict[int, int] = {}
    for row in re.split(r"\n(?!\s)", text):
        words = row.split()
        if ends := _ends(words):
            peers |= {ends[0]: ends[1]} if ends[1] else {}
            continue
        if len(words) < 6 or words[0] != "tcp":
            continue
        facts = {name: value for name, colon, value in (word.partition(":") for word in words[6:]) if colon}
        inode, local = _number(facts, "ino"), words[4]
        if words[1] == "LISTEN":
            listening[inode] = local.rpartition(":")[2]
        elif inode:  # else it is over, and no process holds it
            connections[inode] = Connection(
                _plain(local),
                _plain(words[5]),
                received=_number(facts, "bytes_received"),
                sent=_number(facts, "bytes_sent") - _number(facts, "bytes_retrans"),
                received_s=_number(facts, "lastrcv") / 1000,
                sent_s=_number(facts, "lastsnd") / 1000,
            )
    return Sockets(connections, listening, peers)


def _number(facts: Mapping[str, str], name: str) -> int:
    """One of the numbers in a row, in which those are left out that are 0."""
    value = facts.get(name, "0")
    return int(value) if value.isdecimal() else 0


def _ends(words: Sequence[str]) -> tuple[int, int] | None:
    """The inodes of a unix socket and of its other end (0: none), in the words of a row; None for other sockets."""
    if not words or not words[0].startswith("u_"):
        return None
    found = (at for at in range(4, len(words) - 2) if words[at].isdecimal() and words[at + 2].isdecimal())
    at = next(found, None)  # behind its path, which may hold blanks
    return None if at is None else (int(words[at]), int(words[at + 2]))


def _asked(*words: str) -> str | None:
    """What a command prints; None where it fails."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def _plain(address: str) -> str:
    """An address in one form: the two ends of a connection between IPv6 and IPv4 write it differently."""
    return address.replace("[::ffff:", "").replace("]:", ":") if address.startswith("[::ffff:") else address


def _namespace(pid: int | str) -> str | None:
    try:
        return str(Path(PROC, str(pid), "ns/net").readlink())
    except OSError:
        return None
