"""Where programs ask over HTTP: a socket of this user's, and an address with tokens."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from stallkit.daemon_client import listens
from stallkit.daemon_socket import bound
from stallkit.errors import StallkitError
from stallkit_operator.agent_server import BACKLOG, Tcp
from stallkit_operator.endpoint import Gate

__all__ = ["opened"]


@contextmanager
def opened(folder: Path, operator: str, tcp: Tcp | None = None) -> Iterator[tuple[Sequence[socket.socket], Gate]]:
    """The open sockets, and the gate that says who asks: `operator` at ``http.sock``, else whose the token is.

    Raises StallkitError where another process serves there, OSError.
    """
    with ExitStack() as stack:
        for name in ("rpc.sock", "http.sock"):
            if (folder / name).exists() and listens(folder / name):
                raise StallkitError("serve", str(folder / name), "another process serves it", "end that one first")
        made = stack.enter_context(bound(folder / "http.sock"))
        stack.callback((folder / "http.sock").unlink, missing_ok=True)
        own = {str(made.getsockname()): operator}
        if tcp is None:
            yield [made], Gate(own)
            return
        address = stack.enter_context(socket.create_server((tcp.host, tcp.port), backlog=BACKLOG))
        yield [made, address], Gate(own, tcp.tokens, tcp.hosts, tcp.origins)
