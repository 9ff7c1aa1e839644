"""Who is in a terminal's foreground, and whether a thread of it waits for the terminal's input.

Linux tells all of it under /proc.  Elsewhere ps tells who is there, and the rest is unknown.  Every file may be missing
or forbidden, and every process may end between two of them: what could not be read is unknown, never no.
"""

from __future__ import annotations

import os
import platform
import stat
import struct
import subprocess
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Iterable, Iterator

from attrs import frozen

from stallkit.core.facts import RELAYS, How, KernelFacts, Member, Source

__all__ = ["probe"]

PROC = "/proc"
THREADS = 256  # looked at in one probe: each costs some ten microseconds
DESCRIPTORS = 256  # looked at in one process
WATCHED = 1_024  # descriptors of one poll or epoll
DEADLINE_S = 2.0  # for ps
PAGE = 4_096  # bytes that the kernel gives at a time, a line less where they would not fit
GONE = (FileNotFoundError, ProcessLookupError)
DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)

TTY = os.makedev(5, 0)  # /dev/tty: the controlling terminal, which the whole group has in common
MASTER = os.makedev(5, 2)  # /dev/ptmx: who holds one shows another terminal's content

# Numbers of the calls that wait for input: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h
# of the kernel.  read: the descriptor is the first argument; other: nobody can tell what it waits for.
_SYSCALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        **dict.fromkeys((0, 17, 19, 275, 295, 327), "read"),  # read pread64 readv splice preadv preadv2
        **dict.fromkeys((7, 271), "poll"),  # poll ppoll
        **dict.fromkeys((23, 270), "select"),  # select pselect6
        **dict.fromkeys((232, 281, 441), "epoll"),  # epoll_wait epoll_pwait epoll_pwait2
        **dict.fromkeys((219, 426), "other"),  # restart_syscall io_uring_enter
    },
    "aarch64": {
        **dict.fromkeys((63, 65, 67, 69, 76, 286), "read"),  # read readv pread64 preadv splice preadv2
        73: "poll",  # ppoll
        72: "select",  # pselect6
        **dict.fromkeys((22, 441), "epoll"),  # epoll_pwait epoll_pwait2
        **dict.fromkeys((128, 426), "other"),  # restart_syscall io_uring_enter
    },
}
# Functions of the kernel in which a thread waits for input; sockets know wait_woken as well.
_WCHANS: dict[str, How] = {
    **dict.fromkeys(("wait_woken", "n_tty_read"), "read"),
    **dict.fromkeys(("do_poll", "do_sys_poll", "poll_schedule_timeout"), "poll"),  # a select sleeps in the last as well
    "do_select": "select",
    **dict.fromkeys(("ep_poll", "do_epoll_wait"), "epoll"),
}
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")
_POLLIN, _EPOLLIN = 0x41, 0x41  # POLLIN | POLLRDNORM
_TICKS = os.sysconf("SC_CLK_TCK")


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
    census = _Census(device)
    for pid in sorted(_of_group(numbers, group), key=lambda pid: (pid != group, pid)):
        census.add(pid, group)
    # /proc mounted with hidepid shows a user's own processes only: then somebody unseen may read.
    return census.facts(leader_pid, born, group, everybody=1 in numbers)


def _foreground(terminal: str | int, leader: int, started: int | None) -> tuple[int, int, int | None] | None:
    """The foreground group, the terminal's device number and the leader's start; None where unknown."""
    device = None
    if isinstance(terminal, str):
        status = Path(terminal).stat()
        if not stat.S_ISCHR(status.st_mode):
            return None
        device = status.st_rdev
    first = _stat_of(leader)
    if first is not None and (first.device == 0 or device not in (None, first.device)):
        first = None  # its number belongs to somebody else by now, or it left the terminal
    if started is not None and (first is None or first.started != started):
        return None
    if isinstance(terminal, int):
        group = os.tcgetpgrp(terminal)
        if first is not None and first.foreground != group:
            first = None  # it is on another terminal
        anybody = first or _stat_of(group)
        device = anybody.device if anybody is not None and anybody.foreground == group else None
    elif first is not None:
        group = first.foreground
    else:  # the leader ended; whoever else has the terminal knows its foreground
        others = (_stat_of(pid) for pid in _numbers())
        group = next((one.foreground for one in others if one is not None and one.device == device), -1)
    return (group, device, first.started if first else None) if group > 0 and device else None


