"""Variables on their way to a program that another process starts, such as a tmux server.

They are on no command line, where every user of the machine could read them, in no file, and in no list of tmux's own:
they are in a pipe of this process, which the program's first process opens by its path and reads to its end.  If this
process ends before, there is no such path any more, and the program is not started.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import struct
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Callable, Mapping, Sequence

from stallkit.errors import StartRefused

__all__ = ["SecretPipe", "as_arguments", "as_lines", "as_script", "on_descriptor", "sourced"]

TAKEN_S = 10.0  # for the first process to read all of it, from its start
_AGAIN_S = 0.01
_F_SETPIPE_SZ, _MOST = 1031, 1_048_576  # Linux: what a pipe can hold
DESCRIPTOR = 3  # for who reads a descriptor, not a path


def as_script(values: Mapping[str, str]) -> str:
    """What a shell reads to export them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def as_lines(values: Mapping[str, str]) -> str:
    """What ``--env-file`` of docker and podman reads: they know no quotes, so a value has one line.

    Raises ValueError for a value that they would read differently.
    """
    for name, value in values.items():
        if value != value.strip() or value[:1] in ("'", '"') or not value.isprintable():
            raise ValueError(f"the value of {name}: a container takes one line, without quotes or blanks around it")
    return "".join(f"{name}={value}\n" for name, value in values.items())


def as_arguments(values: Mapping[str, str]) -> str:
    """What ``--args`` of bubblewrap reads."""
    return "".join(f"--setenv\0{name}\0{value}\0" for name, value in values.items())


def sourced(path: str, argv: Sequence[str]) -> list[str]:
    """The command that reads a script there, and becomes `argv`."""
    return ["sh", "-c", '. "$0" && exec "$@"', path, *argv]


def on_descriptor(path: str, argv: Sequence[str]) -> list[str]:
    """The command that becomes `argv`, with what is there on `DESCRIPTOR`."""
    return ["sh", "-c", f'exec {DESCRIPTOR}<"$0" && exec "$@"', path, *argv]


class SecretPipe:
    """A pipe that holds a text until somebody has read it; a context, at whose end the rest is gone."""

    def __init__(self, name: str, text: str, proc: str = "/proc") -> None:
        """`name` is the session that it is for.  Raises StartRefused where it does not fit, or there is no `proc`."""
        self._name = name
        self._reads, writes = os.pipe()
        self.path = f"{proc}/{os.getpid()}/fd/{self._reads}"  # where processes of this user can open it
        try:
            if not Path(self.path).exists():
                why = "its variables need /proc, to be given unseen"
                raise StartRefused(name, why, "leave out --env and --env-file")
            self._fill(writes, os.fsencode(text))
        except BaseException:
            os.close(self._reads)
            raise
        finally:
            os.close(writes)

    def _fill(self, writes: int, data: bytes) -> None:
        os.set_blocking(writes, False)
        try:
            fcntl.fcntl(writes, _F_SETPIPE_SZ, min(_MOST, max(len(data), 4_096)))
            whole = os.write(writes, data) == len(data)
        except OSError:  # above what a user may have
            whole = False
        if not whole:
            raise StartRefused(self._name, f"its variables take {len(data)} bytes", "leave out some of them")

    def __enter__(self) -> SecretPipe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._reads)

    def delivered(self, ended: Callable[[], bool], within_s: float = TAKEN_S) -> None:
        """Return once all of it was read, or the program has `ended` before; else raise StartRefused."""
        deadline = time.monotonic() + within_s
        while self._left():
            if ended():
                return
            if time.monotonic() > deadline:
                why = f"it did not take its variables within {within_s:g} s"
                raise StartRefused(self._name, why, "see whether the machine is busy, and start it again")
            time.sleep(_AGAIN_S)

    def _left(self) -> int:
        """How many bytes were not read yet."""
        count: int = struct.unpack("i", fcntl.ioctl(self._reads, termios.FIONREAD, bytes(4)))[0]
        return count
