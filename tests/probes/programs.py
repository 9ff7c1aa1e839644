"""Programs on terminals, for what the kernel says of them."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from typing import Callable

from terminals import wait_for

from stallkit.evidence.snapshot import KernelFacts
from stallkit.probes import foreground_job
from stallkit.probes.procfs import ProcEntry
from stallkit.transports.pty import PtyTransport

TIOCGPTN = 0x80045430  # the number of a pseudo-terminal; Linux on most machines


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


RAW = "import os, select, socket, sys, threading, time, tty; tty.setraw(0); "
NODE = "require('readline').emitKeypressEvents(process.stdin); process.stdin.setRawMode(true); process.stdin.resume()"
NESTED = "a, b = select.epoll(), select.epoll(); a.register(0, select.EPOLLIN); b.register(a.fileno()); b.poll()"
CROWDED = "e = select.epoll(); [e.register(f, select.EPOLLIN) for f in s]; e.register(0, select.EPOLLIN); e.poll()"
SOCKETS = "s = [x for _ in range(150) for x in socket.socketpair()]; "

# What waits for a key: the command, how it may wait, echo and canonical mode.
READERS = {
    "read": (["bash", "-c", "read -r x"], {"read"}, (True, True)),
    "read -s": (["bash", "-c", "read -rs x"], {"read"}, (False, True)),
    "read -n1": (["bash", "-c", "read -rn1 x"], {"read"}, (True, False)),
    "bash": (["bash", "--norc", "-i"], {"read", "select"}, (False, False)),
    "cat": (["cat"], {"read"}, (True, True)),
    "from a pipe": (["bash", "-c", "read -r x </dev/tty | sleep 1000"], {"read"}, (True, True)),
    "getpass": (python("import getpass; getpass.getpass()"), {"read"}, (False, True)),
    "input": (python("input('Continue? ')"), {"read", "select"}, (True, True)),
    "another descriptor": (python("import os; os.dup2(0, 99); os.close(0); os.read(99, 1)"), {"read"}, (True, True)),
    "select": (python(RAW + "select.select([0], [], [], None)"), {"select"}, (False, False)),
    "select in turns": (python(RAW + "\nwhile 1: select.select([0], [], [], 0.2)"), {"select"}, (False, False)),
    "poll": (python(RAW + "p = select.poll(); p.register(0, select.POLLIN); p.poll()"), {"poll"}, (False, False)),
    "epoll": (python(RAW + "e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()"), {"epoll"}, (False, False)),
    "epoll in epoll": (python(RAW + NESTED), {"epoll"}, (False, False)),
    "epoll of hundreds": (python(RAW + SOCKETS + CROWDED), {"epoll"}, (False, False)),
    "node": (["node", "-e", NODE], {"epoll"}, (False, False)),
}

# What waits for something else, or for nothing.
BUSY = {
    "sleep": ["sleep", "1000"],
    "a loop": python("while True: pass"),
    "a pipe": python("import os; os.read(os.pipe()[0], 1)"),
    "a wait": ["bash", "-c", "sleep 1000; true"],
    "a socket": python(RAW + "a, b = socket.socketpair(); select.select([a], [], [], None)"),
    "room to write": python(RAW + "p = select.poll(); p.register(0, select.POLLPRI); p.poll()"),
    "nothing to watch": python(RAW + "select.epoll().poll()"),
    "a lock": python(RAW + "threading.Event().wait()"),
}

TCP = "import socket\nl = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(l.getsockname()); "
INOTIFY = "import ctypes, os; os.read(ctypes.CDLL(None).inotify_init(), 99)"
TWO_SETS = (
    "a, b = socket.socketpair(); e, f = select.epoll(), select.epoll(); e.register(0, 1); f.register(a, 1); f.poll()"
)
# The same, by calls that look like a wait for a key: the terminal is open.
OTHERS = {
    "tcp": python(TCP + "c.recv(1)"),
    "inotify": python(INOTIFY),
    "another terminal": python("import os, pty; m, s = pty.openpty(); os.read(s, 1)"),
    "poll of a pipe": python("import os, select; p = select.poll(); p.register(os.pipe()[0], 1); p.poll()"),
    "epoll of a socket": python(RAW + "a, b = socket.socketpair(); e = select.epoll(); e.register(a, 1); e.poll()"),
    "a set beside the terminal's": python(RAW + TWO_SETS),
}


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

    def look(self, entry: type[ProcEntry] = ProcEntry) -> KernelFacts:
        self.transport.pump()
        return foreground_job.probe(self.master, self.pid, entry)

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


Run = Callable[[list[str]], Running]
