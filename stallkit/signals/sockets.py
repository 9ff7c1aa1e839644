"""At which ports a process itself listens for this machine, by the kernel's lists."""

from __future__ import annotations

import os
from pathlib import Path

from stallkit.probes.procfs import PROC
from stallkit.signals.publisher import Publisher

__all__ = ["listening_ports"]

_LISTENS = "0A"
_HERE = ("0100007F", "00000000")  # 127.0.0.1, and every address
_ROWS = 4_000_000  # bytes of the kernel's list


def listening_ports(publisher: Publisher) -> list[int]:
    """The ports at 127.0.0.1 whose listening socket the process has open; none in another network namespace."""
    if not publisher.same_network:
        return []
    own = publisher.open_sockets()
    if not own:
        return []
    try:
        with Path(PROC, str(os.getpid()), "net/tcp").open() as file:
            rows = [line.split() for line in file.read(_ROWS).splitlines()[1:]]
    except (OSError, UnicodeDecodeError):
        return []
    found = set()
    for row in rows:
        if len(row) > 9 and row[3] == _LISTENS and row[9] in own:
            address, _, port = row[1].partition(":")
            if address in _HERE:
                found.add(int(port, 16))
    return sorted(found)
