"""A process of a session, as a source of signals sees it: who it is, and what it published where.

Paths are the process's own: one in a container, or with another root, keeps its files there.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Iterator, Self

from attrs import field, frozen

from stallkit.evidence.facts import names_of
from stallkit.probes.procfs import DIRECTORY, PROC, ProcEntry, Stat, stat_of, text_of

__all__ = ["MAX_BYTES", "Publisher"]

MAX_BYTES = 1_000_000  # of a file that is read
_ENVIRON = 200_000  # bytes of an environment that are looked at
_STATUS = 65_536  # bytes: it lists the user's groups
_OPEN_FILES = 512  # of a process, looked at


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
        """Its command line; empty where it is unknown."""
        try:
            at = os.open(f"{PROC}/{self.pid}", DIRECTORY)
        except OSError:
            return ()
        try:
            return ProcEntry(at).words
        finally:
            os.close(at)

    @cached_property
    def environ(self) -> dict[str, str]:
        """The environment that it was started with; empty where that is unknown, as for another user's process."""
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
        """Its pid namespace, as ``pid:[4026531836]``; "" where it is unknown."""
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
        """Its home directory; "" where it is unknown."""
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
        """The values of one line of its status; empty where it is unknown."""
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
