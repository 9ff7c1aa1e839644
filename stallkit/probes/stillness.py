"""Whether a terminal's foreground did nothing from one moment to another: asked right before a key is pressed.

What a program has just written may not be on the screen yet: it waits in the kernel until the terminal's other side
reads it.  But the kernel counts what each process wrote, at once.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from types import TracebackType

from attrs import frozen

from stallkit.evidence.facts import KernelFacts
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.foreground_job import settled
from stallkit.probes.procfs import PAGE, ProcEntry, Stat, all_pids
from stallkit.probes.tty import tty_facts

__all__ = ["Stillness"]

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
