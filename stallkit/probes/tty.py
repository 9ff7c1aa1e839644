"""How a terminal takes input, from its own settings, and what was typed that nobody has read."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import termios
from contextlib import suppress
from pathlib import Path

from stallkit.evidence.facts import TtyFacts

__all__ = ["probe"]

_PEER = 0x5441  # TIOCGPTPEER of Linux 4.13: the other side of a master, whatever its path is
_OPEN = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


def probe(terminal: str | int) -> TtyFacts:
    """Echo, canonical mode and unread keys of a terminal, given as its path or as a pseudo-terminal's master.

    It never becomes the caller's controlling terminal, nothing is read from it, and unknown facts are None.  Never
    raises for failures of the outside world.
    """
    try:
        if isinstance(terminal, int):
            return _of_master(terminal)
        if not stat.S_ISCHR(Path(terminal).stat().st_mode):  # a pipe's writer would notice that it is opened
            return TtyFacts()
        opened = os.open(terminal, _OPEN)
    except (OSError, ValueError):  # gone, not permitted, not a valid path
        return TtyFacts()
    try:
        return _settings(opened, opened)
    finally:
        os.close(opened)


def _of_master(master: int) -> TtyFacts:
    """By the other side, where the system opens it: what waits at a master is the program's output."""
    opened = None
    with suppress(OSError, ValueError, OverflowError):
        opened = fcntl.ioctl(master, _PEER, _OPEN)
    try:
        return _settings(master, opened)
    finally:
        if opened is not None:
            os.close(opened)


def _settings(descriptor: int, typed_into: int | None) -> TtyFacts:
    try:
        local, characters = termios.tcgetattr(descriptor)[3::3]
    except (OSError, ValueError, OverflowError, termios.error):
        return TtyFacts()
    lines = bool(local & termios.ICANON)
    unread = None
    if typed_into is not None:
        with suppress(OSError):
            unread = int.from_bytes(fcntl.ioctl(typed_into, termios.FIONREAD, bytes(4)), sys.byteorder)
    # Where lines are read, the same places hold the characters that end a line.
    blocks = lines or (characters[termios.VMIN] > 0 and characters[termios.VTIME] == 0)
    return TtyFacts(echo=bool(local & termios.ECHO), canonical=lines, blocks=blocks, unread=unread)
