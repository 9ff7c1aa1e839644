"""One terminal: how it takes input, what was typed that nobody has read, who reads it, and which program shows it.

The foreground is not all.  A program inside another one's work may open the terminal and read it beside that one, or
sit on a terminal of its own that the other one holds.  A relay (sudo, script) holds a pseudo-terminal and shows its
content: the program that asks is there.  And gpg lets a process of another session, a pinentry, ask on its terminal.
All of it costs a look at many processes, so it is looked for only if the foreground itself gives no answer.

A relay of our own is found by its process alone, its pid and its start (`stallkit.config.relay_socket`), and asked at
its socket.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Collection, Iterable, Mapping

from attrs import frozen

from stallkit.config import relay_socket
from stallkit.daemon_socket import DaemonError, ask
from stallkit.evidence.snapshot import How, Member, TtyFacts
from stallkit.probes.procfs import (
    ANCESTORS,
    MASTER,
    PROC,
    ProcEntry,
    Process,
    Stat,
    all_pids,
    children_of,
    place_of,
    stat_of,
)
from stallkit.probes.threads import TTY, Threads
from stallkit.terminal.marks import Marks, Status, StatusKind, StatusState
from stallkit.word_tables import RELAYS

# --- one terminal ---

_PEER = 0x5441  # TIOCGPTPEER of Linux 4.13: the other side of a master, whatever its path is
_OPEN = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


def tty_facts(terminal: str | int) -> TtyFacts:
    """Echo, canonical mode and unread keys of a terminal, given as its path or as a pseudo-terminal's master.

    It never becomes the caller's controlling terminal, nothing is read from it, and unknown facts are None.  Never
    raises for failures of the outside world.
    """
    try:
        if isinstance(terminal, int):
            return _of_master(terminal)
        if not stat.S_ISCHR(Path(terminal).stat().st_mode):  # a pipe's writer would notice that it is opened
            return TtyFacts()
        opened = os.open(terminal, _OPEN)
    except (OSError, ValueError):  # gone, not permitted, not a valid path
        return TtyFacts()
    try:
        return _settings(opened, opened)
    finally:
        os.close(opened)


def _of_master(master: int) -> TtyFacts:
    """By the other side, where the system opens it: what waits at a master is the program's output."""
    opened = None
    with suppress(OSError, ValueError, OverflowError):
        opened = fcntl.ioctl(master, _PEER, _OPEN)
    try:
        return _settings(master, opened)
    finally:
        if opened is not None:
            os.close(opened)


def _settings(descriptor: int, typed_into: int | None) -> TtyFacts:
    try:
        local, characters = termios.tcgetattr(descriptor)[3::3]
    except (OSError, ValueError, OverflowError, termios.error):
        return TtyFacts()
    lines = bool(local & termios.ICANON)
    unread = None
    if typed_into is not None:
        with suppress(OSError):
            unread = int.from_bytes(fcntl.ioctl(typed_into, termios.FIONREAD, bytes(4)), sys.byteorder)
    # Where lines are read, the same places hold the characters that end a line.
    blocks = lines or (characters[termios.VMIN] > 0 and characters[termios.VTIME] == 0)
    return TtyFacts(echo=bool(local & termios.ECHO), canonical=lines, blocks=blocks, unread=unread)


# --- a relay of our own ---


RELAY = "stallkit"  # of a relay's process, as /proc/PID/comm has it
ANSWER_S = 1.0


@frozen
class Relayed:
    """What one relay knows."""

    pid: int  # of the program that it started
    terminal: str  # the path of that program's terminal
    foreground: int  # the number of the foreground group there
    marks: Marks  # what the program reports of itself; its records are dated by the caller's clock
    judged: dict[str, Any] | None  # the relay's own judgement: state, certainty, kind, reasons, age_s; or None


