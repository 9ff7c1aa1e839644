"""A session that ended, and a terminal to read of it on, for tests of the commands."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios

from started import House
from terminals import HEARD

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
LAST = ["sh", "-c", f"echo the last words; echo token {TOKEN}; {HEARD}; exit 3"]


def on_terminal(house: House, *words: str, width: int = 50, **environment: str) -> tuple[int, str]:
    """Exit code and output of a command whose terminal has so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    given = {**os.environ, **house.environment, "TERM": "xterm-256color", **environment}
    process = subprocess.Popen([house.command, *words], env=given, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # its other side is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    return process.wait(60), said.decode()
