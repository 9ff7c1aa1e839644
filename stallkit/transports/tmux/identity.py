"""The identity of a session as one value: which pane, and which process in it.

A name may be reused, and so may a pid, a pane's number or a socket.  A session is identified by all of them together:
the server's pid and start, the pane's number, and the pid of the process in it.
"""

from __future__ import annotations

import re

from attrs import frozen

from stallkit.probes.procfs import Process, Stat, stat_of

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")

FIELDS = ("pid", "start_time", "pane_id", "pane_pid")  # as tmux calls them
IDENTITY = " ".join(f"#{{{name}}}" for name in FIELDS)  # the format in which tmux writes one


def valid_name(name: str) -> bool:
    """Whether a session may have that name: 1 to 64 letters, digits, `_` and `-` of ASCII, no `-` in front."""
    return _NAME.fullmatch(name) is not None


@frozen
class ServerIdentity:
    """One tmux server; another server on its socket later is another value."""

    pid: int
    start: int  # seconds of the wall clock

    @classmethod
    def of(cls, text: str) -> ServerIdentity:
        """Raises ValueError for an invalid identity."""
        pid, start = text.split(" ")
        return cls(int(pid), int(start))

    def process(self) -> Process | None:
        """The process of a tmux server that has this pid; None if none runs, as for another machine's."""
        stat = stat_of(self.pid)
        if stat is None or stat.ended or not stat.name.startswith("tmux"):
            return None
        return Process(self.pid, stat.started)

    def __str__(self) -> str:
        return f"{self.pid} {self.start}"


@frozen
class Identity:
    """One process in one pane of one server; as text it is `Snapshot.identity` and `Session.identity`."""

    server: ServerIdentity
    pane: str  # "%3"
    pid: int

    @classmethod
    def of(cls, text: str) -> Identity:
        """Raises ValueError for an invalid identity."""
        pid, start, pane, program = text.split(" ")
        return cls(ServerIdentity(int(pid), int(start)), pane, int(program))

    def server_lives(self, pane_started: int | None) -> bool:
        """Whether the process of its server runs; a later one of that pid is younger than the pane's program.

        `pane_started` is that program's start in clock ticks, if it is known.
        """
        process = self.server.process()
        return process is not None and (pane_started is None or process.started <= pane_started)

    def uncollected(self) -> Stat | None:
        """The process in the pane, alive or not, until its server has collected its exit status."""
        stat = stat_of(self.pid)
        return stat if stat is not None and stat.parent == self.server.pid else None

    def __str__(self) -> str:
        return f"{self.server} {self.pane} {self.pid}"
