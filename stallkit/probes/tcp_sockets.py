"""The machine's TCP connections with what the kernel counts of each, by `ss` of iproute2 (sock_diag, tcp_info).

`ss` is on every Linux machine that has `ip`, asks the kernel once for all of them, and takes a millisecond or two of
CPU.  Another network namespace, as a container has, is entered by `nsenter`, where that is permitted.
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
_WORDS = ("-H", "-t", "-n", "-a", "-i", "-e")
_INODE = re.compile(r"\bino:(\d+)")
_COUNT = re.compile(r"\b(bytes_received|bytes_sent|bytes_retrans|lastrcv|lastsnd):(\d+)")


@frozen
class Sockets:
    """The TCP sockets of one network namespace."""

    connections: Mapping[int, Connection] = field(factory=dict)  # by their inodes
    listening: Mapping[int, str] = field(factory=dict)  # the ports


@define
class TcpSockets:
    """The sockets of each network namespace, asked once: for one sample of many sessions."""

    _known: dict[str, Sockets | None] = field(factory=dict)

    def seen_by(self, pid: int) -> Sockets | None:
        """Those in the namespace of a process; None where they are unknown.  Never raises."""
        space = _namespace(pid)
        if space is None:
            return None
        if space not in self._known:
            own = space == _namespace("self")
            self._known[space] = _asked(() if own else ("nsenter", f"--net={PROC}/{pid}/ns/net"))
        return self._known[space]


def parsed(text: str) -> Sockets:
    """What `ss` printed.

    >>> parsed("ESTAB 0 0 10.0.0.2:4711 10.0.0.9:443 ino:7 sk:1 <->\\n\\t cubic bytes_received:9 lastsnd:40 lastrcv:20")
    ... # doctest: +ELLIPSIS
    Sockets(connections={7: Connection(local='10.0.0.2:4711', peer='10.0.0.9:443', received=9, ...)}, listening={})
    """
    connections: dict[int, Connection] = {}
    listening: dict[int, str] = {}
    for row in re.split(r"\n(?!\s)", text):
        words = row.split(None, 5)
        inode = _INODE.search(row)
        if inode is None or len(words) < 5:  # one that is over, which no process holds
            continue
        state, local, peer = words[0], words[3], words[4]
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
    return Sockets(connections, listening)


def _asked(before: tuple[str, ...]) -> Sockets | None:
    try:
        done = subprocess.run(
            [*before, "ss", *_WORDS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parsed(done.stdout.decode("utf-8", "replace"))


def _plain(address: str) -> str:
    """An address in one form: the two ends of a connection between IPv6 and IPv4 write it differently."""
    return address.replace("[::ffff:", "").replace("]:", ":") if address.startswith("[::ffff:") else address


def _namespace(pid: int | str) -> str | None:
    try:
        return str(Path(PROC, str(pid), "ns/net").readlink())
    except OSError:
        return None
