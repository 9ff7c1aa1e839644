"""The processes in a terminal's foreground, and whether a thread of them waits for the terminal's input.

On Linux all of it is under /proc.  Elsewhere ps gives the processes, and the rest is unknown.
"""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Iterable

from attrs import evolve

from stallkit.core.facts import RELAYS, How, KernelFacts, Member
from stallkit.core.verdict import Snapshot
from stallkit.probes import tty
from stallkit.probes.outside_readers import inner_leader, reader
from stallkit.probes.procfs import DIRECTORY, GONE, PROC, ProcEntry, Stat, stat_of
from stallkit.probes.threads import Seen, Threads

__all__ = ["foreground", "probe", "probe_elsewhere", "probed"]

DEADLINE_S = 2.0  # for ps
RELAYS_IN_A_ROW = 4  # followed at most, as in sudo in script in sudo
THREADS = 256  # looked at in one probe: each takes about ten microseconds
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")
# A program that polls in intervals may be seen between two polls: it is looked at again before it counts as idle.
_AGAIN, _AGAIN_S = 2, 0.005


def probe(terminal: str | int, leader_pid: int) -> KernelFacts:
    """The facts on a terminal's foreground; the terminal is its path or the master of its pseudo-terminal.

    `leader_pid` is the session's own first process, ignored if it is on another terminal.  Takes about a millisecond of
    CPU with ten processes.  Never raises for failures of the outside world.
    """
    if not Path(PROC, "self/stat").exists():
        return _by_ps(leader_pid)
    try:
        found = _foreground(terminal, leader_pid)
        numbers = _numbers()
    except (OSError, ValueError):
        found = None
    if found is None:
        return KernelFacts(pid=leader_pid)
    group, device, born = found
    facts = _of_foreground(numbers, group, device, leader_pid, born)
    for _ in range(RELAYS_IN_A_ROW):
        if facts.relay is None:
            break
        inside = inner_leader(numbers, {member.pid for member in facts.members}, device)
        first = stat_of(inside[0]) if inside else None
        if inside is None or first is None or first.foreground <= 0:
            break
        through, device = facts.through or facts.relay, inside[1]
        facts = _of_foreground(numbers, first.foreground, device, leader_pid, born)
        facts = evolve(facts, through=through, terminal=_path_of(device))
    return facts


def probe_elsewhere(facts: KernelFacts, terminal: str | int) -> KernelFacts:
    """The facts, with a process that reads the terminal from outside its foreground, as a pinentry does.

    For a terminal in raw mode that nothing in its foreground reads: it costs a look at every process.
    """
    try:
        found = _foreground(terminal, facts.pid or 0)
        by = reader(_numbers(), {member.pid for member in facts.members}, found[1]) if found else None
    except (OSError, ValueError):
        by = None
    return evolve(facts, listening=True, how=by[1], reader=by[0]) if by else facts


def probed(now: Snapshot, before: Snapshot | None, terminal: str | int, leader: int) -> Snapshot:
    """The look with quiet time, and with the facts on its terminal (a path, or the master's descriptor).

    The kernel is asked only where the screen rests: while it changes the facts mean nothing, and they cost a
    millisecond.  `before` is the previous look, `leader` the pid of the session's first process.
    """
    if before is None or before.taken_at is None or now.taken_at is None:
        return now
    if before.screen.fingerprint != now.screen.fingerprint:
        return evolve(now, quiet_s=0.0)
    quiet_s = (before.quiet_s or 0.0) + now.taken_at - before.taken_at
    if not now.alive:
        return evolve(now, quiet_s=quiet_s)
    kernel = probe(terminal, leader)
    for _ in range(_AGAIN):
        if kernel.listening is not False or not kernel.running:
            break
        time.sleep(_AGAIN_S)
        kernel = probe(terminal, leader)
    settings = tty.probe(kernel.terminal or terminal)
    if kernel.listening is False and settings.canonical is False and not kernel.through:
        kernel = probe_elsewhere(kernel, terminal)  # raw, and the foreground does not read: another process may
    return evolve(now, quiet_s=quiet_s, kernel=kernel, tty=settings)


def foreground(terminal: int) -> str | None:
    """The name of the foreground process, as tmux gives it: its first word; None where it is unknown.

    `terminal` is the master of its pseudo-terminal.  It takes a tenth of the time of `probe`.
    """
    try:
        group = os.tcgetpgrp(terminal)
        at = os.open(f"{PROC}/{group}", DIRECTORY)
    except OSError:  # it ended meanwhile, or there is no /proc
        return None
    try:
        stat = stat_of(group)
        return ProcEntry(at).name() or (stat.name if stat else None)
    finally:
        os.close(at)


def _foreground(terminal: str | int, leader: int) -> tuple[int, int, int | None] | None:
    """The foreground group, the terminal's device number and the leader's start; None where unknown."""
    device = None
    if isinstance(terminal, str):
        status = Path(terminal).stat()
        if not stat.S_ISCHR(status.st_mode):
            return None
        device = status.st_rdev
    first = stat_of(leader)
    if first is not None and (first.device == 0 or device not in (None, first.device)):
        first = None  # its number belongs to another process by now, or it left the terminal
    if isinstance(terminal, int):
        group = os.tcgetpgrp(terminal)
        if first is not None and first.foreground != group:
            first = None  # it is on another terminal
        member = first or stat_of(group)
        device = member.device if member is not None and member.foreground == group else None
    elif first is not None:
        group = first.foreground
    else:  # the leader ended; any other process on the terminal has its foreground group
        others = (stat_of(pid) for pid in _numbers())
        group = next((other.foreground for other in others if other is not None and other.device == device), -1)
    return (group, device, first.started if first else None) if group > 0 and device else None


