"""The facts on one process from /proc, and what a shell or an interpreter runs by its command line.

Every file may be missing or forbidden, and every process may end between two reads: what could not be read is unknown,
never False.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Iterator, NamedTuple, Self

from attrs import frozen

from stallkit.evidence.snapshot import Member, names_of, plain
from stallkit.word_tables import INTERPRETERS, JAVASCRIPT, RELAYS, SHELLS, STARTERS

PROC = "/proc"
ANCESTORS = 64  # of a process, looked at
DESCRIPTORS = 256  # looked at in one process
PAGE = 4_096  # bytes that the kernel returns at a time, whole lines only
_LIST = 65_536  # bytes of a list of processes
GONE = (FileNotFoundError, ProcessLookupError)
DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)

TICKS = os.sysconf("SC_CLK_TCK")  # a second
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", 0)

MASTER = os.makedev(5, 2)  # /dev/ptmx: a process that holds one shows another terminal's content

_SUFFIXES = {
    True: (".js", ".mjs", ".cjs"),
    False: (".py", ".pyw", ".sh", ".bash", ".zsh", ".fish", ".pl", ".rb", ".php"),
}
_ENVIRONMENT = 1_000_000  # bytes of a process' variables that are read


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
    session: int = 0
    ticks: int = 0  # of CPU, in user and system mode, all threads together
    layout: tuple[str, str] = ("0", "0")  # addresses of its code and stack, new with each exec; 0: not permitted

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
            session=int(values[3]),
            ticks=int(values[11]) + int(values[12]),
            layout=(values[23], values[25]) if len(values) > 25 else ("0", "0"),
        )


class Process(NamedTuple):
    """One process: a pid alone may be reused."""

    pid: int
    started: int  # clock ticks since boot; 0 where the system does not say

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this number now, also a zombie; None if there is none."""
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


