"""The processes in a terminal's foreground, and whether a thread of them waits for the terminal's input.

On Linux all of it is under /proc.  Elsewhere ps gives the processes, and the rest is unknown.
"""

from __future__ import annotations

import os
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Collection, Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from stallkit.evidence.snapshot import How, KernelFacts, Member, Snapshot, Standstill, TtyFacts
from stallkit.probes.procfs import GONE, PROC, TICKS, ProcEntry, Stat, all_pids, ancestors, children_of, stat_of
from stallkit.probes.readers import (
    RELAY,
    inner_leader,
    inner_leader_of,
    reader,
    relay_above,
    relayed,
    session_on,
    tty_facts,
)
from stallkit.probes.threads import TTY, Seen, Threads, keys_alone, may_stand, standstill
from stallkit.terminal.marks import Marks
from stallkit.word_tables import RELAYS, SHELLS, STARTERS

DEADLINE_S = 2.0  # for ps
RELAYS_IN_A_ROW = 4  # followed at most, as in sudo in script in sudo
WITH_IT_S = 5.0  # after its own start a relay has started what it shows
_NULL = os.makedev(1, 3)  # /dev/null
# A program that polls in intervals may be seen between two polls: it is looked at again before it counts as idle.
_AGAIN, _AGAIN_S = 2, 0.005


THREADS = 256  # looked at in one probe: each takes about ten microseconds
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")

Entry = type[ProcEntry]  # how a process is read
Groups = Mapping[int, Sequence[int]]


def probe(terminal: str | int, leader_pid: int, entry: Entry = ProcEntry, groups: Groups | None = None) -> KernelFacts:
    """The facts on a terminal's foreground; the terminal is its path or the master of its pseudo-terminal.

    `leader_pid` is the session's own first process, ignored if it is on another terminal; `entry` is how a process is
    read; `groups` as for `present`.  Takes about a millisecond of CPU with ten processes.  Never raises for failures of
    the outside world.
    """
    if not Path(PROC, "self/stat").exists():
        return _by_ps(leader_pid)
    try:
        found = _foreground(terminal, leader_pid)
    except (OSError, ValueError):
        found = None
    groups = groups_now() if found is not None and groups is None else groups
    if found is None or not groups:
        return KernelFacts(pid=leader_pid)
    group, device, born = found
    facts = Group(leader_pid, born, group, device).facts(groups, entry)
    for _ in range(RELAYS_IN_A_ROW):
        if facts.relay is None and not any(member.names & STARTERS for member in facts.members):
            break
        pids = [pid for found in groups.values() for pid in found]
        started = {member.pid for member in facts.members}
        if (own := session_on(pids, started, device)) is not None:
            facts = evolve(
                Group(leader_pid, born, own, device).facts(groups, entry),
                through=facts.through or facts.relay or facts.foreground,
                terminal=facts.terminal or _path_of(device),
            )
            continue
        inside = inner_leader(pids, started, device)
        first = stat_of(inside[0]) if inside else None
        if inside is None or first is None or first.foreground <= 0:
            break
        if not _passes_on(facts, first):
            facts = evolve(facts, relay=None)
            break
        through, device = facts.through or facts.relay or facts.foreground, inside[1]
        facts = Group(leader_pid, born, first.foreground, device).facts(groups, entry)
        facts = evolve(facts, through=through, terminal=_path_of(device))
    return facts


def _passes_on(facts: KernelFacts, inner: Stat) -> bool:
    """Whether what holds a terminal shows it as its own: a relay does, and starts its program with itself.

    A program that began it long after its own start draws a screen of its own, and has a tool at work there.
    """
    if facts.relay is None or facts.relay in RELAYS:
        return True
    holders = [one.started for one in facts.members if facts.relay in one.names and one.started is not None]
    return not holders or inner.started - min(holders) < WITH_IT_S * TICKS


def present(terminal: str | int, leader_pid: int, groups: Groups | None = None) -> KernelFacts:
    """Who is in a terminal's foreground, and no more: for a screen that changes.

    `groups` are the machine's processes, which cost the most, where they were listed already.
    """
    try:
        found = _foreground(terminal, leader_pid) if Path(PROC, "self/stat").exists() else None
        if found is not None:
            group, device, born = found
            groups = groups_now() if groups is None else groups
            facts = Group(leader_pid, born, group, device).members(groups, ProcEntry)
            return _behind_ours(facts, leader_pid, born, groups) or facts
    except (OSError, ValueError):
        pass
    return KernelFacts(pid=leader_pid)


