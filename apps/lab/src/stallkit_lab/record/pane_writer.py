"""The program that gets a pane's output while it is recorded: it passes on every byte, with its time.

The tmux server runs it as a script, so with nothing of ours in its environment.  It always reads, so that tmux never
waits; where its listener is slow it keeps `HOLD` bytes, and beyond that counts how many were lost.  It ends with the
pane, or with its listener.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import time
from collections import deque

HEAD = struct.Struct("!cdI")  # output or loss; seconds of the monotonic clock; bytes that follow, or that are missing
CHUNK = 65_536
HOLD = 8_000_000


def main() -> None:
    """Read all of standard input, and write frames to the FIFO that the first argument names."""
    listener = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    held: deque[bytes] = deque([HEAD.pack(b"o", time.monotonic(), 0)])  # reports that it runs
    size = lost = 0
    open_ = True
    while open_ or held:
        ready = select.poll()
        if open_:
            ready.register(0, select.POLLIN)
        ready.register(listener, select.POLLOUT if held else 0)
        for descriptor, events in ready.poll():
            if descriptor == listener and events & (select.POLLERR | select.POLLHUP):
                return
            if descriptor == listener:
                sent = os.write(listener, held[0])
                size -= sent
                if sent == len(held[0]):
                    held.popleft()
                else:
                    held[0] = held[0][sent:]
            else:
                data = os.read(0, CHUNK)
                open_ = bool(data)
                now = time.monotonic()
                if size + len(data) > HOLD:
                    lost += len(data)
                    continue
                if lost:
                    held.append(HEAD.pack(b"l", now, lost))
                    size, lost = size + HEAD.size, 0
                frame = HEAD.pack(b"o", now, len(data)) + data
                held.append(frame)
                size += len(frame)
        if lost and not open_:
            held.append(HEAD.pack(b"l", time.monotonic(), lost))
            lost = 0


if __name__ == "__main__":
    try:
        main()
    except OSError:  # the listener ended
        sys.exit(1)