def all_pids() -> list[int]:
    """The pids of the processes that must be seen.  Raises OSError if there is no /proc."""
    with os.scandir(PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def text_of(pid: int | str, name: str, limit: int = PAGE) -> str:
    """The beginning of a file under /proc.  Raises OSError.  Without `Path`, which takes longer than the kernel."""
    opened = os.open(f"{PROC}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _beginning(opened, limit).decode("utf-8", "replace")
    finally:
        os.close(opened)


def _beginning(opened: int, limit: int) -> bytes:
    data = part = os.read(opened, limit)
    while part and PAGE - 512 < len(data) < limit:  # a long file comes in pages
        part = os.read(opened, limit - len(data))
        data += part
    return data


def stat_of(pid: int) -> Stat | None:
    """The status of a process, also of a zombie; None if there is none."""
    try:
        return Stat.parse(text_of(pid, "stat"))
    except (OSError, ValueError, IndexError):
        return None


def ancestors(pid: int) -> Iterator[tuple[int, Stat]]:
    """The processes above one, its parent first, without the first process of the machine."""
    for _ in range(ANCESTORS):
        stat = stat_of(pid)
        if stat is None or stat.parent <= 1:
            return
        pid = stat.parent
        above = stat_of(pid)
        if above is None:
            return
        yield pid, above


def children_of(pid: int) -> list[int]:
    """The processes that a process's threads started, and that are its children now; none if it ended.

    Raises OSError if the kernel does not list them.
    """
    found: list[int] = []
    try:
        threads = os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208  # asked of many processes every few seconds
    except GONE:
        return found
    for thread in threads:
        try:
            found += map(int, text_of(pid, f"task/{thread}/children", _LIST).split())
        except GONE:
            if Path(PROC, str(pid), "task", thread, "stat").exists():
                raise OSError(f"{PROC} does not list the children of processes") from None
    return found


class ProcEntry:
    """The directory of one process under /proc, held open: it stays with this process if the number is reused."""

    def __init__(self, at: int) -> None:
        self.at = at

    @classmethod
    @contextmanager
    def of(cls, pid: int | str) -> Iterator[Self]:
        """The directory of a process, open as long as the context.  Raises OSError, as for one that ended."""
        at = os.open(f"{PROC}/{pid}", DIRECTORY)
        try:
            yield cls(at)
        finally:
            os.close(at)

    def stat(self) -> Stat:
        """Raises OSError, ValueError or IndexError, as for a process that ended."""
        return Stat.parse(self.read("stat"))

    def read(self, name: str, limit: int = PAGE) -> str:
        """The beginning of one file.  Raises OSError."""
        opened = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.at)
        try:
            return _beginning(opened, limit).decode("utf-8", "replace")
        finally:
            os.close(opened)

    def memory(self, path: str, address: int, size: int) -> bytes:
        """A part of its memory, by the file at this path.  Raises OSError."""
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.at)
        try:
            data = os.pread(opened, size, address)
        finally:
            os.close(opened)
        if len(data) != size:
            raise OSError("short read")
        return data

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its command line; empty if it is unknown."""
        try:
            text = self.read("cmdline")
        except OSError:
            return ()
        return tuple(text.removesuffix("\0").split("\0")) if text else ()

    def name(self) -> str | None:
        """Its command's first word, as tmux gives it."""
        word = self.words[0].split(" ")[0] if self.words else ""
        return word.removeprefix("-").rpartition("/")[2] or None  # -bash is a login shell's bash

    def member(self, pid: int, status: Stat) -> Member:
        """The process as a value."""
        image = file = path = None
        try:
            path = os.readlink("exe", dir_fd=self.at).removesuffix(" (deleted)")
            image = path.rpartition("/")[2] or None
            found = os.stat("exe", dir_fd=self.at)
            file = f"{found.st_dev}:{found.st_ino}"
        except OSError:  # another user's, or it ended
            pass
        known = file is not None or any(address != "0" for address in status.layout)
        called = self.name()
        return Member(
            pid,
            status.name,
            status.state,
            status.started,
            status.threads,
            called=called,
            image=image,
            execed=f"{file} {' '.join(status.layout)}" if known else None,
            interactive=takes_commands(self.words, names_of(status.name, called, image)),
            script=script_in(self.words) or None,
            path=self._script(pid, plain(image)) if image and plain(image) in INTERPRETERS | SHELLS else path,
            cwd=self._cwd(),
            parent=status.parent,
            began=time.time() - time.clock_gettime(_BOOT_CLOCK) + status.started / TICKS if _BOOT_CLOCK else None,
        )

    def _script(self, pid: int, interpreter: str) -> str | None:
        """The file of the script that an interpreter or a shell runs, links followed; None if it is not known.

        A program may write over its command line, and change its directory: the line has to name this interpreter and a
        file that exists, of the kind that it runs; of a relative path its last name alone is given.  No
        variable may have it run another one before.
        """
        script, javascript = script_path(self.words), interpreter in JAVASCRIPT
        if not script or plain(self.name() or "") != interpreter or (javascript and self._loads_more()):
            return None
        whole = script.startswith("/")
        file = os.path.realpath(f"{PROC}/{pid}/{'root' if whole else 'cwd/'}{script}")
        if Path(file).suffix not in ("", *_SUFFIXES[javascript]) or not Path(file).is_file():
            return None
        return file if whole else Path(script).name

    def _loads_more(self) -> bool:
        """Whether a variable may have Node.js run something before its script."""
        try:
            variables = self.read("environ", _ENVIRONMENT).split("\0")
        except OSError:
            return True
        given = [one.partition("=")[2].split() for one in variables if one.startswith("NODE_OPTIONS=")]
        return not all(HARMLESS.fullmatch(word) for words in given for word in words)

    def _cwd(self) -> str | None:
        try:
            return os.readlink("cwd", dir_fd=self.at)
        except OSError:  # another user's, or it ended
            return None

    def relay(self, *names: str) -> str | None:
        """The first known relay among its names, or its name where it holds the master of a terminal; or None."""
        for name in names:
            word = name.partition(":")[0]  # a client of tmux calls itself "tmux: client"
            if word in RELAYS and not (word in STARTERS and self.devices is not None and MASTER not in self.devices):
                return word  # su and sudo have another terminal at times
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
    def descriptors(self) -> tuple[Descriptor, ...] | None:
        """What it has open; None if that is unknown, as for another user's process."""
        try:
            opened = os.open("fd", DIRECTORY, dir_fd=self.at)
        except OSError:
            return None
        try:
            with os.scandir(opened) as entries:
                found = [Descriptor.of(entry.name, opened) for entry in islice(entries, DESCRIPTORS + 1)]
        except OSError:
            return None
        finally:
            os.close(opened)
        if not found or len(found) > DESCRIPTORS:
            return None  # also empty where the first thread ended: another thread may still hold files open
        return tuple(one for one in found if one is not None)

    def elsewhere(self, device: int, place: int | None) -> bool:
        """Whether what it has open of this number is another container's terminal: each container counts from 0."""
        places = {one.place for one in self.descriptors or () if one.device == device}
        return place is not None and bool(places) and place not in places

    @property
    def devices(self) -> frozenset[int] | None:
        """The devices among them."""
        return None if self.descriptors is None else frozenset(one.device for one in self.descriptors if one.device)


