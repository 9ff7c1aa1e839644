"""What the processes of a session did, and what came on their connections, as values.  Pure."""

from __future__ import annotations

from typing import Collection, Iterable

from attrs import field, frozen

__all__ = ["Activity", "Connection", "ProcessActivity", "outgoing"]


@frozen
class ProcessActivity:
    """One process; (pid, started) is one process, a pid alone is not."""

    pid: int
    started: int  # clock ticks since boot
    name: str
    parent: int
    age_s: float = field(eq=False)  # how long it has been there
    cpu_s: float  # user and system time of all its threads, since it started
    foreground: bool  # its group is the one in the foreground of its terminal
    read: int | None = None  # bytes, from files, pipes and most sockets
    written: int | None = None  # bytes, to anything

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from every other process of this boot."""
        return (self.pid, self.started)


@frozen
class Connection:
    """One TCP connection, as the kernel counts it: data only, no keep-alive probes, nothing sent twice."""

    local: str  # address and port
    peer: str
    received: int  # bytes, since it was opened
    sent: int
    received_s: float = field(eq=False)  # since data last came; where none did, since it was opened
    sent_s: float = field(eq=False)

    @property
    def unanswered(self) -> bool:
        """Whether something was sent later than anything came."""
        return self.sent > 0 and (self.received == 0 or self.sent_s < self.received_s)


@frozen
class Activity:
    """One sample of the processes below a session."""

    at: float  # seconds of a monotonic clock
    processes: tuple[ProcessActivity, ...]
    connections: tuple[Connection, ...] | None  # to others; None: not all of them are known


def outgoing(connections: Iterable[Connection], listening: Collection[str]) -> tuple[Connection, ...]:
    """The connections that these processes opened to others: the ones that a model's answer can come on.

    Left out are those among themselves, such as a screen's to its own server, which sends a sign of life every few
    seconds, and those that others opened to one of the ports at which they listen.

    >>> own = Connection("127.0.0.1:9", "127.0.0.1:5", 1, 1, 0.0, 0.0)
    >>> outgoing([own, Connection("127.0.0.1:5", "127.0.0.1:9", 1, 1, 0.0, 0.0)], ()), outgoing([own], {"9"})
    ((), ())
    """
    known = tuple(connections)
    ends = {(one.local, one.peer) for one in known}
    return tuple(
        one for one in known if (one.peer, one.local) not in ends and one.local.rpartition(":")[2] not in listening
    )
