"""What the processes of a session did: CPU time, bytes, what came on their TCP connections; or that they did nothing.

A sample costs some ten microseconds a process, and one call of `ss` for all sessions that share `TcpSockets`.  `ss` of
iproute2 (sock_diag, tcp_info) is on every Linux machine that has `ip`, asks the kernel once for all sockets, and takes
a few milliseconds.  Another network namespace, as a container has, is entered by `nsenter`, if that is permitted.

What a program has just written may not be on the screen yet: it waits in the kernel until the terminal's other side
reads it.  But the kernel counts what each process wrote, at once: so stillness is asked right before a key is pressed.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.probes.foreground_job import settled
from stallkit.probes.procfs import DIRECTORY, PAGE, PROC, TICKS, ProcEntry, Stat, all_pids, children_of, stat_of
from stallkit.probes.readers import tty_facts

# --- what is counted ---

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
        """Those in the namespace of a process; None if they are unknown.  Never raises."""
        space = _namespace(pid)
        if space is None:
            return None
        if space not in self._known:
            own = space == _namespace("self")
            text = _asked(*(() if own else ("nsenter", f"--net={PROC}/{pid}/ns/net")), "ss", *_WORDS)
            self._known[space] = None if text is None else parsed(text)
        return self._known[space]

    def holder(self, inode: int) -> int | None:
        """A process that holds this end of a unix socket; None if none is seen."""
        if self._holders is None:
            self._holders = {}
            for row in (_asked("ss", "-H", "-x", "-n", "-p") or "").splitlines():
                ends, who = _ends(row.split()), _HOLDER.search(row)
                if ends and who:
                    self._holders[ends[0]] = int(who[1])
        return self._holders.get(inode)


def sample(roots: Iterable[int], sockets: TcpSockets | None = None) -> Activity | None:
    """What these processes and all below them have done so far; None if no process can be seen.

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
    """What the processes that were added have done."""

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
        """Those to others; None if not all are known."""
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
    """The sockets that a process has open; None if that is unknown."""
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
    """What a command prints; None if it fails."""
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


# --- stillness ---

WROTE = "its program wrote something a moment ago"


class Stillness:
    """From now on, until `doubt` is called, the foreground of the terminal in `seen` is to do nothing.

    Where it `may_write`, as a spinner does, it only has to stay the same foreground, and take input in the same way.

    A context, since it keeps files of /proc open: between the last one that `doubt` reads and the key there should be
    nothing else.  Unknown facts change nothing: without /proc, or for another user's processes, there is only what the
    look knows.
    """

    def __init__(self, seen: Snapshot, terminal: str | int, may_write: bool = False) -> None:
        self._seen, self._may_write = seen, may_write
        self._terminal = terminal if seen.kernel is None else seen.kernel.terminal or terminal
        self._files = ExitStack()
        members = seen.kernel.members if seen.kernel else ()
        self._members = [_opened(member.pid, self._files) for member in members if not member.ended]
        self._commands = [member.command for member in self._members]
        self._written = [member.written for member in self._members]

    def __enter__(self) -> Stillness:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._files.close()

    def doubt(self) -> str | None:
        """What is different now: the terminal's settings, the programs, or that one of them wrote; None: nothing."""
        kernel = self._seen.kernel
        return (kernel and self._members and self._other_programs(kernel)) or self._moved()

    def _other_programs(self, kernel: KernelFacts) -> str | None:
        """What is different about the programs; takes milliseconds."""
        if _others(kernel, self._members):
            return "other processes are in its foreground now"
        if kernel.listening and kernel.reader is None and settled(self._terminal, kernel.pid or 0).listening is False:
            return "nothing in its foreground reads the terminal now"
        if [member.command for member in self._members] != self._commands:
            return "another program runs in its foreground now"
        return None

    def _moved(self) -> str | None:
        """Last of all, in microseconds: what happens from here on is not noticed."""
        if self._seen.tty is not None and tty_facts(self._terminal) != self._seen.tty:
            return "its terminal takes input in another way now: echo or canonical mode changed, or somebody types"
        if not self._may_write and [member.written for member in self._members] != self._written:
            return WROTE
        return None


@frozen
class _Opened:
    """A process whose directory and counters are held open: they stay with it if its number is reused."""

    entry: ProcEntry | None
    counters: int | None

    @property
    def stat(self) -> Stat | None:
        try:
            return None if self.entry is None else self.entry.stat()
        except (OSError, ValueError, IndexError):
            return None

    @property
    def command(self) -> str | None:
        """Its arguments: a program may start another one of its name in its own place."""
        try:
            return None if self.entry is None else self.entry.read("cmdline")
        except OSError:
            return None

    @property
    def written(self) -> bytes | None:
        """How many bytes it wrote, to anything, with its threads and the children that have ended."""
        if self.counters is None:
            return None
        try:
            return os.pread(self.counters, PAGE, 0).partition(b"wchar:")[2].partition(b"\n")[0]
        except OSError:
            return None


def _opened(pid: int, files: ExitStack) -> _Opened:
    try:
        entry = files.enter_context(ProcEntry.of(pid))
    except OSError:
        return _Opened(None, None)
    try:
        counters = os.open("io", os.O_RDONLY | os.O_CLOEXEC, dir_fd=entry.at)
    except OSError:
        return _Opened(entry, None)
    files.callback(os.close, counters)
    return _Opened(entry, counters)


def _others(kernel: KernelFacts, members: list[_Opened]) -> bool:
    """Whether the group, or its place in the foreground, is not that of these facts any more."""
    alive = [member for member in kernel.members if not member.ended]
    if kernel.group is None or None in [member.started for member in alive]:
        return False  # from ps: nothing more is known
    stats = [member.stat for member in members]
    if [stat and stat.started for stat in stats] != [member.started for member in alive]:
        return True
    if any(stat is not None and (stat.group, stat.foreground) != (kernel.group, kernel.group) for stat in stats):
        return True
    return _in_group(kernel.group) != {member.pid for member in kernel.members}


def _in_group(group: int) -> set[int]:
    return {pid for pid in all_pids() if _group(pid) == group}


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:  # it ended meanwhile
        return None