class Descriptor(NamedTuple):
    """An open file of a process."""

    number: int
    mode: int  # as os.stat gives it
    device: int  # of a terminal or another device; 0 for any other file
    special: str  # "eventpoll", "inotify", ... of a file that is only in the kernel; or ""
    place: int  # the file system that it lies in: the terminals of each container have one of their own

    @classmethod
    def of(cls, name: str, at: int) -> Descriptor | None:
        """One entry of an open directory of descriptors; None if it was closed meanwhile."""
        try:
            found = os.stat(name, dir_fd=at)
            path = "" if found.st_rdev else os.readlink(name, dir_fd=at)
        except OSError:
            return None
        kernel = path.startswith("anon_inode:")
        return cls(int(name), found.st_mode, found.st_rdev, path[11:].strip("[]") if kernel else "", found.st_dev)


def device_of(name: str, at: int) -> int | None:
    try:
        return os.stat(name, dir_fd=at).st_rdev
    except OSError:
        return None


def place_of(device: int, pid: int) -> int | None:
    """The file system of the terminal of this number that a process has open, or that its container has; or None."""
    for path in (*(f"fd/{number}" for number in range(3)), f"root/dev/pts/{os.minor(device)}"):
        with suppress(OSError):
            found = os.stat(f"{PROC}/{pid}/{path}")  # noqa: PTH116
            if found.st_rdev == device:
                return found.st_dev
    return None