@frozen
class _Stat:
    """The fields of /proc/PID/stat that are used here."""

    name: str
    state: str
    group: int
    device: int
    foreground: int
    cpu_s: float
    threads: int
    started: int

    @classmethod
    def parse(cls, text: str) -> _Stat:
        """Raises ValueError or IndexError for what is no such line.  A name may hold blanks and brackets."""
        name, _, rest = text.partition("(")[2].rpartition(")")
        values = rest.split()
        number = int(values[4])
        return cls(
            name=name,
            state=values[0],
            group=int(values[2]),
            device=os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00) if number else 0,
            foreground=int(values[5]),
            cpu_s=(int(values[11]) + int(values[12])) / _TICKS,
            threads=int(values[17]),
            started=int(values[19]),
        )


def _stat_of(pid: int) -> _Stat | None:
    try:
        return _Stat.parse(Path(PROC, str(pid), "stat").read_text("utf-8", "replace"))
    except (OSError, ValueError, IndexError):
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


@frozen
class _Seen:
    """What one thread does."""

    listening: bool | None
    how: How | None = None
    source: Source = "syscall"
    running: bool | None = False


class _Census:
    """The members of one group, added one by one, and the sum of them."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._members: list[Member] = []
        self._seen: list[_Seen] = []
        self._foreground: str | None = None
        self._relay: str | None = None
        self._missed = False  # a process could not be looked at

    def add(self, pid: int, group: int) -> None:
        """Look at one process, which may have ended by now."""
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)  # holds on to the process: a later one of its number is not it
        except OSError as error:
            self._missed = self._missed or not isinstance(error, GONE)
            return
        try:
            process = _Process(at, self._device)
            status = _Stat.parse(process.read("stat"))
            if status.group != group:
                return
            written = process.written()
            member = Member(pid, status.name, status.state, status.started, status.threads, status.cpu_s, written)
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

    def _look(self, process: _Process, ended: str | None) -> None:
        for thread in process.threads():
            if len(self._seen) >= THREADS:
                self._missed = True
                return
            seen = None if thread == ended else process.look(thread, outlived=ended is not None)
            if seen is not None:
                self._seen.append(seen)

    def facts(self, pid: int, started: int | None, group: int, *, everybody: bool) -> KernelFacts:
        if not self._members:
            return KernelFacts(pid=pid, started=started, group=group)
        waiting = [one for one in self._seen if one.listening]
        # What was seen beats what was inferred, and who reads beats who watches.
        best = min(waiting, key=lambda one: (one.source, _RANK.index(one.how or "epoll")), default=None)
        # A client of tmux or screen hands its terminal to a server, which reads it from elsewhere.
        whole = everybody and not self._missed and self._relay is None
        nobody = whole and all(one.listening is False for one in self._seen)
        counted = all(one.running is not None for one in self._seen) and not self._missed
        alive = [member for member in self._members if not member.ended]
        return KernelFacts(
            pid=pid,
            started=started,
            group=group,
            foreground=self._foreground,
            members=tuple(self._members),
            listening=True if best else False if nobody else None,
            how=best.how if best else None,
            source=best.source if best else max((one.source for one in self._seen), default=None),
            running=sum(bool(one.running) for one in self._seen) if counted else None,
            stopped=all(member.stopped for member in alive) if alive else None,
            relay=self._relay,
            looked_at=len(self._seen),
            threads=sum(member.threads or 0 for member in self._members),
        )


class _Process:
    """One process under /proc, by the open descriptor of its directory."""

    def __init__(self, at: int, device: int) -> None:
        self._at = at
        self._terminal = frozenset({device, TTY})
        self._calls = _SYSCALLS.get(platform.machine())
        self._home = ""  # where its descriptors and its memory are

    def read(self, name: str, limit: int = PAGE) -> str:
        """The beginning of one file.  Raises OSError."""
        opened = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._at)
        try:
            data = part = os.read(opened, limit)
            while part and PAGE - 512 < len(data) < limit:  # a long file comes in pages
                part = os.read(opened, limit - len(data))
                data += part
            return data.decode("utf-8", "replace")
        finally:
            os.close(opened)

    def name(self) -> str | None:
        """Its first word, as tmux gives it."""
        try:
            word = self.read("cmdline").partition("\0")[0].split(" ")[0]
        except OSError:
            return None
        return word.removeprefix("-").rpartition("/")[2] or None  # -bash is a login shell's bash

    def written(self) -> int | None:
        try:
            fields = dict(line.split(": ") for line in self.read("io").splitlines())
            return int(fields["wchar"])
        except (OSError, ValueError, KeyError):
            return None

    def relay(self, *names: str) -> str | None:
        """Its name, if it is known to pass a terminal on or holds the master of one."""
        for name in names:
            word = name.partition(":")[0]  # a client of tmux calls itself "tmux: client"
            if word in RELAYS:
                return word
        return names[0] if MASTER in (self.devices or ()) else None

    def threads(self) -> Iterator[str]:
        """Their numbers, the first thread first.  Raises OSError."""
        opened = os.open("task", DIRECTORY, dir_fd=self._at)
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    yield entry.name
        finally:
            os.close(opened)

    @cached_property
    def devices(self) -> frozenset[int] | None:
        """The devices that it has open; None where that cannot be told, as for somebody else's process."""
        try:
            opened = os.open("fd", DIRECTORY, dir_fd=self._at)
        except OSError:
            return None
        try:
            with os.scandir(opened) as entries:
                found = [_device(entry.name, opened) for entry in islice(entries, DESCRIPTORS + 1)]
        except OSError:
            return None
        finally:
            os.close(opened)
        return None if len(found) > DESCRIPTORS else frozenset(number for number in found if number)

    def look(self, thread: str, *, outlived: bool = False) -> _Seen | None:
        """What one thread does; None for one that ended meanwhile."""
        self._home = f"task/{thread}/" if outlived else ""  # the first thread takes its own with it when it ends
        if self._calls is not None:
            try:
                return self._by_syscall(thread, self.read(f"task/{thread}/syscall").split(), self._calls)
            except PermissionError:
                self._calls = None
            except (OSError, ValueError):  # it ended, or the kernel is one without
                pass
        return self._by_wchan(thread)

    def _by_syscall(self, thread: str, words: list[str], calls: dict[int, str]) -> _Seen | None:
        """Raises OSError or ValueError where the line does not have the form: number, six arguments, sp, pc."""
        if words == ["running"]:
            return _Seen(False, running=True)
        number = int(words[0])
        if number < 0:  # held outside of any call, by a page that is being fetched
            return _Seen(False)
        arguments = [int(word, 16) for word in words[1:]]
        if len(arguments) != 8:
            raise ValueError(words)
        if arguments[6] < 1 << 32:  # its stack says: a 32-bit program, whose calls have other numbers
            return self._by_wchan(thread)
        call = calls.get(number)
        if call is None:
            return _Seen(False)
        if call == "other":
            return self._by_wchan(thread)
        first = arguments[0] & 0xFFFF_FFFF  # an int; of a pointer all 64 bits count
        if call == "read":
            return _Seen(self.is_terminal(first), "read")
        if call == "epoll":
            return _Seen(self.watches(first), "epoll")
        try:
            if call == "poll":
                chosen = self._polled(arguments[0], arguments[1] & 0xFFFF_FFFF)
            else:
                chosen = self._selected(first, arguments[1])
        except OSError:  # another process' memory is guarded more closely than the rest
            return self._by_wchan(thread)
        return _Seen(self._any(chosen), "poll" if call == "poll" else "select")

    def _polled(self, address: int, count: int) -> list[int]:
        """The descriptors of a poll for input: struct pollfd is an int and two shorts.  Raises OSError."""
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one poll")
        memory = self._memory(address, 8 * count)
        return [number for number, events, _ in struct.iter_unpack("=iHH", memory) if number >= 0 and events & _POLLIN]

    def _selected(self, count: int, address: int) -> list[int]:
        """The descriptors of a select for input: a bit each.  Raises OSError."""
        if not address:
            return []
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one select")
        bits = int.from_bytes(self._memory(address, (count + 63) // 64 * 8), "little")
        return [number for number in range(count) if bits >> number & 1]

    def _memory(self, address: int, size: int) -> bytes:
        if not size:
            return b""
        opened = os.open(f"{self._home}mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._at)
        try:
            data = os.pread(opened, size, address)
        finally:
            os.close(opened)
        if len(data) != size:
            raise OSError("short read")
        return data

    def _any(self, descriptors: Iterable[int], depth: int = 2) -> bool | None:
        """Whether one of them is the terminal, or an epoll that watches it."""
        unknown = False
        for number in descriptors:
            found = self.is_terminal(number)
            if found is False and self._is_epoll(number):
                found = self.watches(number, depth - 1) if depth else None
            if found:
                return True
            unknown = unknown or found is None
        return None if unknown else False

    def is_terminal(self, descriptor: int) -> bool | None:
        number = _device(f"{self._home}fd/{descriptor}", self._at)
        return None if number is None else number in self._terminal

    def _is_epoll(self, descriptor: int) -> bool:
        try:
            return os.readlink(f"{self._home}fd/{descriptor}", dir_fd=self._at) == "anon_inode:[eventpoll]"
        except OSError:
            return False

    def watches(self, epoll: int, depth: int = 2) -> bool | None:
        """Whether an epoll has the terminal's input among what it watches; its own file lists that."""
        limit = 64 * WATCHED  # about a line each
        try:
            text = self.read(f"{self._home}fdinfo/{epoll}", limit)
        except OSError:
            return None
        watched = []
        for line in text.splitlines():
            words = line.split()  # tfd: N events: HEX data: HEX ...
            if len(words) >= 4 and words[0] == "tfd:" and words[2] == "events:" and int(words[3], 16) & _EPOLLIN:
                watched.append(int(words[1]))
        found = self._any(watched, depth)
        return None if found is False and len(text) >= limit else found

    def _by_wchan(self, thread: str) -> _Seen | None:
        """What is left without the right to read the call: in which function it sleeps, but not on what."""
        try:
            state = _Stat.parse(self.read(f"task/{thread}/stat")).state
            if state == "R":
                return _Seen(False, source="wchan", running=True)
            function = self.read(f"task/{thread}/wchan").strip("\0 \n").partition(".")[0]  # do_poll.constprop.0
        except GONE:
            gone = _device(f"task/{thread}", self._at) is None
            return None if gone else _Seen(None, source="wchan")
        except (OSError, ValueError, IndexError):
            return _Seen(None, source="wchan", running=None)
        if self.devices is not None and not self.devices & self._terminal:
            return _Seen(False, source="wchan")  # it has no descriptor of the terminal
        if function in ("", "0") or function.startswith("io_"):  # not permitted; or an io_uring
            return _Seen(None, source="wchan")
        how = _WCHANS.get(function)
        return _Seen(False if how is None else True if self.devices else None, how, "wchan")


def _device(name: str, at: int) -> int | None:
    try:
        return os.stat(name, dir_fd=at).st_rdev
    except OSError:
        return None


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
