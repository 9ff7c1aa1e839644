"""JSON-RPC at a unix socket, a request a line; only this user's processes are answered."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import AsyncIterator

from stallkit.daemon_socket import bound
from stallkit_operator.item import Who
from stallkit_operator.serve.methods import INVALID, LONGEST, Services, answered, failure

__all__ = ["lines"]


LINGER_S = 5.0  # a client may go on with a request that was refused

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


@asynccontextmanager
async def lines(path: Path, services: Services, who: Who) -> AsyncIterator[None]:
    """Answer at the socket while the context lasts.  Raises OSError where it cannot be made."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            if own(writer.get_extra_info("socket")):
                await _answer(reader, writer, services, who)
        writer.close()

    server = await asyncio.start_unix_server(serve, sock=bound(path), limit=LONGEST)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def own(connection: socket.socket) -> bool:
    """Whether the other side is this user or root; where the system does not say, the socket's mode decides."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return uid in (0, os.geteuid())


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, services: Services, who: Who) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the limit: where the next one begins is not known
            writer.write(_line(failure(None, INVALID, f"a request has {LONGEST:,} bytes at most")))
            await _told(reader, writer)
            return
        if not line:
            return
        if line.strip() and (found := await asyncio.to_thread(answered, line, services, who)) is not None:
            writer.write(_line(found))
            await writer.drain()


async def _told(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write the last answer, then read what the client still sends: closed before that, the socket takes it back."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await reader.read(LONGEST):
                pass


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"
