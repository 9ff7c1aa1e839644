"""The program that a pane's output is piped into: what its program says of itself goes on, all else is dropped.

Run as a script, by the tmux server and so with nothing of ours in its environment.  It ends with the pane, with its
listener, or when that reads so seldom that something would be lost.
"""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from pathlib import Path

# It is started without site-packages, for speed, and the package imports from there: so the module alone is loaded.
_OSC = importlib.util.spec_from_file_location("osc", Path(__file__).parents[2] / "core" / "osc.py")
assert _OSC is not None and _OSC.loader is not None  # it is beside us
osc = importlib.util.module_from_spec(_OSC)
_OSC.loader.exec_module(osc)
RESET, OscReader = osc.RESET, osc.OscReader

CHUNK = 65_536  # bytes a read
_WANTED = (b"\x1b]7501;", b"\x1b]133;", b"\x1b]633;", b"\x1b]9;4;")  # what core/marks.py reads; tmux knows the title


def main() -> None:
    listener = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.write(listener, b"\0")  # says that it is there
    reader, ready = OscReader(), select.poll()
    ready.register(0, select.POLLIN)
    ready.register(listener, 0)  # readable never, but an error once nobody listens
    while True:
        if any(descriptor == listener for descriptor, _ in ready.poll()):
            return
        data = os.read(0, CHUNK)
        said = b"".join(filter(None, map(_wanted, reader.feed(data))))
        if not data or (said and os.write(listener, said) < len(said)):
            return


def _wanted(piece: bytes) -> bytes:
    if piece == RESET or piece.startswith(_WANTED):
        return piece
    return b"\x07" if piece.startswith(b"\x07") else b""  # one bell for many


if __name__ == "__main__":
    try:
        main()
    except OSError:  # nobody listens any more, or too slowly
        sys.exit(1)
