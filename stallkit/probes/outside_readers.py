"""Readers of a terminal outside its foreground: those on a relay's inner terminal, and processes of other sessions.

A relay (sudo, script) holds a pseudo-terminal of its own and shows its content: the program that asks is there.  And
gpg lets a process of another session, a pinentry, ask on its terminal.  Both cost a look at many processes, so they are
looked for only where the foreground itself gives no answer.
"""

from __future__ import annotations

import os
from typing import Collection, Iterable

from stallkit.evidence.facts import How
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, Stat, place_of, stat_of
from stallkit.probes.threads import Threads

__all__ = ["inner_leader", "reader", "session_on"]

ANCESTORS = 16  # between a relay and the session that it started: sudo has two, a shell wrapper one more


def inner_leader(numbers: Iterable[int], group: Collection[int], device: int) -> tuple[int, int] | None:
    """The leader of the session that a relay of this group started on another terminal, and that terminal's device.

    None where there is none, as with ssh and docker, whose inner terminal is on another machine or belongs to another
    process, or where there are several, as with a multiplexer.
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

    None where there is none, or several, or where what the processes have open is unknown.
    """
    found = set[int]()
    for pid in numbers:
        try:
            if os.getsid(pid) != pid:
                continue
            at = os.open(f"{PROC}/{pid}", DIRECTORY)
        except OSError:  # it ended meanwhile
            continue
        try:
            leader = stat_of(pid)
            if leader is not None and leader.device == 0 and _descends(leader, group, device):
                found.update({leader.group} if device in (ProcEntry(at).devices or ()) else ())
        finally:
            os.close(at)
    return found.pop() if len(found) == 1 else None


def reader(numbers: Iterable[int], group: Collection[int], device: int) -> tuple[str, How] | None:
    """The name of a process outside the group that waits for this terminal's input, and how it waits; or None."""
    place = next((found for pid in group if (found := place_of(device, pid)) is not None), None)
    for pid in numbers:
        if pid in group:
            continue
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)
        except OSError:
            continue
        try:
            process = ProcEntry(at)
            if device not in (process.devices or ()) or process.elsewhere(device, place):
                continue
            threads = Threads(process, device, controlling=False)
            waits = [seen for thread in process.threads() if (seen := threads.look(thread)) and seen.listening]
            if waits and waits[0].how is not None:
                return process.name() or Stat.parse(process.read("stat")).name, waits[0].how
        except (OSError, ValueError, IndexError):  # it ended meanwhile
            continue
        finally:
            os.close(at)
    return None


def _descends(process: Stat, group: Collection[int], device: int) -> bool:
    """Whether a group started a process, and no process between them has another terminal."""
    for _ in range(ANCESTORS):
        if process.parent in group:
            return True
        parent = stat_of(process.parent)
        if parent is None or parent.device not in (0, device):
            return False
        process = parent
    return False
