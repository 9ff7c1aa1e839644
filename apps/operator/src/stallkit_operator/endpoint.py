"""The endpoint at which agents ask: ``POST /supervise/notify`` is written down, held, and answered with the reply.

Request and response are text only: a body of UTF-8, and ``{"text": "..."}``, or the text itself for who accepts
``text/plain``.  Who asks is known by the socket, or by the token (`Gate`), never by anything in the request.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, AsyncIterator, Callable, Iterable, Mapping, Self, Sequence

from attrs import evolve, field, frozen
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from stallkit.errors import StoreError
from stallkit.press.events import Event
from stallkit_operator.item import Delivery, Item, ItemState, NotOpen
from stallkit_operator.queue import Queue

# --- the endpoint's OpenAPI page, as a value ---


_TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def response(about: str, schema: Mapping[str, Any] = _TEXT) -> dict[str, Any]:
    """One response of an OpenAPI page, of JSON."""
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _header(name: str, about: str, **schema: str) -> dict[str, Any]:
    of = {"type": "string", **schema}
    return {"name": name, "in": "header", "required": False, "description": about, "schema": of}


_REFUSED = {
    "400": response("no UTF-8, no words, or an invalid Idempotency-Key"),
    "401": response("over TCP: no token, or an unknown one"),
    "403": response("the person declined, and says why; or a web page of another origin asks"),
    "404": response("no message, and nothing was asked before"),
    "408": response("the message did not arrive in time"),
    "410": response("nobody answered in time, or it was cancelled"),
    "413": response("the message is longer than 65,536 bytes"),
    "421": response("over TCP: a Host that is not served"),
    "429": response("too much of this sandbox waits already"),
    "431": response("headers longer than 16,384 bytes"),
    "503": response("the endpoint ends, or its disk is full: try again with the same key"),
}
_SHARED = {number: _REFUSED[number] for number in ("401", "403", "421", "431")}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "stallkit stuck", "version": "1", "description": "Where agents ask a person."},
    "paths": {
        "/supervise/notify": {
            "post": {
                "operationId": "notify",
                "summary": "Ask a person; the connection is held until the answer.",
                "parameters": [
                    _header(
                        *("Idempotency-Key", "Made by the client: the same key gets the same message's answer."),
                        pattern="^[A-Za-z0-9_-]{8,128}$",
                    ),
                    _header("Prefer", "respond-async: file it, and do not wait; the same key gets the answer."),
                ],
                "requestBody": {
                    "required": False,
                    "description": "None where the key is known, or for the reply to what a hook asked last.",
                    "content": {"text/plain": {"schema": {"type": "string", "pattern": r"\S", "maxLength": 65536}}},
                },
                "responses": {
                    "200": response("the reply, verbatim"),
                    "202": response("filed, and not answered yet: of a request that prefers not to wait"),
                    **_REFUSED,
                },
            }
        },
        "/healthz": {
            "get": {
                "operationId": "healthz",
                "summary": "Whether the endpoint answers, and can read its queue.",
                "responses": {"200": response("it does"), "503": _REFUSED["503"], **_SHARED},
            }
        },
        "/openapi.json": {
            "get": {
                "operationId": "openapi",
                "summary": "This page.",
                "responses": {"200": response("the page", {"type": "object"}), **_SHARED},
            }
        },
    },
}


MOST = 65_536  # bytes of a message
HEADER_BYTES = 16_384
BODY_S = 10.0  # for a client to send its message
POLL_S = 0.1  # how soon an answer is noticed
EXPIRES_S = 7 * 86_400.0
HELD = 5_000  # connections at once, of one sandbox
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")  # of a sandbox: it becomes the name of a directory
KEY = re.compile(r"[A-Za-z0-9_-]{8,128}")
_STATUS = {
    ItemState.ANSWERED: 200,
    ItemState.DECLINED: 403,
    ItemState.CANCELLED: 410,
    ItemState.EXPIRED: 410,
}


@frozen
class Tcp:
    """An address to listen at, and who may ask there."""

    host: str
    port: int
    tokens: Mapping[str, str] = field(repr=False)  # sandboxes by token
    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()

    def at(self, port: int) -> Self:
        """It, once it listens: hosts and origins that were written with port 0 have the port that the system chose."""
        hosts, origins = (
            frozenset(re.sub(r":0\Z", f":{port}", one) for one in names) for names in (self.hosts, self.origins)
        )
        return evolve(self, port=port, hosts=hosts, origins=origins)


@frozen
class Gate:
    """Who may ask, and as which sandbox.

    `sockets` are the sandboxes by the path of their unix socket, whose directory is the authority.  Over TCP a token
    says which sandbox it is, and the Host must be one that is served, the Origin, if there is one, one that may ask.
    """

    sockets: Mapping[str, str]
    tcp: Tcp | None = None

    def sandboxes(self) -> frozenset[str]:
        """Those that may ask now."""
        return frozenset({*self.sockets.values(), *(self.tcp.tokens.values() if self.tcp else ())})

    def place(self, request: Request) -> str | None:
        """The sandbox whose unix socket this is; None: the request came over TCP, to a host that is served.

        Raises HTTPException.
        """
        if sum(len(name) + len(value) for name, value in request.headers.raw) > HEADER_BYTES:
            raise HTTPException(431, f"headers have {HEADER_BYTES:,} bytes at most")
        origins = request.headers.getlist("origin")
        if any(self.tcp is None or origin not in self.tcp.origins for origin in origins):
            raise HTTPException(403, "this origin may not ask")
        host, port = request.scope.get("server") or ("", None)
        if port is None and host in self.sockets:
            return self.sockets[host]
        if self.tcp is None or request.headers.getlist("host") not in [[one] for one in self.tcp.hosts]:
            raise HTTPException(421, "this host is not served here")
        return None

    def sandbox(self, request: Request) -> str:
        """The sandbox that asks.  Raises HTTPException."""
        if (name := self.place(request)) is not None:
            return name
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = self.tcp.tokens.items() if self.tcp else ()
        found = [name for token, name in known if hmac.compare_digest(token.encode(), given.encode())]
        if scheme.lower() != "bearer" or not found:
            raise HTTPException(401, "a token is needed", {"www-authenticate": "Bearer"})
        return found[0]


class Waits:
    """The connections that wait for an answer, by the number of their item."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: dict[int, set[asyncio.Future[Item]]] = {}
        self._held: dict[str, int] = {}
        self._ended = False

    def __len__(self) -> int:
        return sum(self._held.values())

    async def answer(self, item: Item) -> Item:
        """The item, once it is over.  Raises asyncio.CancelledError where the endpoint ends first."""
        if not item.open:
            return item
        if self._ended:
            raise asyncio.CancelledError
        future: asyncio.Future[Item] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(item.id, set()).add(future)
        self._held[item.session] = self._held.get(item.session, 0) + 1
        try:
            over = await asyncio.to_thread(self._queue.over, [item.id])  # it may be over since it was read
            return over.get(item.id) or await future
        finally:
            self._held[item.session] -= 1
            waiting = self._waiting[item.id]
            waiting.discard(future)
            if not waiting:
                del self._waiting[item.id]

    def full(self, sandbox: str) -> bool:
        """Whether no more connections of a sandbox are held."""
        return self._held.get(sandbox, 0) >= HELD

    async def watch(self) -> None:
        """Answer whoever waits, as soon as the queue has an answer; for ever.  A queue that fails is tried again."""
        version, expired_at = -1, 0.0
        while True:
            with suppress(StoreError):
                if time.monotonic() - expired_at >= 1.0:
                    await asyncio.to_thread(self._queue.expire)
                    expired_at = time.monotonic()
                now = self._queue.version()
                if now != version:
                    over = await asyncio.to_thread(self._queue.over, list(self._waiting))
                    for id, item in over.items():
                        self._tell(id, item)
                    version = now
            await asyncio.sleep(POLL_S)

    def _tell(self, id: int, item: Item) -> None:
        for future in self._waiting.get(id, ()):
            if not future.done():
                future.set_result(item)

    def end(self) -> None:
        """Let everybody go: they come again, with their keys."""
        self._ended = True
        for futures in self._waiting.values():
            for future in futures:
                future.cancel()


