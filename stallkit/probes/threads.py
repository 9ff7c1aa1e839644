"""What a thread waits for, and whether all of a terminal's job stands in a read of that terminal.

The system call that a thread is in shows what it waits for, or else the kernel function in which it sleeps.  A program
that has a thread at the keyboard while another one sleeps, polls or asks the network goes on on its own, and does not
stand: that all of a job stands proves that it waits for a line.  The kernel's counts of context switches, which
anybody may read, show what was on a CPU between two looks: CPU time comes in ticks, and misses what takes less.
"""

from __future__ import annotations

import os
import signal
import stat
import struct
from math import inf
from typing import Sequence

from attrs import frozen

from stallkit.evidence.snapshot import KEYS_ALONE_S, How, KernelFacts, Member, Source, Standstill, TtyFacts
from stallkit.probes.procfs import GONE, Descriptor, ProcEntry, Stat, children_of, device_of, text_of
from stallkit.word_tables import SHELLS, WRAPPERS

TTY = os.makedev(5, 0)  # /dev/tty: the controlling terminal, which the whole group shares

Watched = Sequence[tuple[int, bool]]  # descriptors, each with whether for input
WATCHED = 1_024  # descriptors of one poll or epoll
_POLLIN, _EPOLLIN = 0x41, 0x41  # POLLIN | POLLRDNORM
# Numbers of the calls that wait for input: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h
# of the kernel.  read: the descriptor is the first argument; other: what it waits for is unknown.
_SYSCALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        202: "futex",
        **dict.fromkeys((61, 130, 247), "child"),  # wait4 rt_sigsuspend waitid; a shell sleeps so until a child ends
        **dict.fromkeys((0, 17, 19, 275, 295, 327), "read"),  # read pread64 readv splice preadv preadv2
        **dict.fromkeys((7, 271), "poll"),  # poll ppoll
        **dict.fromkeys((23, 270), "select"),  # select pselect6
        **dict.fromkeys((232, 281, 441), "epoll"),  # epoll_wait epoll_pwait epoll_pwait2
        219: "restart",  # restart_syscall
        426: "other",  # io_uring_enter
    },
    "aarch64": {
        98: "futex",
        **dict.fromkeys((95, 133, 260), "child"),  # waitid rt_sigsuspend wait4
        **dict.fromkeys((63, 65, 67, 69, 76, 286), "read"),  # read readv pread64 preadv splice preadv2
        73: "poll",  # ppoll
        72: "select",  # pselect6
        **dict.fromkeys((22, 441), "epoll"),  # epoll_pwait epoll_pwait2
        128: "restart",  # restart_syscall
        426: "other",  # io_uring_enter
    },
}
# Kernel functions in which a thread waits for input.
_WCHANS: dict[str, How] = {
    **dict.fromkeys(("wait_woken", "n_tty_read"), "read"),
    **dict.fromkeys(("do_poll", "do_sys_poll", "poll_schedule_timeout"), "poll"),  # a select sleeps in the last as well
    "do_select": "select",
    **dict.fromkeys(("ep_poll", "do_epoll_wait"), "epoll"),
}
_WITHIN = frozenset({"do_wait", "pipe_read", "anon_pipe_read", "pipe_wait", "sigsuspend"})  # in the same job
_OF_THE_JOB = ("pipe:", "anon_inode:[eventfd]", "anon_inode:[pidfd]")  # open files: a named pipe may be anybody's
_NO_LIMIT = frozenset({0, 0xFFFF_FFFF})  # of time: no address of one, or -1; who does not wait at all is seen to run
_ADDRESSES = 1 << 22  # a greater number is the address of a limit, a smaller one its milliseconds
_HOWS: dict[str, How] = {"read": "read", "poll": "poll", "select": "select", "epoll": "epoll"}
_FUTEX_WAITS = frozenset({0, 6, 9, 13})  # WAIT LOCK_PI WAIT_BITSET LOCK_PI2; the rest wake others, or return at once
_POLLS = frozenset(function for function, how in _WCHANS.items() if how == "poll")
# Also sockets, inotify and many devices sleep in wait_woken; pipes, files and these do not.
_SLEEP_ELSEWHERE = frozenset({"eventfd", "eventpoll", "io_uring", "pidfd", "signalfd", "timerfd"})
_MEMORY = 1  # the number of the driver of /dev/null, /dev/zero and their like


@frozen
class Seen:
    """What one thread does."""

    listening: bool | None
    how: How | None = None
    source: Source = "syscall"
    running: bool | None = False
    within: bool = False  # it waits, without a limit of time, for the terminal or for what the same job does


