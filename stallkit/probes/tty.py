"""How a terminal takes input, from its own settings."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stallkit.core.facts import TtyFacts

__all__ = ["probe"]


def probe(terminal: str | int) -> TtyFacts:
    """Echo and canonical mode of a terminal, given as its path or as the master's descriptor of a pseudo-terminal.

    It never becomes the caller's controlling terminal, nothing is read from it, and unknown facts are None.  Never
    raises for failures of the outside world.
    """
    try:
        if isinstance(terminal, int):
            return _settings(terminal)
        if not stat.S_ISCHR(Path(terminal).stat().st_mode):  # a pipe's writer would notice that it is opened
            return TtyFacts()
        opened = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # gone, not permitted, not a valid path
        return TtyFacts()
    try:
        return _settings(opened)
    finally:
        os.close(opened)


def _settings(descriptor: int) -> TtyFacts:
    try:
        import termios
    except ImportError:
        return TtyFacts()
    try:
        local, characters = termios.tcgetattr(descriptor)[3::3]
    except (OSError, ValueError, OverflowError, termios.error):
        return TtyFacts()
    lines = bool(local & termios.ICANON)
    # Where lines are read, the same places hold the characters that end a line.
    blocks = lines or (characters[termios.VMIN] > 0 and characters[termios.VTIME] == 0)
    return TtyFacts(echo=bool(local & termios.ECHO), canonical=lines, blocks=blocks)
