"""A relay's own socket: whoever asks there gets one JSON line with what the relay knows, without a thread or a wait.

`stallkit.config.relay_socket` has its path, `stallkit.probes.readers` the side of who asks.
"""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from stallkit import private
from stallkit.config import relay_socket
from stallkit.daemon_socket import bound
from stallkit.probes.procfs import Process

__all__ = ["RelaySocket"]

MAX_REQUEST = 4_096  # bytes
MAX_CLIENTS = 32  # that have not asked yet: the oldest is dropped


class RelaySocket:
    """Answers at the socket of this process, in the caller's loop: call `ready` for each descriptor of `descriptors`.

    Where no socket can be made, there is none: a relay does not fail for that.
    """

    def __init__(self, describe: Callable[[], dict[str, Any]]) -> None:
        self._describe = describe
        self._clients: dict[int, socket.socket] = {}
        self.taken = 0  # differs when `descriptors` differ
        self._server: socket.socket | None = None
        self._path = relay_socket(*Process.ours())
        with suppress(OSError):
            private.folder(self._path.parent)
            _remove_dead(self._path.parent)
            self._server = bound(self._path)
            self._server.setblocking(False)

    @property
    def descriptors(self) -> list[int]:
        """What to wait for, until it can be read."""
        return [*self._clients, *([self._server.fileno()] if self._server is not None else [])]

    def ready(self, descriptor: int) -> None:
        """Take a connection, or answer the request of one."""
        client = self._clients.pop(descriptor, None)
        self.taken += 1
        with suppress(OSError):
            if client is not None:
                with client:
                    if client.recv(MAX_REQUEST):
                        client.sendall(json.dumps(self._describe()).encode() + b"\n")
            elif self._server is not None:
                client = self._server.accept()[0]
                client.setblocking(False)
                self._clients[client.fileno()] = client
                if len(self._clients) > MAX_CLIENTS:
                    self._clients.pop(next(iter(self._clients))).close()

    def close(self) -> None:
        """Answer no more, and remove the socket."""
        for client in self._clients.values():
            client.close()
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)


def _remove_dead(folder: Path) -> None:
    """Remove the sockets of relays that were killed."""
    for path in folder.glob("*-*.sock"):
        pid, _, started = path.stem.partition("-")
        if pid.isdecimal() and started.isdecimal() and not Process(int(pid), int(started)).alive():
            path.unlink(missing_ok=True)