class _Descriptors:
    """Which descriptors a process waits for, and whether one of them is the terminal."""

    def __init__(self, process: ProcEntry, terminal: frozenset[int], home: str) -> None:
        self._process = process
        self._terminal = terminal  # the numbers of its device
        self._home = home  # the directory of the process' descriptors and memory

    def watched(self, call: str, arguments: Sequence[int]) -> tuple[Watched, int]:
        """Those that a call waits for, and the limit of time that it was given.  Raises OSError."""
        first = arguments[0] & 0xFFFF_FFFF  # an int, not a pointer
        match call:
            case "read":
                return [(first, True)], 0
            case "epoll":
                return self._in_epoll(first), arguments[3]
            case "poll":
                return self._polled(arguments[0], arguments[1] & 0xFFFF_FFFF), arguments[2]
        return self._selected(first, arguments[1:4]), arguments[4]

    def _polled(self, address: int, count: int) -> Watched:
        """Those of a poll: struct pollfd is an int and two shorts."""
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one poll")
        rows = struct.iter_unpack("=iHH", self._memory(address, 8 * count))
        return [(number, bool(events & _POLLIN)) for number, events, _ in rows if number >= 0]

    def _selected(self, count: int, sets: Sequence[int]) -> Watched:
        """Those of a select: a bit each in up to three sets, the first of which is for input."""
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one select")
        size = (count + 63) // 64 * 8
        bits = [int.from_bytes(self._memory(address, size), "little") if address else 0 for address in sets]
        return [(number, place == 0) for place, one in enumerate(bits) for number in range(count) if one >> number & 1]

    def _in_epoll(self, epoll: int) -> Watched:
        """Those of an epoll, as its file under fdinfo lists them: tfd: N events: HEX ..."""
        text = self._process.read(f"{self._home}fdinfo/{epoll}", 128 * WATCHED)  # at least a line each
        rows = [words for line in text.splitlines() if len(words := line.split()) >= 4 and words[0] == "tfd:"]
        return [(int(words[1]), bool(int(words[3], 16) & _EPOLLIN)) for words in rows]

    def _memory(self, address: int, size: int) -> bytes:
        return self._process.memory(f"{self._home}mem", address, size) if size else b""

    def have_terminal(self, watched: Watched, depth: int = 2) -> bool | None:
        """Whether one of those that are watched for input is the terminal, or an epoll that watches it."""
        unknown = len(watched) >= WATCHED
        for number in (one for one, for_input in watched if for_input):
            found = self._is_terminal(number)
            if found is False and self._link(number) == "anon_inode:[eventpoll]":
                found = self.watches(number, depth - 1) if depth else None
            if found:
                return True
            unknown = unknown or found is None
        return None if unknown else False

    def are_within(self, watched: Watched) -> bool:
        """Whether nothing but the terminal and the same job ends a wait for these."""
        return all(self._is_terminal(number) or self._link(number).startswith(_OF_THE_JOB) for number, _ in watched)

    def watches(self, epoll: int, depth: int = 2) -> bool | None:
        """Whether an epoll watches the terminal for input."""
        try:
            return self.have_terminal(self._in_epoll(epoll), depth)
        except OSError:
            return None

    def _is_terminal(self, descriptor: int) -> bool | None:
        number = device_of(f"{self._home}fd/{descriptor}", self._process.at)
        return None if number is None else number in self._terminal

    def _link(self, descriptor: int) -> str:
        try:
            return os.readlink(f"{self._home}fd/{descriptor}", dir_fd=self._process.at)
        except OSError:
            return ""


