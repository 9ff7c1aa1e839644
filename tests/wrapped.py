"""A terminal as a person has it, for tests of `stallkit wrap`: every byte that comes out of it, and keys that go in."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Sequence

from stallkit_wrap.relay.driver import wrapped
from terminals import wait_for

from stallkit.probes.procfs import Process
from stallkit.probes.readers import Relayed, relayed

RAW = "import os, sys, tty; tty.setraw(0); "  # the beginning of a program that takes single keys, and changes no byte


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Outside:
    """A command on a terminal of its own; `seen` is all that it wrote, byte by byte."""

    def __init__(self, *command: str, size: tuple[int, int, int, int] = (24, 80, 0, 0), **more: Any) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size))
        self.settings = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509
            **more,
        )
        self.path = os.ttyname(slave)
        self._kept = slave  # so that what was written last is not lost, and the settings can be looked at
        self._seen = bytearray()
        self._hung_up = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):
            while not self._hung_up:
                if select.select([self.master], [], [], 0.1)[0]:
                    if not (data := os.read(self.master, 65_536)):
                        return
                    self._seen += data

    @property
    def seen(self) -> bytes:
        return bytes(self._seen)

    def type(self, keys: bytes) -> None:
        while keys:
            keys = keys[os.write(self.master, keys) :]

    def resize(self, *size: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *size))

    def shows(self, *parts: bytes) -> bytes:
        wait_for(lambda: all(part in self.seen for part in parts), f"{parts} in {self.seen[-2_000:]!r}")
        return self.seen

    @property
    def raw(self) -> bool:
        """Whether a relay has it: a shell's line editor changes no output."""
        return not termios.tcgetattr(self._kept)[1] & termios.OPOST

    @property
    def restored(self) -> bool:
        return termios.tcgetattr(self._kept) == self.settings

    def over(self) -> int:
        """Its exit status, as subprocess gives it, once it has ended and all that it wrote was seen."""
        status = self.process.wait(30)
        self.close()
        return status

    def hang_up(self) -> None:
        """The terminal's window is closed."""
        self._hung_up = True
        self._reader.join()
        os.close(self._kept)
        os.close(self.master)
        self._kept = self.master = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._kept >= 0:
            os.close(self._kept)
            self._kept = -1
        if self.master >= 0:
            self._reader.join(10)
            os.close(self.master)
            self.master = -1

    @property
    def known(self) -> Relayed | None:
        """What the relay knows, where the command is one."""
        process = Process.of(self.process.pid)
        return relayed(process, time.monotonic()) if process else None


def outside(*command: str, judge: bool = False, **more: Any) -> Outside:
    """A command behind a relay."""
    return Outside(*wrapped(command, judge), **more)


def python(code: str) -> Sequence[str]:
    return sys.executable, "-c", code


RECORDED = sorted((Path(__file__).parent / "transports/recorded").glob("*.bin"))
