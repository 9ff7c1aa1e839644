"""Who is in a terminal's foreground, and whether a thread of it waits for the terminal's input.

Linux tells all of it under /proc.  Elsewhere ps tells who is there, and the rest is unknown.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Iterable

from attrs import evolve

from stallkit.core.facts import RELAYS, KernelFacts, Member
from stallkit.probes.foreground import Census
from stallkit.probes.outside_readers import inner_leader, reader
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, stat_of

__all__ = ["foreground", "probe", "probe_elsewhere"]

DEADLINE_S = 2.0  # for ps
RELAYS_IN_A_ROW = 4  # sudo in script in sudo: seen through that far


def probe(terminal: str | int, leader_pid: int, started: int | None = None) -> KernelFacts:
    """The facts on a terminal's foreground, the terminal given by its path or by its pseudo-terminal's master.

    `leader_pid` is the session's own first process, and `started` its start in clock ticks where that is known from an
    earlier look: with another process under its number all is unknown.  A leader on another terminal counts for
    nothing.  Takes about a millisecond of CPU with ten processes.  Never raises for what the outside world does.
    """
    if not Path(PROC, "self/stat").exists():
        return _by_ps(leader_pid)
    try:
        found = _foreground(terminal, leader_pid, started)
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
    """The same facts, with whoever reads the terminal from outside of its foreground, as a pinentry does.

    For a terminal in raw mode that nothing in its foreground reads: it costs a look at every process.
    """
    try:
        found = _foreground(terminal, facts.pid or 0, None)
        by = reader(_numbers(), {member.pid for member in facts.members}, found[1]) if found else None
    except (OSError, ValueError):
        by = None
    return evolve(facts, listening=True, how=by[1], reader=by[0]) if by else facts


def foreground(terminal: int) -> str | None:
    """The name of who is in a terminal's foreground, as tmux gives it: its first word; None where unknown.

    The terminal is given by its pseudo-terminal's master.  It costs a tenth of `probe`, and tells that alone.
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


def _foreground(terminal: str | int, leader: int, started: int | None) -> tuple[int, int, int | None] | None:
    """The foreground group, the terminal's device number and the leader's start; None where unknown."""
    device = None
    if isinstance(terminal, str):
        status = Path(terminal).stat()
        if not stat.S_ISCHR(status.st_mode):
            return None
        device = status.st_rdev
    first = stat_of(leader)
    if first is not None and (first.device == 0 or device not in (None, first.device)):
        first = None  # its number belongs to somebody else by now, or it left the terminal
    if started is not None and (first is None or first.started != started):
        return None
    if isinstance(terminal, int):
        group = os.tcgetpgrp(terminal)
        if first is not None and first.foreground != group:
            first = None  # it is on another terminal
        anybody = first or stat_of(group)
        device = anybody.device if anybody is not None and anybody.foreground == group else None
    elif first is not None:
        group = first.foreground
    else:  # the leader ended; whoever else has the terminal knows its foreground
        others = (stat_of(pid) for pid in _numbers())
        group = next((one.foreground for one in others if one is not None and one.device == device), -1)
    return (group, device, first.started if first else None) if group > 0 and device else None


def _of_foreground(numbers: Iterable[int], group: int, device: int, leader: int, born: int | None) -> KernelFacts:
    census = Census(device)
    for pid in sorted(_of_group(numbers, group), key=lambda pid: (pid != group, pid)):
        census.add(pid, group)
    # /proc mounted with hidepid shows a user's own processes only: then somebody unseen may read.
    return census.facts(leader, born, group, everybody=1 in numbers)


def _path_of(device: int) -> str | None:
    """Where a pseudo-terminal's slave is found by its number; None where it is in another mount of devpts."""
    path = Path(f"/dev/pts/{os.minor(device)}")
    try:
        return str(path) if path.stat().st_rdev == device else None
    except OSError:
        return None


def _numbers() -> list[int]:
    with os.scandir(PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _of_group(numbers: Iterable[int], group: int) -> list[int]:
    """The one fact about everybody that costs next to nothing: no file is opened for it."""
    found = []
    for pid in numbers:
        try:
            if os.getpgid(pid) == group:
                found.append(pid)
        except OSError:  # it ended meanwhile
            pass
    return found


def _by_ps(leader: int) -> KernelFacts:
    """What ps tells where there is no /proc: who is in the foreground, and whether it is stopped."""
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