def application(
    queue: Queue,
    gate: Gate,
    waits: Waits,
    expires_s: float,
    on_message: Callable[[Event], object],
    routes: Sequence[Route],
    beside: Sequence[AbstractAsyncContextManager[None]],
) -> Starlette:
    """The ASGI application; `expires_s` is how long a message waits for its answer.

    `on_message` is called once for each message that is new, after it was written down; it must not block.  `routes`
    are further ones, which check themselves who may use them, and `beside` runs as long as it.
    """

    async def notify(request: Request) -> Response:
        sandbox = gate.sandbox(request)
        key = request.headers.get("idempotency-key")
        key = secrets.token_hex(16) if key is None else key
        if not KEY.fullmatch(key):
            raise HTTPException(400, "an Idempotency-Key has 8 to 128 letters, digits, _ and -")
        words = await _words(request)
        later = "respond-async" in _tokens(request.headers.getlist("prefer"))
        item = await asyncio.to_thread(queue.known, sandbox, key)
        if waits.full(sandbox):
            raise HTTPException(429, f"{HELD:,} connections of this sandbox wait already", {"retry-after": "10"})
        waits_now = not later and (not words if item is None else item.delivery is Delivery.LATER)
        if waits_now or (item is not None and item.delivery is Delivery.KEPT):
            try:
                item = await asyncio.to_thread(queue.fetch, sandbox, key)
            except NotOpen as error:
                raise HTTPException(503, error.why, {"retry-after": "1"}) from error
        if item is None and not words:
            raise HTTPException(404, "nothing was asked before: say what you need: stuck TEXT")
        if item is None and not words.strip():
            raise HTTPException(400, "a message has words")
        if item is None:
            due, delivery = time.time() + expires_s, Delivery.LATER if later else Delivery.HELD
            try:
                item = await asyncio.to_thread(queue.notify, sandbox, key, words, due, delivery)
            except ValueError as error:
                raise HTTPException(429, str(error), {"retry-after": "60"}) from error
            on_message(told_of(item, words))
        if later and item.open:
            return _text(request, 202, "a person is asked; the same key gets their reply")
        return await _held(request, waits, item)

    async def healthz(request: Request) -> Response:
        gate.sandbox(request)
        await asyncio.to_thread(queue.version)
        return _text(request, 200, "ok")

    async def openapi(request: Request) -> Response:
        gate.sandbox(request)
        return JSONResponse(DOCUMENT)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(waits.watch())
        async with AsyncExitStack() as stack:
            for one in beside:
                await stack.enter_async_context(one)
            yield
        watching.cancel()

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # it is registered for these
        return _text(request, error.status_code, error.detail, error.headers)

    async def broken(request: Request, error: Exception) -> Response:
        return _text(request, 503, "the queue cannot be written now: try again", {"retry-after": "5"})

    own = [
        Route("/supervise/notify", notify, methods=["POST"]),
        Route("/healthz", healthz, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {HTTPException: refused, StoreError: broken}
    made = Starlette(routes=[*own, *routes], exception_handlers=handlers, lifespan=lifespan)
    made.router.redirect_slashes = False
    return made


def told_of(item: Item, words: str) -> Event:
    """What a person hears of a message, which may be the second one of an item."""
    return Event("escalation", item.session, {"what": "notice", "message": words, "item": item.id})


async def _words(request: Request) -> str:
    """The message.  Raises HTTPException for one that is no UTF-8, and as `body_of`."""
    try:
        return (await body_of(request)).decode("utf-8")
    except UnicodeDecodeError as error:
        raise HTTPException(400, "a message is UTF-8") from error


async def body_of(request: Request) -> bytes:
    """The body.  Raises HTTPException for one that is too long, too slow, or that could be read twice."""
    if "content-length" in request.headers and "transfer-encoding" in request.headers:  # a proxy may believe the other
        raise HTTPException(400, "a message has a length, or comes in parts", {"connection": "close"})
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:12]) > MOST:
        raise HTTPException(413, f"a message has {MOST:,} bytes at most")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                body += part
                if len(body) > MOST:
                    raise HTTPException(413, f"a message has {MOST:,} bytes at most")
        return bytes(body)
    except TimeoutError as error:
        raise HTTPException(408, "the message did not arrive in time", {"connection": "close"}) from error
    except ClientDisconnect as error:
        raise HTTPException(400, "the client has gone") from error


async def _held(request: Request, waits: Waits, item: Item) -> Response:
    """Wait for the answer, as long as the client does."""
    answer = asyncio.ensure_future(waits.answer(item))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            return Response(status_code=499)  # nobody reads it
        if answer.cancelled():
            return _text(request, 503, "the endpoint ends: try again", {"retry-after": "1", "connection": "close"})
        over = answer.result()
        return _text(request, _STATUS[over.state], str(over.state) if over.text is None else over.text)
    finally:
        for task in (answer, gone):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _text(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    plain = "text/plain" in _tokens(request.headers.getlist("accept"))
    return (PlainTextResponse if plain else JSONResponse)(
        text if plain else {"text": text}, status, dict(headers or {})
    )


def _tokens(lines: Iterable[str]) -> list[str]:
    """The words of a header that lists some, without their parameters."""
    return [one.partition(";")[0].strip().lower() for line in lines for one in line.split(",")]
