"""The machine's TCP connections with what the kernel counts of each, and who is at the other end of a unix socket.

By `ss` of iproute2 (sock_diag, tcp_info): it is on every Linux machine that has `ip`, asks the kernel once for all
sockets, and takes a few milliseconds.  Another network namespace, as a container has, is entered by `nsenter`, where
that is permitted.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Mapping, Sequence

from attrs import define, field, frozen

from stallkit.probes.activity import Connection
from stallkit.probes.procfs import PROC

__all__ = ["Sockets", "TcpSockets", "parsed"]

ANSWER_S = 3.0
_WORDS = ("-H", "-t", "-x", "-n", "-i", "-e", "state", "all", "exclude", "time-wait")
_HOLDER = re.compile(r"pid=(\d+)")


@frozen
class Sockets:
    """The sockets of one network namespace, by their inodes."""

    connections: Mapping[int, Connection] = field(factory=dict)
    listening: Mapping[int, str] = field(factory=dict)  # the ports
    peers: Mapping[int, int] = field(factory=dict)  # of unix sockets: the other end of each


@define
class TcpSockets:
    """The sockets of each network namespace, asked once: for one sample of many sessions."""

    _known: dict[str, Sockets | None] = field(factory=dict)
    _holders: dict[int, int] | None = None

    def seen_by(self, pid: int) -> Sockets | None:
        """Those in the namespace of a process; None where they are unknown.  Never raises."""
        space = _namespace(pid)
        if space is None:
            return None
        if space not in self._known:
            own = space == _namespace("self")
            text = _asked(*(() if own else ("nsenter", f"--net={PROC}/{pid}/ns/net")), "ss", *_WORDS)
            self._known[space] = None if text is None else parsed(text)
        return self._known[space]

    def holder(self, inode: int) -> int | None:
        """A process that holds this end of a unix socket; None where none is seen."""
        if self._holders is None:
            self._holders = {}
            for row in (_asked("ss", "-H", "-x", "-n", "-p") or "").splitlines():
                ends, who = _ends(row.split()), _HOLDER.search(row)
                if ends and who:
                    self._holders[ends[0]] = int(who[1])
        return self._holders.get(inode)


def parsed(text: str) -> Sockets:
    """What `ss` printed.

    >>> found = parsed("tcp ESTAB 0 0 10.0.0.2:4711 10.0.0.9:443 ino:7 sk:1 <->\\n\\t bytes_received:9 lastrcv:20")
    >>> found.connections[7].peer, found.connections[7].received, found.connections[7].received_s
    ('10.0.0.9:443', 9, 0.02)
    """
    connections: dict[int, Connection] = {}
    listening: dict[int, str] = {}
    peers: dict[int, int] = {}
    for row in re.split(r"\n(?!\s)", text):
        words = row.split()
        if ends := _ends(words):
            peers |= {ends[0]: ends[1]} if ends[1] else {}
            continue
        if len(words) < 6 or words[0] != "tcp":
            continue
        facts = {name: value for name, colon, value in (word.partition(":") for word in words[6:]) if colon}
        inode, local = _number(facts, "ino"), words[4]
        if words[1] == "LISTEN":
            listening[inode] = local.rpartition(":")[2]
        elif inode:  # else it is over, and no process holds it
            connections[inode] = Connection(
                _plain(local),
                _plain(words[5]),
                received=_number(facts, "bytes_received"),
                sent=_number(facts, "bytes_sent") - _number(facts, "bytes_retrans"),
                received_s=_number(facts, "lastrcv") / 1000,
                sent_s=_number(facts, "lastsnd") / 1000,
            )
    return Sockets(connections, listening, peers)


def _number(facts: Mapping[str, str], name: str) -> int:
    """One of the numbers in a row, in which those are left out that are 0."""
    value = facts.get(name, "0")
    return int(value) if value.isdecimal() else 0


def _ends(words: Sequence[str]) -> tuple[int, int] | None:
    """The inodes of a unix socket and of its other end (0: none), in the words of a row; None for other sockets."""
    if not words or not words[0].startswith("u_"):
        return None
    found = (at for at in range(4, len(words) - 2) if words[at].isdecimal() and words[at + 2].isdecimal())
    at = next(found, None)  # behind its path, which may hold blanks
    return None if at is None else (int(words[at]), int(words[at + 2]))


def _asked(*words: str) -> str | None:
    """What a command prints; None where it fails."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def _plain(address: str) -> str:
    """An address in one form: the two ends of a connection between IPv6 and IPv4 write it differently."""
    return address.replace("[::ffff:", "").replace("]:", ":") if address.startswith("[::ffff:") else address


def _namespace(pid: int | str) -> str | None:
    try:
        return str(Path(PROC, str(pid), "ns/net").readlink())
    except OSError:
        return None
