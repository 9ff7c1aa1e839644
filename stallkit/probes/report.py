"""The facts on one terminal as JSON, to be taken where its output arrives: another machine, or another container."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from attrs import evolve, frozen

from stallkit.evidence.snapshot import KernelFacts, Member, TtyFacts
from stallkit.probes.foreground_job import at_rest
from stallkit.probes.procfs import PROC, stat_of
from stallkit.probes.threads import standstill

__all__ = ["TerminalReport", "report"]


@frozen
class TerminalReport:
    """Who is in a terminal's foreground, what they wait for, and how the terminal takes input, at one moment.

    `taken_at` are seconds of a monotonic clock of the machine that reports, only for its distance to another report;
    `wall_at` of its wall clock.
    """

    pid: int  # the process that was asked about
    taken_at: float
    wall_at: float
    kernel: KernelFacts
    tty: TtyFacts

    def by_clock_of(self, now: float) -> TerminalReport:
        """It with the starts of processes by another machine's wall clock, which shows `now` as the report comes.

        What took time on the way makes them later, never earlier: a process is then doubted, not trusted.
        """
        known, late = self.kernel, now - self.wall_at

        def by(members: tuple[Member, ...] | None) -> tuple[Member, ...] | None:
            if members is None:
                return None
            return tuple(one if one.began is None else evolve(one, began=one.began + late) for one in members)

        kernel = evolve(known, members=by(known.members) or (), readers=by(known.readers))
        return evolve(self, kernel=kernel, wall_at=now)

    def after(self, before: TerminalReport | None) -> TerminalReport:
        """It, with what only several reports about one resting screen know: since when it stands, who was there."""
        stands, known = self.kernel.standstill, self.kernel.members
        if before is not None and before.pid == self.pid and before.taken_at <= self.taken_at:
            passed, stood = self.taken_at - before.taken_at, before.kernel.standstill
            stands = stands and stands.after(stood, passed)
            known = before.kernel.first_seen or known
        return evolve(self, kernel=evolve(self.kernel, standstill=stands, first_seen=known))


def report(pid: int) -> TerminalReport:
    """The facts on the terminal of a process.  Raises ValueError where there is no such process, or it has no terminal.

    Takes about a millisecond of CPU, and what it cannot read is unknown: ask as the process's own user, or as root.
    """
    terminal, leader = _terminal_of(pid)
    kernel, settings = at_rest(terminal, leader)
    return TerminalReport(
        pid, time.monotonic(), time.time(), evolve(kernel, standstill=standstill(kernel, settings)), settings
    )


def _terminal_of(pid: int) -> tuple[str, int]:
    """A path by which its controlling terminal can be opened, and the first process of its session.

    In another mount of devpts the path leads through the process.
    """
    if not Path(PROC, "self/stat").exists():
        raise ValueError("the facts on another process's terminal are under /proc: this machine has none (Linux has)")
    found = stat_of(pid)
    if found is None:
        raise ValueError(f"there is no process {pid}: name one on the terminal, such as its shell's pid")
    if found.device == 0:
        raise ValueError(f"process {pid} ({found.name}) has no terminal: name one that was started on it")
    for path in (f"/dev/pts/{os.minor(found.device)}", *(f"{PROC}/{pid}/fd/{descriptor}" for descriptor in range(3))):
        try:
            status = Path(path).stat()
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == found.device:
            first = stat_of(found.session)
            return path, found.session if first is not None and first.device == found.device else pid
    raise ValueError(f"the terminal of process {pid} ({found.name}) cannot be opened from here: run it as its user")
