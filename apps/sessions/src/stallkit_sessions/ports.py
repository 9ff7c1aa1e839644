"""TCP ports: whether one is free, which ones are, and which process listens; a result is true for the moment."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Collection, Iterable

from stallkit.probes.procfs import PROC, all_pids, stat_of

LAST = 65_535
SEARCH_S = 0.1  # to find the processes of listeners: with thousands of processes a diagnosis must not wait
TRIES = 100
_LISTENS = "0A"  # the state of a socket, as /proc/net/tcp writes it
# All addresses first: Linux refuses that bind where a process listens on any of them, as for a server on 0.0.0.0 or ::.
# Other systems allow it beside a listener on one address, so the loopback ones are tried as well.
_ADDRESSES = (
    (socket.AF_INET, "0.0.0.0"),
    (socket.AF_INET6, "::"),
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET6, "::1"),
)


def free(port: int) -> bool:
    """Whether a server could listen on this port, on every address of either family.

    Connections of an ended server in TIME_WAIT do not count, as servers ignore them.  Raises ValueError for an invalid
    port.
    """
    if not 1 <= port <= LAST:
        raise ValueError(f"{port} is not a port: give 1 to {LAST}")
    return all(_binds(family, address, port) for family, address in _ADDRESSES)


def _binds(family: socket.AddressFamily, address: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((address, port))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):  # a low port: a container runtime may still publish it
            return listeners([port]).get(port) is None
        return error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)  # a family that this system does not have
    return True


def any_free(besides: Collection[int] = (), count: int = 1) -> list[int]:
    """This many different ports that the operating system reports as free, none of them in `besides`.

    Raises OSError if it has none.
    """
    found: list[int] = []
    with ExitStack() as held:  # each is held until all are chosen, so that all differ
        for _ in range(TRIES + count):
            if len(found) == count:
                return found
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            probe.bind(("0.0.0.0", 0))
            port = int(probe.getsockname()[1])
            others = (one for one in _ADDRESSES if one[0] == socket.AF_INET6)
            if port not in besides and all(_binds(family, address, port) for family, address in others):
                found.append(port)
    if len(found) == count:
        return found
    raise OSError(errno.EADDRNOTAVAIL, "no free port was found")


def listeners(ports: Iterable[int]) -> dict[int, dict[str, Any] | None]:
    """The listener of each port: ``{"pid", "program"}``, both None if unknown; None if no process listens.

    A port is missing if that cannot be read, as on a system without /proc.
    """
    wanted = set(ports)
    sockets: dict[str, int] = {}
    looked = False
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(PROC, "net", table).read_text().splitlines()[1:]
        except OSError:
            continue
        looked = looked or table == "tcp"
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS:
                port = int(fields[1].rpartition(":")[2], 16)
                if port in wanted:
                    sockets[f"socket:[{fields[9]}]"] = port
    if not looked:
        return {}
    found: dict[int, dict[str, Any] | None] = dict.fromkeys(sorted(wanted))
    for port in sockets.values():
        found[port] = {"pid": None, "program": None}
    if sockets:
        for port, pid in _holders(sockets).items():
            stat = stat_of(pid)
            found[port] = {"pid": pid, "program": stat.name if stat else None}
    return found


def _holders(sockets: dict[str, int]) -> dict[int, int]:
    """Port and process, as far as this user may look; of several that share a socket, the oldest."""
    found: dict[int, int] = {}
    deadline = time.monotonic() + SEARCH_S
    for pid in sorted(all_pids()):
        if len(found) == len(set(sockets.values())) or time.monotonic() > deadline:
            break
        try:
            with os.scandir(f"{PROC}/{pid}/fd") as entries:
                links = [entry.path for entry in entries]
        except OSError:
            continue
        for link in links:
            try:
                port = sockets.get(os.readlink(link))  # noqa: PTH115  # many: a Path for each costs more than the look
            except OSError:
                continue
            if port is not None:
                found.setdefault(port, pid)
    return found