class Threads:
    """The threads of one process, looked at one by one."""

    def __init__(
        self,
        process: ProcEntry,
        device: int,
        *,
        controlling: bool = True,
        within: bool = False,
        at_least_s: float = inf,
    ) -> None:
        """`within`: whether a wait for descriptors is one within its job is asked as well, a few microseconds each.

        A limit of time no shorter than `at_least_s` is as good as none.
        """
        self._process, self._within, self._at_least_s = process, within, at_least_s
        self._terminal = frozenset({device, TTY} if controlling else {device})
        self._calls = _SYSCALLS.get(os.uname().machine)

    def look(self, thread: str, *, outlived: bool = False) -> Seen | None:
        """What one thread does; None for one that ended meanwhile."""
        home = f"task/{thread}/" if outlived else ""  # the process' own files go with its first thread
        if self._calls is not None:
            try:
                words = self._process.read(f"task/{thread}/syscall").split()
                return self._by_syscall(thread, words, self._calls, _Descriptors(self._process, self._terminal, home))
            except PermissionError:
                self._calls = None
            except (OSError, ValueError):  # it ended, or the kernel does not have this file
                pass
        return self._by_wchan(thread)

    def _by_syscall(
        self, thread: str, words: list[str], calls: dict[int, str], descriptors: _Descriptors
    ) -> Seen | None:
        """Raises OSError or ValueError if the line does not have the form: number, six arguments, sp, pc."""
        if words == ["running"]:
            return Seen(False, running=True)
        number = int(words[0])
        if number < 0:  # blocked outside any call, by a page fault
            return Seen(False)
        arguments = [int(word, 16) for word in words[1:]]
        if len(arguments) != 8:
            raise ValueError(words)
        if arguments[6] < 1 << 32:  # by its stack a 32-bit program, whose calls have other numbers
            return self._by_wchan(thread)
        call = calls.get(number)
        if call is None:
            return Seen(False)
        if call == "restart" and self._sleeps_in(thread) in _POLLS:
            call = "poll"  # one that was stopped meanwhile: its arguments still stand in the registers
        if call in ("other", "restart"):
            return self._by_wchan(thread)
        if call in ("child", "futex"):
            return Seen(False, within=call == "child" or _waits_without_limit(arguments))
        try:
            watched, limit = descriptors.watched(call, arguments)
        except OSError:  # another process' memory needs more rights than the rest
            return self._by_wchan(thread)
        unlimited = limit & 0xFFFF_FFFF in _NO_LIMIT or (limit < _ADDRESSES and limit >= self._at_least_s * 1000)
        within = self._within and unlimited and descriptors.are_within(watched)
        return Seen(descriptors.have_terminal(watched), _HOWS[call], within=within)

    def _sleeps_in(self, thread: str) -> str:
        """The kernel function in which a thread sleeps: "" or "0" if that is not told.  Raises OSError."""
        return self._process.read(f"task/{thread}/wchan").strip("\0 \n").partition(".")[0]  # do_poll.constprop.0

    def _by_wchan(self, thread: str) -> Seen | None:
        """What is known without the right to read the call: the function in which it sleeps, but not the descriptor."""
        try:
            state = Stat.parse(self._process.read(f"task/{thread}/stat")).state
            if state == "R":
                return Seen(False, source="wchan", running=True)
            function = self._sleeps_in(thread)
        except GONE:
            gone = device_of(f"task/{thread}", self._process.at) is None
            return None if gone else Seen(None, source="wchan")
        except (OSError, ValueError, IndexError):
            return Seen(None, source="wchan", running=None)
        devices = self._process.devices
        if devices is not None and not devices & self._terminal:
            return Seen(False, source="wchan")  # it has no descriptor of the terminal
        if function in ("", "0") or function.startswith("io_"):  # not permitted; or an io_uring
            return Seen(None, source="wchan")
        how = _WCHANS.get(function)
        listening = False if how is None else self._means_terminal(function)
        within = function in _WITHIN or (how == "read" and listening is True)
        return Seen(listening, how, "wchan", within=within)

    def _means_terminal(self, function: str) -> bool | None:
        """Whether a thread that sleeps in this function can only wait for the terminal, by what the process has open.

        Known of a read where nothing else is open that sleeps there, and of an epoll where all sets of the process
        agree.  A poll or select may watch any of its descriptors, and none.
        """
        descriptors = self._process.descriptors
        if descriptors is None:
            return None
        match _WCHANS[function]:
            case "read":
                others = [one for one in descriptors if one.device not in self._terminal and _sleeps(one, function)]
                return None if others else True
            case "epoll":
                own = _Descriptors(self._process, self._terminal, "")
                watch = {own.watches(one.number) for one in descriptors if one.special == "eventpoll"}
                return watch.pop() if len(watch) == 1 else None
        return None


def _waits_without_limit(arguments: list[int]) -> bool:
    """Whether a futex waits until another thread wakes it: its fourth argument, the limit, is no address."""
    return arguments[1] & 0x7F in _FUTEX_WAITS and arguments[3] == 0


def _sleeps(file: Descriptor, function: str) -> bool:
    """Whether a read of this file may sleep in that function; n_tty_read is a terminal's alone."""
    if file.device:
        return stat.S_ISCHR(file.mode) and os.major(file.device) != _MEMORY
    if function == "n_tty_read":
        return False
    return stat.S_ISSOCK(file.mode) or bool(file.special and file.special not in _SLEEP_ELSEWHERE)


# --- whether a whole job stands ---


_MOST = 256  # threads looked at
_WAIT = WRAPPERS | SHELLS  # for what they started
_FEW = 4  # processes: more are seldom all at rest


