"""How a process was started, read while it runs, so that it can be started again with the same words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from attrs import field, frozen

__all__ = ["Started", "how_it_was_started"]

_SAME = ("ns/mnt", "ns/net", "ns/pid", "ns/user", "root")  # as this process has them: it is in no container
_running: list[subprocess.Popen[bytes]] = []  # collected once they ended


@frozen
class Started:
    """The program, its words, its directory, its variables, and where its output goes."""

    program: str
    words: tuple[str, ...]
    cwd: str
    environment: dict[str, str] = field(repr=False)
    output: Path = Path(os.devnull)

    def again(self) -> None:
        """Start it, detached from this terminal.  Raises OSError."""
        _running[:] = [one for one in _running if one.poll() is None]
        with self.output.open("ab") as output:
            process = subprocess.Popen(
                self.words,
                executable=self.program,
                cwd=self.cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        _running.append(process)


def how_it_was_started(pid: int, changes_user: bool) -> Started | None:
    """What it takes to start this process again; None where that would give another process than this one.

    So it is where it runs as another user, in a container, or from a file that is gone.  A program that `changes_user`
    by itself is started by root, which it was started by.

        how_it_was_started(os.getpid(), changes_user=False)
    """
    place = Path(f"/proc/{pid}")
    try:
        if any((place / name).readlink() != Path("/proc/self", name).readlink() for name in _SAME):
            return None
        if place.stat().st_uid != os.geteuid() and not (changes_user and os.geteuid() == 0):
            return None
        words = os.fsdecode((place / "cmdline").read_bytes()).split("\0")[:-1]
        variables = os.fsdecode((place / "environ").read_bytes()).split("\0")
        program, cwd = (place / "exe").readlink(), (place / "cwd").readlink()
    except OSError:
        return None
    if not words or not program.is_file():
        return None
    environment = dict(one.split("=", 1) for one in variables if "=" in one)
    return Started(str(program), tuple(words), str(cwd), environment, _output(place / "fd" / "1"))


def _output(link: Path) -> Path:
    """The file that a descriptor is; for a pipe or a terminal, whose other end may be gone, none."""
    try:
        target = link.readlink()
    except OSError:
        return Path(os.devnull)
    return target if target.is_file() else Path(os.devnull)