def boot_id() -> str:
    """The id of this boot of the machine, where its monotonic clock begins; "" if it is unknown."""
    try:
        return Path(PROC, "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


# --- what a shell or an interpreter runs, by its command line ---


_POSIX = frozenset({"ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"})
_FLAGS = frozenset("abefhklmnpruvxBEHPT")  # they take no value, and leave a script a script
_VALUES = frozenset({"--init-file", "--rcfile", "-O", "+O", "-o", "+o"})
_REPLS = frozenset({"bun", "deno", "node", "php", "python"})
_REPL_VALUES = frozenset({"-C", "-W", "-X", "-r", "--conditions", "--import", "--require"})
_WITH_VALUE = re.compile(r"--[^=]+=.*")  # options that bring their value along
_ALONE = re.compile(r"-[BEIOPRSbdsuvx]+")  # Python's without a value, which a script's first row may have
# Options of Node.js that load and run nothing else than the script.
HARMLESS = re.compile(
    r"--(?:max-(?:old|semi)-space-size=\d+|stack-size=\d+|no-warnings|no-deprecation|enable-source-maps)"
)
_TYPED = ("/dev/", "/proc/")  # a script that is a terminal, or may be one


@lru_cache(maxsize=4096)  # a process has one command line, and is looked at every second
def takes_commands(words: tuple[str, ...], names: frozenset[str]) -> bool | None:
    """Whether a shell or interpreter with this command line reads commands; None for other programs, or unknown.

    Known as False only if a script, or a command as an argument, is shown, in a form that is understood.

    >>> bash, python = frozenset({"bash"}), frozenset({"python"})
    >>> takes_commands(("bash", "-c", "read -n1"), bash), takes_commands(("-bash",), bash)
    (False, True)
    >>> takes_commands(("bash", "-o", "vi"), bash), takes_commands(("python3", "ask.py"), python)
    (True, False)
    """
    if not words:
        return None
    shell = SHELLS.intersection(names)
    if not shell:
        return not _has_program(iter(words[1:])) if plain(words[0].rpartition("/")[2]) in _REPLS else None
    arguments, called = list(words[1:]), plain(words[0].removeprefix("-").rpartition("/")[2])
    if called not in SHELLS:  # a shell in Python is what the interpreter runs
        return True
    if called == "busybox":
        arguments = arguments[1:]
    if not _POSIX.isdisjoint(shell):
        return not _has_script(iter(arguments))
    first = arguments[0] if arguments else ""  # fish, csh, nu, pwsh, ...: only the plainest form is understood
    return first != "-c" and (first.startswith("-") or not _is_script(first))


@lru_cache(maxsize=4096)
def script_in(words: tuple[str, ...]) -> str:
    """The name of the script in an interpreter's command line, without its suffix; or "".

    >>> script_in(("node", "--max-old-space-size=4096", "/usr/bin/acme")), script_in(("bash", "acme"))
    ('acme', '')
    """
    called = PurePath(words[0]).name.rstrip("0123456789.") if words else ""
    return PurePath(script_path(words, alone=False)).stem if called in INTERPRETERS else ""


@lru_cache(maxsize=4096)
def script_path(words: tuple[str, ...], *, alone: bool = True) -> str:
    """The script in the command line of an interpreter or a shell, as it is written there; or "".

    `alone`: none if an option may have it run something else, before the script or in its place.

    >>> script_path(("node", "/usr/lib/acme/cli.js")), script_path(("bash", "-c", "read")), script_path(("acme",))
    ('/usr/lib/acme/cli.js', '', '')
    """
    called = plain(PurePath(words[0].removeprefix("-")).name) if words else ""
    if called not in INTERPRETERS | SHELLS:
        return ""
    first = next((word for word in words[1:] if word), "")
    options = _ALONE if called == "python" else HARMLESS if alone else _WITH_VALUE
    while options.fullmatch(first):
        words = words[1:]
        first = next((word for word in words[1:] if word), "")
    return "" if first.startswith(("-", "+", *_TYPED)) else first


def _has_script(arguments: Iterator[str]) -> bool:
    for word in arguments:
        if word in ("-", "--"):
            return _is_script(next(arguments, ""))
        if not word.startswith(("-", "+")):
            return _is_script(word)
        if word in _VALUES:
            next(arguments, None)
        elif word.startswith("--"):
            if word not in ("--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose"):
                return False
        elif word.startswith("-") and "c" in word:
            return _FLAGS.issuperset(word[1:].replace("c", "")) and next(arguments, None) is not None
        elif not _FLAGS.issuperset(word[1:]):
            return False
    return False


def _has_program(arguments: Iterator[str]) -> bool:
    for word in arguments:
        if word in _REPL_VALUES:
            next(arguments, None)
        elif not word.startswith("-"):
            return _is_script(word)
        elif ("i" in word and not word.startswith("--")) or word == "--interactive":
            return False
    return False


def _is_script(word: str) -> bool:
    return bool(word) and not word.startswith(_TYPED)