def relayed(relay: Process, now: float) -> Relayed | None:
    """What the relay that is this process knows; None if it is none, or does not answer.

    `now` dates the records, in seconds of the caller's clock.
    """
    path = relay_socket(relay.pid, relay.started)
    if not path.exists():
        return None

    with suppress(DaemonError, OSError, KeyError, TypeError, ValueError):
        told = ask(path, {"do": "status"}, ANSWER_S)
        statuses = tuple(_status(one, now) for one in told["reports"])
        marks = Marks(statuses, shell=told["shell"], exit_status=told["exit_status"])
        return Relayed(told["pid"], told["terminal"], told["foreground"], marks, told["judged"])
    return None


def inner_leader_of(relay: int) -> int | None:
    """The first process on the terminal behind a relay, without a look at all processes; None if it is unknown."""
    try:
        children = Path(PROC, str(relay), "task", str(relay), "children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None  # the program is started before the judge


def relay_above(pid: int) -> Process | None:
    """The process that started the terminal session of this one: its relay, if it is behind one."""
    member = stat_of(pid)
    leader = stat_of(member.session) if member is not None else None
    return Process.of(leader.parent) if leader is not None else None


def _status(told: dict[str, Any], now: float) -> Status:
    given = {name: told[name] for name in ("id", "progress", "app", "title", "msg")}
    kind = None if told["kind"] is None else StatusKind(told["kind"])
    return Status(**given, state=StatusState(told["state"]), at=now - told["age_s"], kind=kind)


# --- who reads it ---

_LOOKS, _AGAIN_S = 3, 0.005  # a program that polls in intervals may be seen between two polls


@frozen
class Reader:
    """A process that waits for a terminal's input."""

    name: str
    pid: int
    how: How
    interactive: bool | None = None  # as `Member.interactive`: a shell that takes commands


@frozen
class Readers:
    """Who reads a terminal now."""

    known: tuple[Reader, ...] = ()
    unknown: tuple[Member, ...] = ()  # they have it open, or may, and may read it
    complete: bool = False  # no process of the machine is hidden


@frozen
class InnerReader:
    """A process inside the work of another program that waits for input: on that one's terminal, or on one below it."""

    name: str
    pid: int
    how: How
    inside: str  # the name of the program in whose work it asks
    below: bool  # it has a terminal of its own, which that program holds; else it reads the same one beside it
    terminal: str  # the path of the terminal that it reads


def readers(device: int, but: Collection[int] = ()) -> Readers:
    """Who reads the terminal of this number that this process sees, in up to three looks; nobody in `but` is looked at.

    A process of another user that has it as its controlling terminal is unknown; so is everything where there is no
    /proc.  Never raises for failures of the outside world.
    """
    found = Readers()
    for look in range(_LOOKS):
        if look:
            time.sleep(_AGAIN_S)
        found = _readers(device, but)
        if found.known or found.unknown or not found.complete:
            break
    return found


def _readers(device: int, but: Collection[int]) -> Readers:
    try:
        pids = all_pids()
    except OSError:
        return Readers()
    known: list[Reader] = []
    unknown: list[Member] = []
    place = place_of(device, os.getpid())
    for pid in pids:
        if pid in but:
            continue
        with suppress(OSError, ValueError, IndexError), ProcEntry.of(pid) as process:
            stat = process.stat()
            if stat.ended or stat.state in "Tt":  # one that is stopped reads nothing before it goes on
                continue
            if process.devices is None:
                if stat.device == device:
                    unknown.append(process.member(pid, stat))
                continue
            if process.elsewhere(device, place):
                continue
            reads = _reads(process, pid, stat, device)
            if isinstance(reads, Reader):
                known.append(reads)
            elif reads is not None:
                unknown.append(reads)
    return Readers(tuple(known), tuple(unknown), complete=1 in pids)


def _reads(process: ProcEntry, pid: int, stat: Stat, device: int) -> Reader | Member | None:
    """The process as a reader of a terminal, as a mere member if that is unknown, None if it does not read it."""
    controlling = stat.device == device
    devices = process.devices or frozenset()
    if device not in devices and not (controlling and TTY in devices):
        return None
    threads = Threads(process, device, controlling=controlling)
    seen = [look for thread in process.threads() if (look := threads.look(thread))]
    best = next((one for one in seen if one.listening), None)
    if best is not None:
        member = process.member(pid, stat)
        return Reader(member.called or stat.name, pid, best.how or "read", member.interactive)
    return process.member(pid, stat) if any(one.listening is None for one in seen) else None


def holders(device: int) -> list[int]:
    """The processes that hold the master of a pseudo-terminal, as far as that must be seen: its own user's alone."""
    try:
        pids = all_pids()
    except OSError:
        return []
    ours = _terminals_of("self")
    return [pid for pid in pids if os.minor(device) in _masters(pid) and _terminals_of(pid) in (ours, None)]


def _terminals_of(pid: int | str) -> int | None:
    """The file system of the terminals that a process sees: each container has one, and counts them from 0."""
    with suppress(OSError):
        return os.stat(f"{PROC}/{pid}/root/dev/pts").st_dev  # noqa: PTH116
    return None


def _masters(pid: int) -> set[int]:
    """The numbers of the pseudo-terminals whose master a process holds."""
    found = set()
    with suppress(OSError, ValueError), ProcEntry.of(pid) as process:
        for one in process.descriptors or ():
            if one.device != MASTER:
                continue
            for line in process.read(f"fdinfo/{one.number}").splitlines():
                if line.startswith("tty-index:"):
                    found.add(int(line.partition(":")[2]))
    return found


def inner_readers(leader: int, device: int | None = None) -> tuple[InnerReader, ...]:
    """Who reads inside the work of a program of this session: beside it on its terminal, or on a terminal below.

    `leader` is the session's first process, `device` its terminal if that is not the leader's own.  Told are: a
    process that reads the session's terminal while one above it reads it as well, as ssh does that an agent's tool call
    started; and one that reads a terminal whose master a program of the session holds.  A relay (sudo, script) passes
    its keys on and is no such program; a shell that rests at its prompt on such a terminal asks nothing, nor does what
    polls it for lines while it works.  Another user's processes are not seen.  Never raises for failures of the outside
    world.
    """
    first = stat_of(leader)
    device = device or (first.device if first else 0)
    if not device:
        return ()
    above = _below(leader)
    reading: dict[int, tuple[int, Reader]] = {}
    for pid in above:
        with suppress(OSError, ValueError, IndexError), ProcEntry.of(pid) as process:
            stat = process.stat()
            if stat.ended or stat.state in "Tt":
                continue
            own = stat.device or device
            reader = _reads(process, pid, stat, own)
            if isinstance(reader, Reader):
                reading[pid] = (own, reader)
    found = (_inner(pid, own, reader, device, above, reading) for pid, (own, reader) in reading.items())
    return tuple(one for one in found if one is not None)


def _inner(
    pid: int,
    own: int,
    reader: Reader,
    device: int,
    above: Mapping[int, tuple[int, ...]],
    reading: Mapping[int, tuple[int, Reader]],
) -> InnerReader | None:
    if own == device:
        beside = next(
            (reading[one][1].name for one in above[pid] if one in reading and reading[one][0] == device), None
        )
        return InnerReader(reader.name, pid, reader.how, beside, False, _path(own)) if beside else None
    if reader.interactive or (reader.how != "read" and tty_facts(_path(own)).canonical is not False):
        return None  # a shell at its prompt; one that works, and keeps an eye on its keyboard
    holder = next((one for one in above[pid] if os.minor(own) in _masters(one)), None)
    stat = stat_of(holder) if holder else None
    if stat is None or stat.name.partition(":")[0] in RELAYS:
        return None
    return InnerReader(reader.name, pid, reader.how, stat.name, True, _path(own))


def _below(leader: int) -> dict[int, tuple[int, ...]]:
    """A process and all below it, each with those above it up to that one, the nearest first."""
    try:
        return _listed_below(leader)
    except OSError:  # a kernel that does not list the children of a process
        return _searched_below(leader)


def _listed_below(leader: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {leader: ()}
    ahead = [leader]
    while ahead:
        pid = ahead.pop()
        for child in children_of(pid) if len(found[pid]) < ANCESTORS else ():
            if child not in found:
                found[child] = (pid, *found[pid])
                ahead.append(child)
    return found


def _searched_below(leader: int) -> dict[int, tuple[int, ...]]:
    """The same, from all processes of the machine."""
    try:
        parents = {pid: stat.parent for pid in all_pids() if (stat := stat_of(pid))}
    except OSError:
        return {}
    found: dict[int, tuple[int, ...]] = {}
    for pid in parents:
        chain: list[int] = []
        at = pid
        while at != leader and len(chain) < ANCESTORS and parents.get(at, 0) > 1:
            at = parents[at]
            chain.append(at)
        if at == leader:
            found[pid] = tuple(chain)
    return found


def _path(device: int) -> str:
    return f"/dev/pts/{os.minor(device)}"


# --- readers outside of the foreground ---


_BETWEEN = 16  # processes between a relay and the session that it started: sudo has two, a shell wrapper one more


def inner_leader(numbers: Iterable[int], group: Collection[int], device: int) -> tuple[int, int] | None:
    """The leader of the session that a relay of this group started on another terminal, and that terminal's device.

    None if there is none, as with ssh and docker, whose inner terminal is on another machine or belongs to another
    process, or if there are several, as with a multiplexer.
    """
    found: dict[int, int] = {}
    for pid in numbers:
        try:
            if os.getsid(pid) != pid:
                continue
        except OSError:  # it ended meanwhile
            continue
        leader = stat_of(pid)
        if leader is not None and leader.device not in (0, device) and _descends(leader, group, device):
            found.setdefault(leader.device, pid)
    return next(((pid, terminal) for terminal, pid in found.items()), None) if len(found) == 1 else None


def session_on(numbers: Iterable[int], group: Collection[int], device: int) -> int | None:
    """The group that a relay of this group started on this same terminal, in a session of its own, as ``su -c`` does.

    None if there is none, or several, or if what the processes have open is unknown.
    """
    found = set[int]()
    for pid in numbers:
        try:
            if os.getsid(pid) != pid:
                continue
            with ProcEntry.of(pid) as process:
                leader = stat_of(pid)
                if leader is not None and leader.device == 0 and _descends(leader, group, device):
                    found.update({leader.group} if device in (process.devices or ()) else ())
        except OSError:  # it ended meanwhile
            continue
    return found.pop() if len(found) == 1 else None


def reader(numbers: Iterable[int], group: Collection[int], device: int) -> tuple[str, How] | None:
    """The name of a process outside the group that waits for this terminal's input, and how it waits; or None."""
    place = next((found for pid in group if (found := place_of(device, pid)) is not None), None)
    for pid in numbers:
        if pid in group:
            continue
        with suppress(OSError, ValueError, IndexError), ProcEntry.of(pid) as process:  # it may end meanwhile
            if device not in (process.devices or ()) or process.elsewhere(device, place):
                continue
            threads = Threads(process, device, controlling=False)
            waits = [seen for thread in process.threads() if (seen := threads.look(thread)) and seen.listening]
            if waits and waits[0].how is not None:
                return process.name() or process.stat().name, waits[0].how
    return None


def _descends(process: Stat, group: Collection[int], device: int) -> bool:
    """Whether a group started a process, and no process between them has another terminal."""
    for _ in range(_BETWEEN):
        if process.parent in group:
            return True
        parent = stat_of(process.parent)
        if parent is None or parent.device not in (0, device):
            return False
        process = parent
    return False
