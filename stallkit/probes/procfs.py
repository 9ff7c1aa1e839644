"""The facts on one process from /proc.

Every file may be missing or forbidden, and every process may end between two reads: what could not be read is unknown,
never False.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Iterator, NamedTuple

from attrs import frozen

from stallkit.core.facts import RELAYS

__all__ = ["DIRECTORY", "GONE", "PAGE", "PROC", "ProcEntry", "Process", "Stat", "boot_id", "device_of", "stat_of"]

PROC = "/proc"
DESCRIPTORS = 256  # looked at in one process
PAGE = 4_096  # bytes that the kernel returns at a time, whole lines only
GONE = (FileNotFoundError, ProcessLookupError)
DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)

MASTER = os.makedev(5, 2)  # /dev/ptmx: a process that holds one shows another terminal's content


@frozen
class Stat:
    """The fields of /proc/PID/stat that are used here."""

    name: str
    state: str
    parent: int
    group: int
    device: int
    foreground: int
    threads: int
    started: int

    @property
    def ended(self) -> bool:
        """Whether only its exit status is left, for its parent to collect."""
        return self.state in "ZX"

    @classmethod
    def parse(cls, text: str) -> Stat:
        """Raises ValueError or IndexError for an invalid line.  A name may hold blanks and brackets."""
        name, _, rest = text.partition("(")[2].rpartition(")")
        values = rest.split()
        number = int(values[4])
        return cls(
            name=name,
            state=values[0],
            parent=int(values[1]),
            group=int(values[2]),
            device=os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00) if number else 0,
            foreground=int(values[5]),
            threads=int(values[17]),
            started=int(values[19]),
        )


class Process(NamedTuple):
    """One process: a pid alone may be reused."""

    pid: int
    started: int  # clock ticks since boot; 0 where the system does not say

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this number now, also a zombie; None where there is none."""
        stat = stat_of(pid)
        return None if stat is None else cls(pid, stat.started)

    @classmethod
    def ours(cls) -> Process:
        """The current process."""
        return cls.of(os.getpid()) or cls(os.getpid(), 0)

    def alive(self) -> bool:
        """Whether it still runs."""
        stat = stat_of(self.pid)
        return stat is not None and stat.started == self.started and not stat.ended


def stat_of(pid: int) -> Stat | None:
    try:
        return Stat.parse(Path(PROC, str(pid), "stat").read_text("utf-8", "replace"))
    except (OSError, ValueError, IndexError):
        return None


class ProcEntry:
    """The directory of one process under /proc, held open: it stays with this process if the number is reused."""

    def __init__(self, at: int) -> None:
        self.at = at

    def read(self, name: str, limit: int = PAGE) -> str:
        """The beginning of one file.  Raises OSError."""
        opened = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.at)
        try:
            data = part = os.read(opened, limit)
            while part and PAGE - 512 < len(data) < limit:  # a long file comes in pages
                part = os.read(opened, limit - len(data))
                data += part
            return data.decode("utf-8", "replace")
        finally:
            os.close(opened)

    def name(self) -> str | None:
        """Its command's first word, as tmux gives it."""
        try:
            word = self.read("cmdline").partition("\0")[0].split(" ")[0]
        except OSError:
            return None
        return word.removeprefix("-").rpartition("/")[2] or None  # -bash is a login shell's bash

    def relay(self, *names: str) -> str | None:
        """The first known relay among its names, or its name where it holds the master of a terminal; or None."""
        for name in names:
            word = name.partition(":")[0]  # a client of tmux calls itself "tmux: client"
            if word in RELAYS:
                return word
        return names[0] if MASTER in (self.devices or ()) else None

    def threads(self) -> Iterator[str]:
        """The numbers of its threads, the first thread first.  Raises OSError."""
        opened = os.open("task", DIRECTORY, dir_fd=self.at)
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    yield entry.name
        finally:
            os.close(opened)

    @cached_property
    def devices(self) -> frozenset[int] | None:
        """The devices that it has open; None where that is unknown, as for another user's process."""
        try:
            opened = os.open("fd", DIRECTORY, dir_fd=self.at)
        except OSError:
            return None
        try:
            with os.scandir(opened) as entries:
                found = [device_of(entry.name, opened) for entry in islice(entries, DESCRIPTORS + 1)]
        except OSError:
            return None
        finally:
            os.close(opened)
        if not found or len(found) > DESCRIPTORS:
            return None  # also empty where the first thread ended: another thread may still hold files open
        return frozenset(number for number in found if number)


def device_of(name: str, at: int) -> int | None:
    try:
        return os.stat(name, dir_fd=at).st_rdev
    except OSError:
        return None


def boot_id() -> str:
    """The id of this boot of the machine, where its monotonic clock begins; "" where it is unknown."""
    try:
        return Path(PROC, "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