def _behind_ours(facts: KernelFacts, leader: int, born: int | None, groups: Groups) -> KernelFacts | None:
    """Who is behind a relay of our own, which tells without a look at every process; None if there is none."""
    relay = next((member for member in facts.members if member.name == RELAY), None)
    inside = inner_leader_of(relay.pid) if relay else None
    first = stat_of(inside) if inside is not None else None
    if first is None or first.foreground <= 0 or first.device == 0:
        return None
    behind = Group(leader, born, first.foreground, first.device).members(groups, ProcEntry)
    return evolve(behind, through=RELAY, terminal=_path_of(first.device))


def probe_elsewhere(facts: KernelFacts, terminal: str | int) -> KernelFacts:
    """The facts, with a process that reads the terminal from outside its foreground, as a pinentry does.

    For a terminal in raw mode that nothing in its foreground reads: it costs a look at every process.
    """
    try:
        found = _foreground(terminal, facts.pid or 0)
        by = reader(all_pids(), {member.pid for member in facts.members}, found[1]) if found else None
    except (OSError, ValueError):
        by = None
    return evolve(facts, listening=True, how=by[1], reader=by[0]) if by else facts


def probed(
    now: Snapshot,
    before: Snapshot | None,
    terminal: str | int,
    leader: int,
    groups: Groups | None = None,
    *,
    moves: bool = False,
) -> Snapshot:
    """The look with quiet time, and with the facts on its terminal (a path, or the master's descriptor).

    For a `Transport.capture` of your own: with these facts a verdict may be sure.  `before` is the previous look,
    `leader` the pid of the session's first process; `groups` as for `present`.

    What the processes wait for is asked where the screen rests; while it changes, whether one of several waits for the
    terminal and for nothing else, below what another one draws.  With `moves` all of it is asked anyway, for a
    spinner turns for ever.  Who is there is asked at every look: `KernelFacts.first_seen` stays with the screen.

    >>> from stallkit import Screen
    >>> look = Snapshot(Screen.from_text("Proceed? [y/N] "), taken_at=time.monotonic(), alive=True)
    >>> probed(look, None, "/dev/null", os.getpid()).kernel.listening is None
    True
    """
    timed = before is not None and before.taken_at is not None and now.taken_at is not None
    rests = before is not None and before.screen.fingerprint == now.screen.fingerprint and timed
    if before is None or not (rests or moves):
        groups = groups_now() if groups is None else groups
        here = present(terminal, leader, groups) if now.alive else None
        if here and before and timed and may_stand(here.members):
            kernel = probe(terminal, leader, groups=groups)
            settings = tty_facts(kernel.terminal or terminal)
            if stands := standstill(kernel, settings, apart=True):  # below what another one draws
                here = _standing(evolve(kernel, first_seen=kernel.members, output=_taker(kernel)), stands, now, before)
                now = evolve(now, tty=settings)
        return evolve(now, quiet_s=0.0 if timed else None, kernel=here, marks=_marks(now, here))
    quiet_s = (before.quiet_s or 0.0) + (now.taken_at or 0.0) - (before.taken_at or 0.0) if rests else 0.0
    if not now.alive:
        return evolve(now, quiet_s=quiet_s)
    kernel, settings = at_rest(terminal, leader, groups)
    # What turns looks the same now and then.
    turns = not rests or (before.quiet_s == 0.0 and before.kernel is not None and before.kernel.standstill is not None)
    stands = standstill(kernel, settings) or (standstill(kernel, settings, apart=True) if turns else None)
    kernel = _standing(evolve(kernel, first_seen=_first_seen(kernel, before)), stands, now, before)
    return evolve(now, quiet_s=quiet_s, kernel=kernel, tty=settings, marks=_marks(now, kernel))


