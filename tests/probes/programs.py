"""Programs on terminals, for what the kernel says of them."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from typing import Callable

from terminals import wait_for

from stallkit.core.facts import KernelFacts
from stallkit.probes import process
from stallkit.transports.pty import PtyTransport

__all__ = ["Running", "python"]

TIOCGPTN = 0x80045430  # the number of a pseudo-terminal; Linux on most machines


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


class Running:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, command: list[str]) -> None:
        self.transport = PtyTransport.spawn(command, env={**os.environ, "PS1": "$ ", "HISTFILE": ""})
        self.master = self.transport.fileno()
        (number,) = struct.unpack("i", fcntl.ioctl(self.master, TIOCGPTN, bytes(4)))
        facts = self.transport.capture().process
        assert facts is not None
        assert facts.pid is not None
        self.pid: int = facts.pid
        self.path = f"/dev/pts/{number}"

    def look(self) -> KernelFacts:
        self.transport.pump()
        return process.probe(self.master, self.pid)

    def until(self, condition: Callable[[KernelFacts], object], what: str) -> KernelFacts:
        """The first look of which a condition holds."""
        looks: list[KernelFacts] = []

        def holds() -> bool:
            looks[:] = [self.look()]
            return bool(condition(looks[0]))

        try:
            wait_for(holds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the last look: {looks}") from None
        return looks[0]

    def shows(self, text: str) -> None:
        wait_for(lambda: text in self.transport.capture().screen.text, f"{text!r} on the screen")
