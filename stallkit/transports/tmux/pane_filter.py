"""The script that a pane's output is piped into: it passes on what the program reports of itself, and drops the rest.

The tmux server runs it, so without our environment.  It ends with the pane, with its listener, or when the listener
reads so rarely that something would be lost.
"""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from pathlib import Path

# It runs without site-packages, for speed, which the package's imports need: so only this module is loaded.
_OSC = importlib.util.spec_from_file_location("osc", Path(__file__).parents[2] / "terminal" / "osc_stream.py")
assert _OSC is not None and _OSC.loader is not None  # the file exists
osc = importlib.util.module_from_spec(_OSC)
_OSC.loader.exec_module(osc)
RESET, OscReader = osc.RESET, osc.OscReader

CHUNK = 65_536  # bytes a read
# What terminal/marks.py reads; tmux knows the title.
_MARKS = (b"\x1b]7501;", b"\x1b]133;", b"\x1b]633;", b"\x1b]9;", b"\x1b]99;", b"\x1b]777;")


def main() -> None:
    listener = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.write(listener, b"\0")  # announces the filter
    reader, ready = OscReader(), select.poll()
    ready.register(0, select.POLLIN)
    ready.register(listener, 0)  # never readable, but an error once the listener has closed it
    while True:
        if any(descriptor == listener for descriptor, _ in ready.poll()):
            return
        data = os.read(0, CHUNK)
        marks = b"".join(filter(None, map(_mark, reader.feed(data))))
        if not data or (marks and os.write(listener, marks) < len(marks)):
            return


def _mark(piece: bytes) -> bytes:
    if piece == RESET or piece.startswith(_MARKS):
        return piece
    return b"\x07" if piece.startswith(b"\x07") else b""  # one bell for many


if __name__ == "__main__":
    try:
        main()
    except OSError:  # the listener has gone, or is too slow
        sys.exit(1)
