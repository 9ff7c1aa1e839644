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
from typing import Mapping

from attrs import define, field, frozen

from stallkit.core.activity import Connection
from stallkit.probes.procfs import PROC

__all__ = ["Sockets", "TcpSockets", "parsed"]

ANSWER_S = 3.0
_WORDS = ("-H", "-t", "-x", "-n", "-a", "-i", "-e")
_INODE = re.compile(r"\bino:(\d+)")
_UNIX = re.compile(r"u_\w+\s+\S+\s+\d+\s+\d+\s+.*?(\d+)\s+\S+\s+(\d+)(?:\s|$)")
_HOLDER = re.compile(r"pid=(\d+)")
_COUNT = re.compile(r"\b(bytes_received|bytes_sent|bytes_retrans|lastrcv|lastsnd):(\d+)")


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
                one, who = _UNIX.match(row), _HOLDER.search(row)
                if one and who:
                    self._holders[int(one[1])] = int(who[1])
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
        if unix := _UNIX.match(row):
            if unix[2] != "0":
                peers[int(unix[1])] = int(unix[2])
            continue
        words = row.split(None, 6)
        inode = _INODE.search(row)
        if inode is None or len(words) < 6 or words[0] != "tcp":  # one that is over, which no process holds
            continue
        state, local, peer = words[1], words[4], words[5]
        if state == "LISTEN":
            listening[int(inode[1])] = local.rpartition(":")[2]
            continue
        counts = {name: int(number) for name, number in _COUNT.findall(row)}
        connections[int(inode[1])] = Connection(
            _plain(local),
            _plain(peer),
            received=counts.get("bytes_received", 0),
            sent=counts.get("bytes_sent", 0) - counts.get("bytes_retrans", 0),
            received_s=counts.get("lastrcv", 0) / 1000,  # left out where it is 0
            sent_s=counts.get("lastsnd", 0) / 1000,
        )
    return Sockets(connections, listening, peers)


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
