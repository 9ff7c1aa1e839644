"""What a thread waits for: told by the call that it is in, or else by the kernel's function in which it sleeps."""

from __future__ import annotations

import os
import platform

from attrs import frozen

from stallkit.core.facts import How, Source
from stallkit.probes.descriptors import Descriptors
from stallkit.probes.procfs import GONE, ProcEntry, Stat, device_of

__all__ = ["Seen", "Threads"]

TTY = os.makedev(5, 0)  # /dev/tty: the controlling terminal, which the whole group has in common

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


@frozen
class Seen:
    """What one thread does."""

    listening: bool | None
    how: How | None = None
    source: Source = "syscall"
    running: bool | None = False


class Threads:
    """The threads of one process, looked at one by one."""

    def __init__(self, process: ProcEntry, device: int, *, controlling: bool = True) -> None:
        self._process = process
        self._terminal = frozenset({device, TTY} if controlling else {device})
        self._calls = _SYSCALLS.get(platform.machine())

    def look(self, thread: str, *, outlived: bool = False) -> Seen | None:
        """What one thread does; None for one that ended meanwhile."""
        home = f"task/{thread}/" if outlived else ""  # the first thread takes its own with it when it ends
        if self._calls is not None:
            try:
                words = self._process.read(f"task/{thread}/syscall").split()
                return self._by_syscall(thread, words, self._calls, Descriptors(self._process, self._terminal, home))
            except PermissionError:
                self._calls = None
            except (OSError, ValueError):  # it ended, or the kernel is one without
                pass
        return self._by_wchan(thread)

    def _by_syscall(
        self, thread: str, words: list[str], calls: dict[int, str], descriptors: Descriptors
    ) -> Seen | None:
        """Raises OSError or ValueError where the line does not have the form: number, six arguments, sp, pc."""
        if words == ["running"]:
            return Seen(False, running=True)
        number = int(words[0])
        if number < 0:  # held outside of any call, by a page that is being fetched
            return Seen(False)
        arguments = [int(word, 16) for word in words[1:]]
        if len(arguments) != 8:
            raise ValueError(words)
        if arguments[6] < 1 << 32:  # its stack says: a 32-bit program, whose calls have other numbers
            return self._by_wchan(thread)
        call = calls.get(number)
        if call is None:
            return Seen(False)
        if call == "other":
            return self._by_wchan(thread)
        first = arguments[0] & 0xFFFF_FFFF  # an int; of a pointer all 64 bits count
        if call == "read":
            return Seen(descriptors.is_terminal(first), "read")
        if call == "epoll":
            return Seen(descriptors.watches(first), "epoll")
        try:
            if call == "poll":
                chosen = descriptors.polled(arguments[0], arguments[1] & 0xFFFF_FFFF)
            else:
                chosen = descriptors.selected(first, arguments[1])
        except OSError:  # another process' memory is guarded more closely than the rest
            return self._by_wchan(thread)
        return Seen(descriptors.has_terminal(chosen), "poll" if call == "poll" else "select")

    def _by_wchan(self, thread: str) -> Seen | None:
        """What is left without the right to read the call: in which function it sleeps, but not on what."""
        try:
            state = Stat.parse(self._process.read(f"task/{thread}/stat")).state
            if state == "R":
                return Seen(False, source="wchan", running=True)
            sleeps_in = self._process.read(f"task/{thread}/wchan").strip("\0 \n")
        except GONE:
            gone = device_of(f"task/{thread}", self._process.at) is None
            return None if gone else Seen(None, source="wchan")
        except (OSError, ValueError, IndexError):
            return Seen(None, source="wchan", running=None)
        devices = self._process.devices
        if devices is not None and not devices & self._terminal:
            return Seen(False, source="wchan")  # it has no descriptor of the terminal
        function = sleeps_in.partition(".")[0]  # do_poll.constprop.0
        if function in ("", "0") or function.startswith("io_"):  # not permitted; or an io_uring
            return Seen(None, source="wchan")
        how = _WCHANS.get(function)
        return Seen(False if how is None else True if devices else None, how, "wchan")