def _of_foreground(numbers: Iterable[int], group: int, device: int, leader: int, born: int | None) -> KernelFacts:
    members = _Group(device)
    for pid in sorted(_of_group(numbers, group), key=lambda pid: (pid != group, pid)):
        members.add(pid, group)
    # /proc mounted with hidepid shows only the user's own processes: then an unseen process may read.
    return members.facts(leader, born, group, complete=1 in numbers)


class _Group:
    """The members of one group, added one by one, and the facts on all of them."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._members: list[Member] = []
        self._seen: list[Seen] = []
        self._foreground: str | None = None
        self._relay: str | None = None
        self._missed = False  # a process could not be looked at

    def add(self, pid: int, group: int) -> None:
        """Look at one process, which may have ended by now."""
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)  # stays with this process if the number is reused
        except OSError as error:
            self._missed = self._missed or not isinstance(error, GONE)
            return
        try:
            process = ProcEntry(at)
            status = Stat.parse(process.read("stat"))
            if status.group != group:
                return
            member = Member(pid, status.name, status.state, status.started, status.threads)
            self._members.append(member)
            name = status.name
            if self._foreground is None:
                name = self._foreground = process.name() or status.name
            if not member.ended and self._relay is None:
                self._relay = process.relay(name, status.name)
            if not member.ended and not member.stopped:
                self._look(process, str(pid) if status.state == "Z" else None)
        except (OSError, ValueError, IndexError) as error:
            self._missed = self._missed or not isinstance(error, GONE)
        finally:
            os.close(at)

    def _look(self, process: ProcEntry, ended: str | None) -> None:
        threads = Threads(process, self._device)
        for thread in process.threads():
            if len(self._seen) >= THREADS:
                self._missed = True
                return
            seen = None if thread == ended else threads.look(thread, outlived=ended is not None)
            if seen is not None:
                self._seen.append(seen)

    def facts(self, pid: int, started: int | None, group: int, *, complete: bool) -> KernelFacts:
        if not self._members:
            return KernelFacts(pid=pid, started=started, group=group)
        waiting = [seen for seen in self._seen if seen.listening]
        # Seen comes before inferred, and read comes before poll, select and epoll.
        best = min(waiting, key=lambda seen: (seen.source, _RANK.index(seen.how or "epoll")), default=None)
        # A client of tmux or screen hands its terminal to a server, which reads it from elsewhere.
        complete = complete and not self._missed and self._relay is None
        none = complete and all(seen.listening is False for seen in self._seen)
        counted = all(seen.running is not None for seen in self._seen) and not self._missed
        alive = [member for member in self._members if not member.ended]
        return KernelFacts(
            pid=pid,
            started=started,
            group=group,
            foreground=self._foreground,
            members=tuple(self._members),
            listening=True if best else False if none else None,
            how=best.how if best else None,
            source=best.source if best else max((seen.source for seen in self._seen), default=None),
            running=sum(bool(seen.running) for seen in self._seen) if counted else None,
            stopped=all(member.stopped for member in alive) if alive else None,
            relay=self._relay,
            looked_at=len(self._seen),
            threads=sum(member.threads or 0 for member in self._members),
        )


def _path_of(device: int) -> str | None:
    """The path of a pseudo-terminal's slave; None where it is in another mount of devpts."""
    path = Path(f"/dev/pts/{os.minor(device)}")
    try:
        return str(path) if path.stat().st_rdev == device else None
    except OSError:
        return None


def _numbers() -> list[int]:
    with os.scandir(PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _of_group(numbers: Iterable[int], group: int) -> list[int]:
    """The processes of a group, found cheaply: no file is opened."""
    found = []
    for pid in numbers:
        try:
            if os.getpgid(pid) == group:
                found.append(pid)
        except OSError:  # it ended meanwhile
            pass
    return found


def _by_ps(leader: int) -> KernelFacts:
    """The facts from ps, where there is no /proc: the foreground processes, and whether they are stopped."""
    columns = [word for name in ("pid", "pgid", "tpgid", "stat", "comm") for word in ("-o", f"{name}=")]
    try:
        done = subprocess.run(["ps", "-A", *columns], capture_output=True, timeout=DEADLINE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return KernelFacts(pid=leader)
    rows = [line.split(None, 4) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[0].isdecimal() and row[1].isdecimal()]
    group = next((row[2] for row in rows if int(row[0]) == leader), "")
    if not group.isdecimal() or group == "0":
        return KernelFacts(pid=leader)
    found = [Member(int(row[0]), row[4].rpartition("/")[2], row[3][0]) for row in rows if row[1] == group]
    members = tuple(sorted(found, key=lambda member: (member.pid != int(group), member.pid)))
    alive = [member for member in members if not member.ended]
    return KernelFacts(
        pid=leader,
        group=int(group),
        foreground=members[0].name.removeprefix("-") if members else None,
        members=members,
        stopped=all(member.stopped for member in alive) if alive else None,
        relay=next((member.name for member in alive if member.name in RELAYS), None),
    )
