"""What tests of the endpoint share: raw requests to its sockets, and clients that come again as agents do."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from pathlib import Path

from attrs import define, field


def exchange(where: Path | tuple[str, int], data: bytes, timeout_s: float = 30.0) -> bytes:
    """Everything that the server says to these bytes until it closes the connection."""
    with socket.socket(socket.AF_UNIX if isinstance(where, Path) else socket.AF_INET) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(where) if isinstance(where, Path) else where)
        answer = b""
        with suppress(ConnectionError, TimeoutError):  # it may refuse before it has read everything
            connection.sendall(data)
        try:
            while part := connection.recv(65_536):
                answer += part
        except (ConnectionError, TimeoutError):
            pass
        return answer


def post(words: bytes, *headers: str) -> bytes:
    """A request as bytes, after which the server closes the connection."""
    return request("POST", "/supervise/notify", words, *headers)


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    if body and not any(one.lower().startswith(("content-length", "transfer-encoding")) for one in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body


@define
class Agent:
    """Asks one message after the other, each with a key of its own, and comes again until it has the answer."""

    path: Path
    name: str
    replies: dict[str, list[tuple[int, str]]] = field(factory=dict)  # all that it ever got, by key
    tries: int = 0
    over: bool = False  # the message that it waits for is its last one

    @property
    def waits(self) -> bool:
        """Whether its latest message has no answer yet."""
        return not self.replies or not list(self.replies.values())[-1]

    async def ask(self) -> None:
        while not self.over or self.waits:
            key = f"{self.name}-{len(self.replies):06}"
            got = self.replies.setdefault(key, [])
            while not got:
                self.tries += 1
                try:
                    status, text = await self._once(key)
                except (OSError, asyncio.IncompleteReadError, ValueError):
                    status, text = 0, ""
                if status in (200, 403, 410):
                    got.append((status, text))
                else:
                    await asyncio.sleep(0.2)

    async def _once(self, key: str) -> tuple[int, str]:
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        try:
            writer.write(post(f"<{key}>".encode(), f"Idempotency-Key: {key}"))
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().split("content-length:")[1].split()[0])
            body = await reader.readexactly(length)
            return int(head.split()[1]), json.loads(body)["text"]
        except IndexError as error:
            raise ValueError("no answer") from error
        finally:
            writer.close()
