"""Ending a session's program and all that belongs to it: first by request, then by force; never another process.

Every signal goes through a pidfd.  After it is opened, its process is compared with the known one: from then on it
cannot mean another process that reuses the pid.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Callable, Collection, Iterator

from attrs import frozen

from stallkit.probes.procfs import PROC, Process, Stat, all_pids, stat_of
from stallkit.transports.tmux.identity import Identity
from stallkit_sessions.model import Session

_KILLED_S = 0.5  # for killed processes to be gone: only those blocked in the kernel take longer
_ROUNDS = 4  # of looking for processes that were started meanwhile


class TerminationResult(StrEnum):
    """The result of ending a program."""

    ALREADY = "already"  # it had ended before
    ASKED = "asked"  # in the grace time, after SIGTERM or SIGHUP
    KILLED = "killed"  # by SIGKILL
    LIVES = "lives"  # it survived, or is another user's
    UNKNOWN = "unknown"  # its process is unknown: none was signalled


@frozen
class Ending:
    """The result, with all processes concerned."""

    how: TerminationResult  # of the program itself
    killed: tuple[int, ...] = ()  # all pids that got a SIGKILL
    left: tuple[int, ...] = ()  # pids of its processes that run on: they detached, or are another user's


def end_program(session: Session, grace_s: float) -> Ending:
    """End the program of a session and all that it started; its pane stays, with its screen.

    SIGTERM goes to the program, its terminal's session, and all its descendants, also those on another terminal.
    Halfway the program gets a SIGHUP, as a shell ignores SIGTERM.  What runs after `grace_s` seconds gets SIGKILL.  No
    key is pressed: Ctrl-C asks an agent to stop its turn, not to end.

    A process that detached itself (a daemon with a session and a parent of its own) is left alone, and listed in
    `left`.  The caller's own process is never signalled.  This ends only the client of a container, as
    `ContainerRuntime.stop` ends the container.
    """
    began = time.monotonic()
    if session.pane_started is None or not hasattr(os, "pidfd_open"):
        return Ending(TerminationResult.UNKNOWN)
    with _Family(Identity.of(session.identity).pid, session.pane_started, session.id) as family:
        program = family.program
        family.gather()
        living = _living(family.held.values(), began)
        lived = program in living
        for one in living:
            one.signal(signal.SIGTERM)
            one.signal(signal.SIGCONT)  # a stopped process gets the signal only then
        living = _living(living, began + grace_s / 2)
        if program is not None and program in living:
            program.signal(signal.SIGHUP)
        living = _living(living, began + grace_s)
        how = TerminationResult.ASKED if lived else TerminationResult.ALREADY
        if program in living:
            how = TerminationResult.KILLED
        killed: set[int] = set()
        for _ in range(_ROUNDS):
            family.gather()
            living = _living(family.held.values())
            sent = [one for one in living if one.signal(signal.SIGKILL)]
            if not sent:
                break
            killed |= {one.pid for one in sent}
            living = _living(sent, time.monotonic() + _KILLED_S)
        living = _living(family.held.values())
        if program in living:
            how = TerminationResult.LIVES
        left = {one.pid for one in living} | set(_marked(session.id))
        return Ending(how, tuple(sorted(killed)), tuple(sorted(left)))


def end_process(process: Process, grace_s: float, clock: Callable[[], float] = time.monotonic) -> TerminationResult:
    """End one process and nothing else, and say how: SIGTERM, and SIGKILL after `grace_s` seconds."""
    if not hasattr(os, "pidfd_open"):
        return TerminationResult.UNKNOWN
    with _Family(process.pid, process.started, "") as family:
        held = family.program
        if held is None or not _living([held]):
            return TerminationResult.ALREADY
        held.signal(signal.SIGTERM)
        held.signal(signal.SIGCONT)
        if not _living([held], clock() + grace_s, clock):
            return TerminationResult.ASKED
        held.signal(signal.SIGKILL)
        return TerminationResult.LIVES if _living([held], clock() + _KILLED_S, clock) else TerminationResult.KILLED


@frozen
class _Held:
    """One process, by its pidfd."""

    pid: int
    fd: int

    def signal(self, number: signal.Signals) -> bool:
        """Whether the signal was sent: not to an ended process, nor to another user's."""
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self.fd, number)
            return True
        return False


class _Family:
    """The program of a session, its terminal's session, and their children; while it is open."""

    def __init__(self, pid: int, started: int, mark: str) -> None:
        self.held: dict[int, _Held] = {}
        self._leader, self._started, self._mark = pid, started, mark
        self.program = self._hold(pid, lambda _, stat: stat.started == started)

    def __enter__(self) -> _Family:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for one in self.held.values():
            os.close(one.fd)

    def gather(self) -> None:
        """Hold new processes; repeat until there are none, as they may have started children meanwhile."""
        while any([self._hold(pid, self._belongs) for pid in _others() if pid not in self.held]):
            pass

    def _belongs(self, pid: int, stat: Stat) -> bool:
        parent = self.held.get(stat.parent)
        if parent is not None and _living([parent]):  # it runs, so its pid is still its own
            return True
        with suppress(ProcessLookupError, PermissionError):
            # A session keeps its number while it has a member.  Where its first process was not seen, it
            # may be a later session's.
            return os.getsid(pid) == self._leader and (self.program is not None or _has_mark(pid, self._mark))
        return False

    def _hold(self, pid: int, is_it: Callable[[int, Stat], bool]) -> _Held | None:
        """Hold it if it is one of ours; the same start before and after opening the pidfd means the same process."""
        stat = stat_of(pid)
        if stat is None or not is_it(pid, stat):
            return None
        try:
            fd = os.pidfd_open(pid)
        except OSError:  # it ended
            return None
        again = stat_of(pid)
        if again is None or again.started != stat.started:
            os.close(fd)
            return None
        self.held[pid] = _Held(pid, fd)
        return self.held[pid]


def _living(held: Collection[_Held], until: float = 0.0, clock: Callable[[], float] = time.monotonic) -> list[_Held]:
    """Those that still run, at once or at that time; returns earlier once all have ended, reaped or not."""
    living = {one.fd: one for one in held}
    waiting = select.poll()
    for fd in living:
        waiting.register(fd, select.POLLIN)
    while living:
        ended = waiting.poll(max(0.0, until - clock()) * 1000)
        for fd, _ in ended:
            waiting.unregister(fd)
            del living[fd]
        if not ended:
            break
    return list(living.values())


def _others() -> list[int]:
    """The pids of all processes except ours."""
    return [pid for pid in all_pids() if pid != os.getpid()]


def _marked(mark: str) -> Iterator[int]:
    """The running processes that have the session's id in their environment."""
    for pid in _others():
        if _has_mark(pid, mark):
            stat = stat_of(pid)
            if stat is not None and not stat.ended:
                yield pid


def _has_mark(pid: int, mark: str) -> bool:
    try:
        given = Path(PROC, str(pid), "environ").read_bytes()
    except OSError:  # it ended, or is another user's
        return False
    return f"STALLKIT_SESSION={mark}".encode() in given.split(b"\0")