def _standing(kernel: KernelFacts, stands: Standstill | None, now: Snapshot, before: Snapshot) -> KernelFacts:
    """The facts, with for how long what stands has stood."""
    stood, passed_s = before.kernel and before.kernel.standstill, (now.taken_at or 0.0) - (before.taken_at or 0.0)
    return evolve(kernel, standstill=stands and stands.after(stood or None, passed_s))


def _taker(kernel: KernelFacts) -> str | None:
    """What takes the output of what reads, in words; None: its terminal shows it, or that is unknown."""
    reader = kernel.readers[0] if kernel.readers else None
    try:
        output = os.stat(f"{PROC}/{reader.pid}/fd/1") if reader else None  # noqa: PTH116
        if reader is None or output is None or (stat.S_ISCHR(output.st_mode) and output.st_rdev != _NULL):
            return None
        name = os.readlink(f"{PROC}/{reader.pid}/fd/1")  # noqa: PTH115
    except OSError:
        return None
    if not name.startswith(("pipe:", "socket:")):
        return name
    others = [one for one in (*kernel.members, *kernel.below) if one.pid != reader.pid and not one.ended]
    by = next((one for one in others if _reads(one.pid, name)), None)  # of a socket the other end has another number
    by = by or next((one for one in others if one.pid == reader.parent), None)
    return f"{by.called or by.name} (pid {by.pid})" if by else "a pipe"


def _writers(kernel: KernelFacts) -> tuple[int, ...] | None:
    """The pids of those that can write to the terminal: they have it open, not only as their input."""
    reader = stat_of(kernel.readers[0].pid) if kernel.readers else None
    if reader is None:
        return None
    terminals, alive = {reader.device, TTY}, [one.pid for one in kernel.members if not one.ended]
    return tuple(pid for pid in alive if _writes(pid, terminals))


def _writes(pid: int, terminals: set[int]) -> bool:
    def shows(number: int | str) -> bool:
        with suppress(OSError):
            return os.stat(f"{PROC}/{pid}/fd/{number}").st_rdev in terminals  # noqa: PTH116
        return False

    if shows(1) or shows(2):
        return True
    try:
        return any(map(shows, {*os.listdir(f"{PROC}/{pid}/fd")} - {"0", "1", "2"}))  # noqa: PTH208
    except OSError:  # another user's: it may
        return True


def _reads(pid: int, pipe: str) -> bool:
    """Whether a process has the end of a pipe open from which it is read."""
    with suppress(OSError), os.scandir(f"{PROC}/{pid}/fd") as entries:
        ends = [one for one in entries if os.readlink(one) == pipe]  # noqa: PTH115
        return any(one.stat(follow_symlinks=False).st_mode & stat.S_IRUSR for one in ends)
    return False


def at_rest(terminal: str | int, leader: int, groups: Groups | None = None) -> tuple[KernelFacts, TtyFacts]:
    """What the processes of a terminal wait for, and how it takes input: for a screen that rests."""
    kernel = settled(terminal, leader, groups)
    settings = tty_facts(kernel.terminal or terminal)
    if kernel.listening is False and settings.canonical is False and not kernel.through:
        kernel = probe_elsewhere(kernel, terminal)  # raw, and the foreground does not read: another process may
    kernel = evolve(kernel, background=_background(kernel, settings, groups))
    alone = keys_alone(kernel, settings) if settings.canonical is False else None
    return evolve(kernel, output=_taker(kernel), writers=_writers(kernel), keys_alone=alone), settings


def settled(terminal: str | int, leader: int, groups: Groups | None = None) -> KernelFacts:
    """The facts on a terminal's foreground, asked again where a program was seen at work that may poll in intervals."""
    kernel = probe(terminal, leader, groups=groups)
    for _ in range(_AGAIN):
        if kernel.listening is not False or not kernel.running:
            break
        time.sleep(_AGAIN_S)
        kernel = probe(terminal, leader)
    return kernel


def _marks(now: Snapshot, kernel: KernelFacts | None) -> Marks | None:
    """What the program reports of itself: as the transport heard it, else as a relay of our own did."""
    if now.marks is not None or kernel is None or kernel.through != RELAY or not kernel.members:
        return now.marks
    relay = relay_above(kernel.members[0].pid)
    known = relayed(relay, time.monotonic() if now.taken_at is None else now.taken_at) if relay else None
    return known.marks if known else None


