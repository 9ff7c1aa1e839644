"""What a source of signals is, and what it reads: a process of a session, its files, its sockets.

A pack brings its program's source by ``[project.entry-points."stallkit.signals"]``, ``NAME = "module:SOURCE"``.
`stallkit.testing.check_signal` holds it to what is promised of all.  Paths are the process's own: one in a container,
or with another root, keeps its files there.  A file is read with care: regular, of the process's own user, and bounded.
"""

from __future__ import annotations

import json
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import Any, Iterable, Iterator, Protocol, Self, Sequence, runtime_checkable

from attrs import field, frozen

from stallkit import private
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import names_of
from stallkit.probes.procfs import PROC, ProcEntry, Stat, stat_of, text_of
from stallkit.terminal.marks import plain

MAX_BYTES = 1_000_000  # of a file that is read
_ENVIRON = 200_000  # bytes of an environment that are looked at
_STATUS = 65_536  # bytes: it lists the user's groups
_OPEN_FILES = 512  # of a process, looked at


_WORDS = 500  # characters of what is asked


_LISTENS = "0A"
_HERE = ("0100007F", "00000000")  # 127.0.0.1, and every address
_ROWS = 4_000_000  # bytes of the kernel's list


@runtime_checkable
class SignalSource(Protocol):
    """Reads what programs of one kind publish of themselves."""

    name: str
    programs: frozenset[str]  # names of processes, without versions; others are not asked

    def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
        """The signals of one process, at `now` in seconds of the wall clock; none if it published nothing.

        Takes a few milliseconds, opens no terminal, writes nothing, and never raises for what it finds.  A server of
        the process's own may be asked on this machine, if the listening socket is the process's, by a request that
        changes nothing.
        """


@runtime_checkable
class Starter(SignalSource, Protocol):
    """A source whose programs say more of themselves if they are started with further options."""

    def start_with(self, command: Sequence[str], folder: Path) -> list[str] | None:
        """The command with these options, for one start; None if it takes none, or has such options already.

        `command` begins with one of `programs`, or a path to it.  What the options need may be written into `folder`:
        ``hooks/ID`` of the state directory, which only this user can read and which goes with the session.  No file of
        the user's is changed.  Raises OSError if nothing can be written.
        """


def has_option(command: Sequence[str], option: str) -> bool:
    """Whether a command has this option, with its value behind it or in it.

    >>> has_option(["acme", "--port=80"], "--port"), has_option(["acme", "--port", "80"], "--po")
    (True, False)
    """
    return any(word == option or word.startswith(f"{option}=") for word in command)


# --- a process of a session ---


