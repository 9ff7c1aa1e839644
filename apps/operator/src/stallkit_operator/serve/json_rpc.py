"""JSON-RPC 2.0 over the methods, and at a unix socket, where only this user's processes are answered."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, AsyncIterator, Mapping

from stallkit.daemon_socket import bound
from stallkit.errors import StallkitError
from stallkit.redact.redact import redact
from stallkit_operator.item import Who
from stallkit_operator.serve.methods import METHODS, InvalidParams, Services

LONGEST = 65_536  # bytes of a request
PARSE, INVALID, NO_METHOD, PARAMS, FAILED = -32700, -32600, -32601, -32602, -32000
WRONG = frozenset({PARSE, INVALID, NO_METHOD, PARAMS})  # with the request itself


def answered(data: bytes | str, services: Services, who: Who, wrong_too: bool = False) -> dict[str, Any] | None:
    """The answer to a request; None to a notification, which has no id.  Batches are refused.  Never raises.

    `wrong_too`: a notification that is wrong itself is answered as well, where there is a way to, as HTTP has.

    >>> from stallkit_operator.item import Who
    >>> answered('{"jsonrpc": "2.0", "id": 7, "method": "sing"}', None, Who("ada", "a test"))["error"]["code"]
    -32601
    """
    try:
        request = json.loads(data)
    except (ValueError, RecursionError):
        return _failure(None, PARSE, "not JSON in UTF-8")
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or not _is_id(request.get("id")):
        return _failure(None, INVALID, 'a request is {"jsonrpc": "2.0", "id": 1, "method": NAME, "params": {...}}')
    id = request.get("id")
    found = _result(request, id, services, who)
    told = "id" in request or (wrong_too and found.get("error", {}).get("code") in WRONG)
    return found if told else None


def _failure(id: Any, code: int, why: str) -> dict[str, Any]:
    """The answer that says what is wrong, in one line, redacted."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": redact(why)}}


def _result(request: Mapping[str, Any], id: Any, services: Services, who: Who) -> dict[str, Any]:
    name, params = request.get("method"), request.get("params", {})
    if not isinstance(name, str) or name not in METHODS:
        return _failure(id, NO_METHOD, f"there is no method {str(name)[:60]!r}: there are {', '.join(METHODS)}")
    if not isinstance(params, dict):
        return _failure(id, PARAMS, "params are an object: name them")
    try:
        return {"jsonrpc": "2.0", "id": id, "result": METHODS[name](services, params, who)}
    except InvalidParams as error:
        return _failure(id, PARAMS, str(error))
    except StallkitError as error:
        return _failure(id, FAILED, str(error))
    except Exception as error:  # a fault of ours must not end the connection of a client
        return _failure(id, FAILED, f"this is a bug in stallkit, {type(error).__name__}: {error}")


def _is_id(id: Any) -> bool:
    return id is None or isinstance(id, str) or (isinstance(id, (int, float)) and not isinstance(id, bool))


# --- at a unix socket, a request a line ---

LINGER_S = 5.0  # a client may go on with a request that was refused

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


@asynccontextmanager
async def lines(path: Path, services: Services, who: Who) -> AsyncIterator[None]:
    """Answer at the socket while the context lasts.  Raises OSError if it cannot be made."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            if own(writer.get_extra_info("socket")):
                await _answer_all(reader, writer, services, who)
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


async def _answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, services: Services, who: Who) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the limit: where the next one begins is not known
            writer.write(_line(_failure(None, INVALID, f"a request has {LONGEST:,} bytes at most")))
            await _linger(reader, writer)
            return
        if not line:
            return
        if line.strip() and (found := await asyncio.to_thread(answered, line, services, who)) is not None:
            writer.write(_line(found))
            await writer.drain()


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write the last answer, then read what the client still sends: closed before that, the socket takes it back."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await reader.read(LONGEST):
                pass


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"
