"""Whose a pane is: the panes of a server with their identities and marks, and the processes behind those.

A name is nobody's for long, and neither is a pid, a pane's number or a socket.  What a session is held by is all of
them together: the server's pid and start, the pane's number, and the pid of the process in it.
"""

from __future__ import annotations

import secrets
import time

from attrs import frozen

from stallkit.errors import SessionGone, TransportError
from stallkit.probes.procfs import Stat, stat_of
from stallkit.transports.tmux.call import Server, TmuxSession

__all__ = [
    "ENDED",
    "EXITING",
    "IDENTITY",
    "MARK",
    "Identity",
    "Pane",
    "lives",
    "lost_socket",
    "panes_of",
    "uncollected",
]

MARK = "@stallkit_session"  # a pane option of our own: which session this pane was made for
IDENTITY = "#{pid} #{start_time} #{pane_id} #{pane_pid}"
ENDED = "#{pane_dead_status},#{pane_dead_signal}"
EXITING = "server exited unexpectedly"  # what a client says that a server took in as it ended
_AGAIN_S = 0.02
_NO_SESSIONS = "no current target"  # what a server without any says, which lives on where `exit-empty` is off


@frozen
class Identity:
    """What a session is held by, out of `Session.identity`."""

    server_pid: int
    server_start: int
    pane: str
    pid: int

    @classmethod
    def of(cls, text: str) -> Identity:
        """Raises ValueError for what is no identity."""
        server_pid, server_start, pane, pid = text.split(" ")
        return cls(int(server_pid), int(server_start), pane, int(pid))

    def same_server(self, other: Identity) -> bool:
        """Whether one server has both."""
        return (self.server_pid, self.server_start) == (other.server_pid, other.server_start)

    def __str__(self) -> str:
        return f"{self.server_pid} {self.server_start} {self.pane} {self.pid}"


@frozen
class Pane:
    """One pane in a list."""

    identity: Identity
    dead: bool
    ended: str  # in the form of `ENDED`
    mark: str


def panes_of(server: Server) -> list[Pane] | None:
    """Every pane that a server has; None where no server answers to its socket.  Raises TransportError."""
    mark = secrets.token_hex()
    line = f"{mark}{IDENTITY} #{{pane_dead}} {ENDED} #{{{MARK}}}{mark}"
    words = ["list-panes", "-a", "-F", line, ";", "display-message", "-p", mark]
    for last in (False, False, True):
        try:
            answer = server.run(server.name, words)
            break
        except SessionGone:
            return None
        except TransportError as error:
            if _NO_SESSIONS in error.why:
                return []
            if EXITING not in error.why or last:
                raise
            time.sleep(_AGAIN_S)  # it is about to be no more
    parts = answer.split(mark)
    if len(parts) % 2 or parts[-1] != "\n":
        raise TransportError(server.name, "its answer was cut", "look again")
    found = []
    for said in parts[1:-1:2]:
        *identity, dead, ended, marked = said.split(" ", 6)
        found.append(Pane(Identity.of(" ".join(identity)), dead == "1", ended, marked))
    return found


def lives(session: TmuxSession) -> bool:
    """Whether the process of its server lives: a later one of its pid is younger than the session's program."""
    stat = stat_of(Identity.of(session.identity).server_pid)
    if stat is None or not stat.name.startswith("tmux") or stat.state in "ZX":
        return False
    return session.pane_started is None or stat.started <= session.pane_started


def uncollected(identity: Identity) -> Stat | None:
    """The process of a pane, alive or not, as long as its server has not collected its exit status."""
    stat = stat_of(identity.pid)
    return stat if stat is not None and stat.parent == identity.server_pid else None


def lost_socket(session: TmuxSession) -> TransportError:
    """Its server lives, and cannot be asked."""
    pid = Identity.of(session.identity).server_pid
    why = f"its server lives (pid {pid}), but not on this socket"
    return TransportError(f"tmux:{session.name}", why, f"kill -USR1 {pid}, and it makes its socket anew")
