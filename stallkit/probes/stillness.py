"""Whether a terminal's foreground did nothing from one moment to another: asked right before a key is pressed.

What a program has just written may not be on the screen yet: it waits in the kernel until the terminal's other side
reads it.  But the kernel counts what each process wrote, at once.
"""

from __future__ import annotations

import os

from attrs import frozen

from stallkit.core.facts import KernelFacts
from stallkit.core.verdict import Snapshot
from stallkit.probes import tty
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, Stat

__all__ = ["Stillness"]


@frozen
class _Step:
    """How far one process of the foreground has come."""

    pid: int
    started: int
    command: str | None  # its arguments: a program may start another one of its name in its own place
    written: str | None  # bytes, to anything; None: another user's process


class Stillness:
    """From now on, until `doubt` is called, the foreground of the terminal in `seen` is to do nothing.

    Unknown facts change nothing: without /proc, or for another user's processes, there is only what the look knows.
    """

    def __init__(self, seen: Snapshot, terminal: str | int) -> None:
        self._seen = seen
        self._terminal = terminal if seen.kernel is None else seen.kernel.terminal or terminal
        self._before = _steps(seen.kernel)

    def doubt(self) -> str | None:
        """What is different now: the terminal's settings, the programs, or that one of them wrote; None: nothing."""
        if self._seen.tty is not None and tty.probe(self._terminal) != self._seen.tty:
            return "its terminal takes input in another way now: echo or canonical mode changed"
        kernel = self._seen.kernel
        now = _steps(kernel)  # last of all: what is written from here on is not noticed
        if now is None or self._before is None or kernel is None:
            return None if now is self._before else "its program is no longer in the foreground"
        then = {(member.pid, member.started) for member in kernel.members}
        if {(step.pid, step.started) for step in now} != then:
            return "other processes are in its foreground now"
        if [step.command for step in now] != [step.command for step in self._before]:
            return "another program runs in its foreground now"
        return None if now == self._before else "its program wrote something a moment ago"


def _steps(kernel: KernelFacts | None) -> list[_Step] | None:
    """How far each process of that foreground has come; None where that is unknown, or it is not there any more."""
    if kernel is None or kernel.group is None or not kernel.members:
        return None
    try:
        with os.scandir(PROC) as entries:
            numbers = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    except OSError:
        return None
    steps = [_step(pid, kernel.group) for pid in sorted(numbers) if _group(pid) == kernel.group]
    return [step for step in steps if step is not None] or None


def _step(pid: int, group: int) -> _Step | None:
    """One process, if it is in its terminal's foreground."""
    try:
        at = os.open(f"{PROC}/{pid}", DIRECTORY)
    except OSError:
        return None
    try:
        process = ProcEntry(at)
        stat = Stat.parse(process.read("stat"))
        if stat.foreground != group:
            return None
        return _Step(pid, stat.started, _read(process, "cmdline"), _written(process))
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(at)


def _written(process: ProcEntry) -> str | None:
    said = _read(process, "io")
    return None if said is None else said.partition("wchar:")[2].partition("\n")[0]


def _read(process: ProcEntry, name: str) -> str | None:
    try:
        return process.read(name)
    except OSError:
        return None


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:  # it ended meanwhile
        return None