@frozen
class Publisher:
    """One running process below a session's first one; (pid, started) is one process, a pid alone is not."""

    pid: int
    stat: Stat = field(eq=False)

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process that has this pid now; None if there is none."""
        stat = stat_of(pid)
        return cls(pid, stat) if stat else None

    @property
    def started(self) -> int:
        """When it started, in clock ticks since boot."""
        return self.stat.started

    @cached_property
    def names(self) -> frozenset[str]:
        """The names by which its program may be known; a script of an interpreter by its file's name as well."""
        words = self.words
        called = words[0].split(" ")[0].removeprefix("-").rpartition("/")[2] if words else None
        script = next((word for word in words[1:3] if "/" in word and not word.startswith("-")), "")
        image = self._link("exe").removesuffix(" (deleted)").rpartition("/")[2] or None
        name = script.rpartition("/")[2].rpartition(".")[0] or script.rpartition("/")[2]
        return names_of(self.stat.name, called, image) | ({name} if name else frozenset())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its command line; empty if it is unknown."""
        try:
            with ProcEntry.of(self.pid) as process:
                return process.words
        except OSError:
            return ()

    @cached_property
    def environ(self) -> dict[str, str]:
        """The environment that it was started with; empty if that is unknown, as for another user's process."""
        try:
            text = text_of(self.pid, "environ", _ENVIRON)
        except OSError:
            return {}
        return dict(part.partition("=")[::2] for part in text.split("\0") if "=" in part)

    @cached_property
    def own_pid(self) -> int:
        """Its pid as it knows it: in a container, that of the innermost pid namespace."""
        numbers = self._status("NSpid")
        return int(numbers[-1]) if numbers else self.pid

    @property
    def ours(self) -> bool:
        """Whether it is this user's, sees the same files and processes, and is in no sandbox that forbids privileges.

        Only then a server that it names may be asked as this user would ask it.
        """
        users = self._status("Uid")
        alike = self.domain == _link("self", "ns/pid") != "" and not self._other_mounts and self._link("root") == "/"
        return alike and set(users) == {str(os.geteuid())} and self._status("NoNewPrivs") == ["0"]

    @cached_property
    def domain(self) -> str:
        """Its pid namespace, as ``pid:[4026531836]``; "" if it is unknown."""
        return self._link("ns/pid")

    @property
    def held_up(self) -> str | None:
        """Why what it last said of itself need not hold any more: it ended, or job control holds it; or None."""
        return self.held_up_by(stat_of(self.pid))

    def held_up_by(self, now: Stat | None) -> str | None:
        """The same, by what was just read of its pid."""
        if now is None or now.started != self.started or now.ended:
            return "its process has ended"
        if now.state in "Tt":
            return "its process is stopped"
        if now.device and now.group != now.foreground:
            return "its process is in the background"
        return None

    def path(self, path: str) -> Path:
        """A path of the process, as it is reached from here."""
        root = self._link("root")
        return Path(f"{PROC}/{self.pid}/root{path}") if root not in ("", "/") or self._other_mounts else Path(path)

    @cached_property
    def home(self) -> str:
        """Its home directory; "" if it is unknown."""
        return self.environ.get("HOME", "")

    @property
    def same_network(self) -> bool:
        """Whether a port of its loopback interface is one of ours."""
        return self._link("ns/net") == _link("self", "ns/net") != ""

    def open_sockets(self) -> frozenset[str]:
        """The inodes of the sockets that it has open."""
        return frozenset(link[8:-1] for link in self._descriptors() if link.startswith("socket:["))

    def open_files(self) -> Iterator[str]:
        """The paths of the files that it has open, as the kernel names them."""
        for link in self._descriptors():
            if link.startswith("/") and not link.startswith(("/dev/", "/proc/")):
                yield link

    def _descriptors(self) -> Iterator[str]:
        """What its open files are links to."""
        folder = f"{PROC}/{self.pid}/fd"
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for _, entry in zip(range(_OPEN_FILES), entries, strict=False)]
        except OSError:
            return
        yield from (self._link(f"fd/{name}") for name in names)

    @cached_property
    def _other_mounts(self) -> bool:
        return self._link("ns/mnt") not in ("", _link("self", "ns/mnt"))

    def _status(self, name: str) -> list[str]:
        """The values of one line of its status; empty if it is unknown."""
        try:
            text = text_of(self.pid, "status", _STATUS)
        except OSError:
            return []
        return next((line.split()[1:] for line in text.splitlines() if line.startswith(f"{name}:")), [])

    def _link(self, name: str) -> str:
        return _link(str(self.pid), name)


def _link(process: str, name: str) -> str:
    try:
        return os.readlink(f"{PROC}/{process}/{name}")  # noqa: PTH115  # `Path` takes longer than the kernel
    except OSError:
        return ""


# --- files that a program published of itself, and ones for it ---


def read_json(path: Path, publisher: Publisher) -> dict[str, Any] | None:
    """The object in a JSON file of the process's own user; None if there is none, or it is cut, or not its own."""
    data = _read(path, publisher, from_end=False)
    try:
        found = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def tail_of(path: Path, publisher: Publisher) -> list[str]:
    """The last whole lines of a file of the process's own user."""
    data = _read(path, publisher, from_end=True)
    return data.decode("utf-8", "replace").splitlines() if data else []


def one_line(text: object) -> str:
    """A program's text on one line, without control or invisible characters, cut to a length; "" for no text."""
    return plain(" ".join(text.split()))[:_WORDS] if isinstance(text, str) else ""


def write_own(path: Path, text: str) -> None:
    """Write a file that nobody but this user can read, in the folder of a start.  Raises OSError."""
    with os.fdopen(private.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: Path, publisher: Publisher, *, from_end: bool) -> bytes | None:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != Path(PROC, str(publisher.pid)).stat().st_uid:
            return None
        if found.st_size > MAX_BYTES and not from_end:
            return None
        skipped = max(0, found.st_size - MAX_BYTES)
        data = os.pread(opened, MAX_BYTES, skipped)
        return data.partition(b"\n")[2] if skipped else data
    except OSError:
        return None
    finally:
        os.close(opened)


# --- at which ports a process itself listens for this machine ---


def listening_ports(publisher: Publisher) -> list[int]:
    """The ports at 127.0.0.1 whose listening socket the process has open; none in another network namespace."""
    if not publisher.same_network:
        return []
    own = publisher.open_sockets()
    if not own:
        return []
    try:
        with Path(PROC, str(os.getpid()), "net/tcp").open() as file:
            rows = [line.split() for line in file.read(_ROWS).splitlines()[1:]]
    except (OSError, UnicodeDecodeError):
        return []
    found = set()
    for row in rows:
        if len(row) > 9 and row[3] == _LISTENS and row[9] in own:
            address, _, port = row[1].partition(":")
            if address in _HERE:
                found.add(int(port, 16))
    return sorted(found)