def standstill(
    kernel: KernelFacts, settings: TtyFacts, *, apart: bool = False, at_least_s: float = inf
) -> Standstill | None:
    """All threads of the foreground and of what is below it, where one reads it and no other can go on on its own.

    `apart`: those alone that read it, in whatever way, and of what is below them: what is beside them may work, and
    below one that can do nothing but read.  So it is as well if the output of what reads goes elsewhere, for nobody
    else asks there.  `at_least_s`: a wait in epoll or poll whose limit of time is no shorter counts as one without.  A
    launcher (npm, timeout) only waits for what it started, in whatever way, and is left out.  None
    if that is not so, or is unknown.  Takes some fifty microseconds a thread.  Never raises.
    """
    if kernel.output and not apart:
        return standstill(kernel, settings, apart=True, at_least_s=at_least_s)
    waits = settings.blocks if kernel.how == "read" else apart
    hidden = settings.canonical is True and settings.echo is False  # a relay that asks for itself: ssh, a passphrase
    if not (kernel.listening and waits and kernel.complete) or (kernel.relay is not None and not (apart and hidden)):
        return None
    if kernel.reader is not None:
        return None
    readers = kernel.readers or ()
    launchers = {one.pid for one in kernel.members if one.names & WRAPPERS}.difference(one.pid for one in readers)
    waiting, seen = [one.pid for one in (readers if apart else kernel.members)], set[int]()
    blocked = waiting[0] if apart and kernel.how == "read" and [one.threads for one in readers] == [1] else None
    switches: dict[int, int] = {}
    try:
        while waiting:
            pid = waiting.pop()
            if pid in seen:
                continue
            seen.add(pid)
            waiting += [] if pid == blocked else children_of(pid)
            if pid not in launchers and not _stands(pid, switches, at_least_s):
                return None
    except (OSError, ValueError, IndexError):
        return None
    return Standstill(switches) if switches else None


def keys_alone(kernel: KernelFacts, settings: TtyFacts) -> bool | None:
    """Whether nothing but a key has what reads go on within `KEYS_ALONE_S`; None if who reads cannot be looked at.

    A timer that ends later counts for nothing: Node.js has one of its own at most times.
    """
    if not kernel.readers or not kernel.complete or kernel.relay is not None:
        return None
    return standstill(kernel, settings, apart=True, at_least_s=KEYS_ALONE_S) is not None


def may_stand(members: Sequence[Member]) -> bool:
    """Whether one of several may wait for its terminal and for nothing else, by its first thread: some 50 us each.

    Where the first thread only waits for others, as in Go and Java, it is a different one that may.
    """
    alive = [one for one in members if not one.ended]
    return len(alive) > 1 and any(map(_may_stand, alive))


def _may_stand(member: Member) -> bool:
    try:
        with ProcEntry.of(member.pid) as process:
            seen = Threads(process, process.stat().device, within=True).look(str(member.pid))
    except (OSError, ValueError, IndexError):  # it ended
        return False
    if seen is None or not seen.within:
        return False
    return bool(seen.listening) or (seen.how is None and not member.names & _WAIT)


def turns(kernel: KernelFacts) -> tuple[str, ...] | None:
    """How often each process of the foreground, and of what it started, had a CPU: as long as none had, all stays true.

    None if there are many, or threads, or if the kernel does not tell.  Takes some ten microseconds a process.
    """
    there = (*kernel.members, *kernel.below)
    if not kernel.complete or not 0 < len(there) <= _FEW or any(one.threads != 1 for one in there):
        return None
    try:
        return tuple([text_of(one.pid, "schedstat").split()[2] for one in there])
    except (OSError, IndexError):
        return None


def _stands(pid: int, switches: dict[int, int], at_least_s: float) -> bool:
    """Whether each thread of a process waits for the terminal, or within its job; adds their counts.

    Raises OSError, ValueError or IndexError if the process ended meanwhile, or tells too little.
    """
    with ProcEntry.of(pid) as process:
        status = process.stat()
        if status.ended:
            return status.threads <= 1
        threads = Threads(process, status.device, within=True, at_least_s=at_least_s)
        for thread in process.threads():
            found = threads.look(thread)
            if found is None or not found.within or len(switches) >= _MOST:
                return False
            told = process.read(f"task/{thread}/status")
            if _has_alarm(told) and status.name not in SHELLS:  # they catch every signal to give the terminal back
                return False
            switches[int(thread)] = _switches(told)
    return True


def _has_alarm(status: str) -> bool:
    """Whether a process catches SIGALRM: a read goes on without a key then, as in a game that has a clock."""
    caught = next((line.rpartition(":")[2] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (signal.SIGALRM - 1) & 1)


def _switches(status: str) -> int:
    """How often a thread was put off a CPU.  Raises ValueError if the kernel does not count that."""
    counts = [line.rpartition(":")[2] for line in status.splitlines() if "voluntary_ctxt_switches:" in line]
    if not counts:
        raise ValueError("no context switches are counted")
    return sum(map(int, counts))