def _background(kernel: KernelFacts, settings: TtyFacts, groups: Groups | None) -> tuple[Member, ...] | None:
    """The terminal's other jobs, where what they print may stand over a line that is being edited."""
    shell = any(not SHELLS.isdisjoint(member.names) for member in kernel.readers or ())
    if kernel.group is None or not (shell or (kernel.listening and settings.canonical is False)):
        return None
    try:
        pids = all_pids() if groups is None else [pid for found in groups.values() for pid in found]
        return background(pids, kernel.members, kernel.group, ProcEntry)
    except OSError:
        return None


def _first_seen(kernel: KernelFacts, before: Snapshot) -> tuple[Member, ...] | None:
    """Who was in the foreground when this screen was first seen; behind a relay, at the first look through it."""
    known = before.kernel
    if known is None or known.first_seen is None:
        return kernel.members
    return known.first_seen if known.through == kernel.through else kernel.members


def foreground(terminal: int) -> str | None:
    """The name of the foreground process, as tmux gives it: its first word; None if it is unknown.

    `terminal` is the master of its pseudo-terminal.  It takes a tenth of the time of `probe`.
    """
    try:
        group = os.tcgetpgrp(terminal)
        with ProcEntry.of(group) as process:
            stat = stat_of(group)
            return process.name() or (stat.name if stat else None)
    except OSError:  # it ended meanwhile, or there is no /proc
        return None


def _foreground(terminal: str | int, leader: int) -> tuple[int, int, int | None] | None:
    """The foreground group, the terminal's device number and the leader's start; None if unknown."""
    device = None
    if isinstance(terminal, str):
        status = os.stat(terminal)  # noqa: PTH116  # `Path` takes longer than the kernel, at every look
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
        others = (stat_of(pid) for pid in all_pids())
        group = next((other.foreground for other in others if other is not None and other.device == device), -1)
    return (group, device, first.started if first else None) if group > 0 and device else None


def _path_of(device: int) -> str | None:
    """The path of a pseudo-terminal's slave; None if it is in another mount of devpts."""
    path = Path(f"/dev/pts/{os.minor(device)}")
    try:
        return str(path) if path.stat().st_rdev == device else None
    except OSError:
        return None


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


# --- a job of the terminal: a process group, looked at ---


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
    """The facts on the processes that were added one by one."""

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
        """Look at one process, which may have ended meanwhile."""
        try:
            with entry.of(pid) as process:
                status = process.stat()
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
        except GONE:
            pass
        except (OSError, ValueError, IndexError) as error:
            self._failures.append(error)

    def _look(self, member: Member, process: ProcEntry, ended: str | None) -> None:
        threads = Threads(process, self.device)
        for thread in process.threads():
            if len(self.seen) >= THREADS:
                self._failures.append(thread)
                return
            seen = None if thread == ended else threads.look(thread, outlived=ended is not None)
            if seen is not None:
                self.seen.append((member, seen))


def background(
    pids: Collection[int], members: Collection[Member], group: int, entry: Entry
) -> tuple[Member, ...] | None:
    """The living processes of the terminal's session outside the group, without those that started it; None: unknown.

    The shell from which a program was started waits for it, and is no other job.
    """
    first = next((status for member in members if (status := stat_of(member.pid))), None)
    if first is None or 1 not in pids:  # with hidepid other users' jobs are not seen
        return None
    waiting = {pid for member in members for pid, _ in ancestors(member.pid)}
    found = []
    for pid in pids:
        try:
            if pid in waiting or os.getsid(pid) != first.session or os.getpgid(pid) == group:
                continue
            with entry.of(pid) as process:
                status = process.stat()
                if status.device == first.device and status.group != group and not status.ended:
                    found.append(process.member(pid, status))
        except GONE:
            continue
        except (OSError, ValueError, IndexError):
            return None
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
    """A process as a value; None if it ended.  Raises OSError, ValueError or IndexError."""
    with suppress(*GONE), entry.of(pid) as process:
        return process.member(pid, process.stat())
    return None


def groups_now() -> Groups:
    """All processes by group, found cheaply: no file is opened; empty if there is no /proc."""
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
