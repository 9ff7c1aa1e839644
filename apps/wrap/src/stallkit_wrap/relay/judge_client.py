"""The relay's side of its judge, a process that looks at the screen of a program that says nothing of itself.

The copying never waits for it: output is kept here until the program rests, and if there is too much of it the
oldest is dropped, and the judge hears of that.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections import deque
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

KEPT = 262_144  # bytes of output that wait for the judge: several screens of any size
CHUNK = 65_536

# What goes to the judge: a letter, the length of what follows, and that.
FRAME = struct.Struct("=cI")
OUTPUT, GAP, SIZE = b"o", b"g", b"s"
CELLS = struct.Struct("=HH")  # columns and rows, after a gap and where they changed


class JudgeClient:
    """One judge, started when it is first needed; without one nothing is judged, and the relay goes on.

    `terminal` is the path of the program's terminal, `leader` the pid of its session's first process.
    """

    def __init__(self, terminal: str, leader: int) -> None:
        self._words = [terminal, str(leader)]
        self._process: Popen[bytes] | None = None
        self._reads = self._writes = -1
        self._kept: deque[tuple[bytes, bytes]] = deque()  # kinds, and what belongs to them
        self._length = 0
        self._writing = memoryview(b"")
        self._line = b""
        self._gap = self._ended = False

    @property
    def waiting(self) -> bool:
        """Whether there is anything that the judge does not have yet."""
        return not self._ended and bool(self._kept or self._writing)

    @property
    def descriptor(self) -> int:
        """What to wait for, until it can be read; -1 where no judge runs."""
        return self._reads

    def output(self, data: bytes) -> None:
        """Keep what the program wrote."""
        if self._ended:
            return
        self._keep(OUTPUT, data)
        while self._length > KEPT and len(self._kept) > 1:
            self._length -= len(self._kept.popleft()[1])
            self._gap = True

    def resized(self, size: tuple[int, int]) -> None:
        """Keep that the terminal has another size."""
        self._keep(SIZE, CELLS.pack(*size))

    def pass_on(self, size: tuple[int, int]) -> None:
        """Give the judge what it can take now; starts it, with the terminal's size, where there is none yet."""
        if self._process is None and not self._ended:
            self._start(size)
        try:
            while not self._ended and self.waiting:
                if not self._writing:
                    lost = _frame(GAP, CELLS.pack(*size)) if self._gap else b""
                    self._writing = memoryview(lost + b"".join(_frame(*one) for one in self._kept))
                    self._gap, self._length = False, 0
                    self._kept.clear()
                self._writing = self._writing[os.write(self._writes, self._writing) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def verdicts(self) -> list[dict[str, Any]]:
        """What it has said since the last call."""
        try:
            data = os.read(self._reads, CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.close()
        *lines, self._line = (self._line + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """End it."""
        self._ended = True
        self._kept.clear()
        self._writing = memoryview(b"")
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            for descriptor in (self._reads, self._writes):
                with suppress(OSError):
                    os.close(descriptor)
            self._process, self._reads = None, -1

    def _keep(self, kind: bytes, data: bytes) -> None:
        self._kept.append((kind, data))
        self._length += len(data)

    def _start(self, size: tuple[int, int]) -> None:
        words = [sys.executable, "-P", "-m", "stallkit_wrap.relay.relay_judge", *self._words, *map(str, size)]
        try:
            process = Popen(words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/", start_new_session=True, bufsize=0)
        except OSError:
            self._ended = True
            return
        assert process.stdin is not None and process.stdout is not None  # pipes
        self._process = process
        self._writes, self._reads = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
        process.stdin.close()
        process.stdout.close()
        for descriptor in (self._writes, self._reads):
            os.set_blocking(descriptor, False)


def _frame(kind: bytes, data: bytes) -> bytes:
    return FRAME.pack(kind, len(data)) + data
