"""The processes of one job of a terminal, and what their threads wait for."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from stallkit.detect.families import SHELLS, STARTERS
from stallkit.evidence.facts import How, KernelFacts, Member
from stallkit.probes.procfs import DIRECTORY, GONE, PROC, ProcEntry, Stat, all_pids, children_of, stat_of
from stallkit.probes.threads import Seen, Threads

__all__ = ["THREADS", "Entry", "Group", "Groups", "background", "groups_now"]

THREADS = 256  # looked at in one probe: each takes about ten microseconds
ANCESTORS = 64  # of a process, looked at
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")

Entry = type[ProcEntry]  # how a process is read
Groups = Mapping[int, Sequence[int]]


@frozen
class Group:
    """A process group in the foreground of a terminal, read by `Entry`."""

    pid: int  # of the session's own first process
    started: int | None
    group: int
    device: int  # of the terminal

    def members(self, groups: Groups, entry: Entry) -> KernelFacts:
        """Who is in it, and nothing else: some thirty microseconds a process."""
        found = _Found(self.device)
        for pid in _leader_first(groups, self.group):
            found.add(pid, self.group, entry, threads=False)
        return self._who(found, entry, _all_seen(groups), first_seen=tuple(found.members))

    def facts(self, groups: Groups, entry: Entry) -> KernelFacts:
        """All about it."""
        found, complete = _Found(self.device), _all_seen(groups)
        for pid in _leader_first(groups, self.group):
            found.add(pid, self.group, entry)
        if not found.members:
            return self._who(found, entry, False)
        threads = [seen for _, seen in found.seen]
        waiting = [seen for seen in threads if seen.listening]
        # Seen comes before inferred, and read comes before poll, select and epoll.
        best = min(waiting, key=lambda seen: (seen.source, _RANK.index(seen.how or "epoll")), default=None)
        complete = complete and not found.missed
        known = complete and all(seen.listening is not None for seen in threads)
        # A client of tmux or screen hands its terminal to a server, which reads it from elsewhere.
        none = known and not waiting and found.relay is None
        alive = [member for member in found.members if not member.ended]
        readers = dict.fromkeys(member for member, seen in found.seen if seen.listening)
        return evolve(
            self._who(found, entry, complete),
            listening=True if best else False if none else None,
            how=best.how if best else None,
            source=best.source if best else max((seen.source for seen in threads), default=None),
            readers=tuple(readers) if known else None,
            running=_running(threads) if not found.missed else None,
            stopped=all(member.stopped for member in alive) if alive else None,
            relay=found.relay,
            looked_at=len(threads),
            threads=sum(member.threads or 0 for member in found.members),
        )

    def _who(
        self, found: _Found, entry: Entry, complete: bool, first_seen: tuple[Member, ...] | None = None
    ) -> KernelFacts:
        below = started_by(found.members, entry)
        return KernelFacts(
            pid=self.pid,
            started=self.started,
            group=self.group,
            foreground=found.foreground,
            members=tuple(found.members),
            below=below or (),
            complete=complete and not found.missed and below is not None,
            first_seen=first_seen,
        )


@frozen
class _Found:
    """What was seen of the processes that were added one by one."""

    device: int
    members: list[Member] = field(factory=list)
    seen: list[tuple[Member, Seen]] = field(factory=list)  # each thread
    _names: list[str] = field(factory=list)  # of the leader
    _relays: list[str] = field(factory=list)
    _failures: list[object] = field(factory=list)  # a process that could not be looked at

    @property
    def foreground(self) -> str | None:
        return self._names[0] if self._names else None

    @property
    def relay(self) -> str | None:
        return self._relays[0] if self._relays else None

    @property
    def missed(self) -> bool:
        return bool(self._failures)

    def add(self, pid: int, group: int, entry: Entry, *, threads: bool = True) -> None:
        """Look at one process, which may have ended by now."""
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)  # stays with this process if the number is reused
        except OSError as error:
            self._fail(error)
            return
        try:
            process = entry(at)
            status = Stat.parse(process.read("stat"))
            if status.group != group:
                return
            member = process.member(pid, status)
            self.members.append(member)
            name = status.name if self._names else member.called or status.name
            self._names.append(name)
            if not threads or member.ended:
                return
            if not self._relays and (relay := process.relay(name, status.name)):
                self._relays.append(relay)
            if not member.stopped:
                self._look(member, process, str(pid) if status.state == "Z" else None)
        except (OSError, ValueError, IndexError) as error:
            self._fail(error)
        finally:
            os.close(at)

    def _look(self, member: Member, process: ProcEntry, ended: str | None) -> None:
        threads = Threads(process, self.device)
        for thread in process.threads():
            if len(self.seen) >= THREADS:
                self._failures.append(thread)
                return
            seen = None if thread == ended else threads.look(thread, outlived=ended is not None)
            if seen is not None:
                self.seen.append((member, seen))

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, GONE):
            self._failures.append(error)


def background(
    pids: Collection[int], members: Collection[Member], group: int, entry: Entry
) -> tuple[Member, ...] | None:
    """The living processes of the terminal's session outside the group, without those that started it; None: unknown.

    The shell from which a program was started waits for it, and is no other job.
    """
    first = next((status for member in members if (status := stat_of(member.pid))), None)
    if first is None or 1 not in pids:  # with hidepid other users' jobs are not seen
        return None
    waiting = {pid for member in members for pid in _ancestors(member.pid)}
    found = []
    for pid in pids:
        try:
            if pid in waiting or os.getsid(pid) != first.session or os.getpgid(pid) == group:
                continue
            at = os.open(f"{PROC}/{pid}", DIRECTORY)
        except GONE:
            continue
        except OSError:
            return None
        try:
            process = entry(at)
            status = Stat.parse(process.read("stat"))
            if status.device == first.device and status.group != group and not status.ended:
                found.append(process.member(pid, status))
        except GONE:
            continue
        except (OSError, ValueError, IndexError):
            return None
        finally:
            os.close(at)
    return tuple(found)


def started_by(members: Sequence[Member], entry: Entry) -> tuple[Member, ...] | None:
    """The living processes in sessions of their own that shells and `STARTERS` in the group started; None: unknown."""
    left = [member.pid for member in members if member.names & (STARTERS | SHELLS) and not member.ended]
    found: list[Member] = []
    try:
        own = {os.getsid(pid) for pid in left}
        while left and len(found) < THREADS:
            children = [pid for pid in children_of(left.pop()) if os.getsid(pid) not in own]
            found += [one for pid in children if (one := _member(pid, entry)) and not one.ended]
            left += children
    except (OSError, ValueError, IndexError):
        return None
    return None if left else tuple(found)


def _member(pid: int, entry: Entry) -> Member | None:
    """A process as a value; None where it ended.  Raises OSError."""
    try:
        at = os.open(f"{PROC}/{pid}", DIRECTORY)
    except GONE:
        return None
    try:
        process = entry(at)
        return process.member(pid, Stat.parse(process.read("stat")))
    except GONE:
        return None
    finally:
        os.close(at)


def groups_now() -> Groups:
    """All processes by group, found cheaply: no file is opened; empty where there is no /proc."""
    found: dict[int, list[int]] = {}
    with suppress(OSError):
        for pid in all_pids():
            with suppress(OSError):  # it ended meanwhile
                found.setdefault(os.getpgid(pid), []).append(pid)
    return found


def _all_seen(groups: Groups) -> bool:
    """Whether none is hidden: /proc mounted with hidepid shows only the user's own, and an unseen one may read."""
    return any(1 in pids for pids in groups.values())


def _leader_first(groups: Groups, group: int) -> list[int]:
    return sorted(groups.get(group, ()), key=lambda pid: (pid != group, pid))


def _running(threads: Iterable[Seen]) -> int | None:
    running = [seen.running for seen in threads]
    return None if None in running else sum(map(bool, running))


def _ancestors(pid: int) -> Iterator[int]:
    for _ in range(ANCESTORS):
        status = stat_of(pid)
        if status is None or status.parent <= 1:
            return
        pid = status.parent
        yield pid
