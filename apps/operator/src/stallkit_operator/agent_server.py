"""The endpoint's sockets, one in a directory of its own for each sandbox, and the server over all of them.

That directory is what a sandbox gets, as a bind mount: a mounted socket would go stale when it is made again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterable, Iterator, Mapping, Sequence

import uvicorn
from attrs import field, frozen
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from stallkit import private
from stallkit.daemon_socket import MAX_PATH, bound, listens
from stallkit.errors import ConfigError, StallkitError
from stallkit.press.events import Event
from stallkit_operator.endpoint import EXPIRES_S, HEADER_BYTES, NAME, Gate, Tcp, Waits, application
from stallkit_operator.install import host_socket, mounted_socket
from stallkit_operator.queue import Queue

HEADER_S = 10.0  # for a client to send its headers
IDLE_S = 10  # between two requests of one connection
BACKLOG = 2_048
MORE_S = 1.0  # between two looks for sandboxes that started meanwhile
GRACE_S = 5  # for answers that are being written when it ends


@frozen
class Served:
    """Open sockets, whose they are, and why there is none of a sandbox, by its name."""

    sockets: Sequence[socket.socket]
    gate: Gate
    failed: Mapping[str, str] = field(factory=dict)
    add: Callable[[str], list[socket.socket]] = lambda name: []  # opens those of one more; raises as `sockets` does


def tcp_at(address: str, tokens: Mapping[str, str], hosts: Iterable[str], origins: Iterable[str] = ()) -> Tcp:
    """What is written HOST:PORT, and who may ask there.  Raises ConfigError."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError("--listen", f"{address!r} is no address", "write it as 127.0.0.1:8377")
    return Tcp(host.strip("[]"), int(port), tokens, frozenset(hosts), frozenset(origins))


def tokens_of(path: Path) -> dict[str, str]:
    """The sandboxes by token, of a file with lines ``SANDBOX TOKEN``.  Raises ConfigError, without a token in it."""
    try:
        private.checked(path.parent)
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(str(path), why, "write a line SANDBOX TOKEN for each sandbox") from error
    if path.stat().st_mode & 0o077:
        raise ConfigError(str(path), "others can read it", "chmod 600 it")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or not NAME.fullmatch(words[0]) or len(words[1]) < 32 or words[1] in found:
            why = "a line is SANDBOX TOKEN, each token once, with 32 characters at least"
            raise ConfigError(str(path), why, "correct it", number)
        found[words[1]] = words[0]
    if not found:
        raise ConfigError(str(path), "it has no token", "write a line SANDBOX TOKEN for each sandbox")
    return found


@contextmanager
def sockets(folder: Path, sandboxes: Sequence[str], tcp: Tcp | None = None) -> Iterator[Served]:
    """Listen for these sandboxes, each in its directory below `folder`, which is made, and at `host_socket`.

    A sandbox may spoil its own directory, but nobody else's endpoint.  Raises ValueError for a name that no sandbox may
    have; if none of them can be served, StallkitError or OSError, as when another process serves it.
    """
    with ExitStack() as stack:
        opened: list[socket.socket] = []
        by_path: dict[str, str] = {}
        failed: dict[str, StallkitError | OSError] = {}

        def add(name: str) -> list[socket.socket]:
            outside = host_socket(folder.absolute(), name)
            if outside.exists() and listens(outside):
                raise StallkitError("endpoint", str(outside), "another process serves it", "end that one first")
            with ExitStack() as both:
                paths = (outside, mounted_socket(folder.absolute(), name))
                made = [both.enter_context(_listening(folder, path)) for path in paths]
                stack.enter_context(both.pop_all())
            by_path.update((str(one.getsockname()), name) for one in made)
            return made

        for name in sandboxes:
            if not NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name: 1 to 63 letters, digits, - and _, none of the last two first")
            try:
                opened += add(name)
            except (StallkitError, OSError) as error:
                failed[name] = error
        if failed and len(failed) == len(sandboxes) and tcp is None:
            raise next(iter(failed.values()))
        if tcp is not None:
            opened.append(stack.enter_context(socket.create_server((tcp.host, tcp.port), backlog=BACKLOG)))
        yield Served(opened, Gate(by_path, tcp), {name: str(error) for name, error in failed.items()}, add)


@contextmanager
def _listening(folder: Path, path: Path) -> Iterator[socket.socket]:
    if len(os.fsencode(path)) > MAX_PATH:  # a shortened one would not say whose socket it is
        why = f"a socket's path has {MAX_PATH} bytes at most"
        raise StallkitError("endpoint", str(path), why, "name a shorter directory with --dir")
    private.folder(folder)
    private.folder(path.parent)
    with bound(path) as made:
        try:
            yield made
        finally:
            with suppress(OSError):  # its sandbox may have put anything there
                path.unlink()


def serve(
    queue: Queue,
    served: Served,
    ready: Callable[[], None],
    expires_s: float = EXPIRES_S,
    on_message: Callable[[Event], object] = lambda event: None,
    routes: Sequence[Route] = (),
    beside: Sequence[AbstractAsyncContextManager[None]] = (),
    more: Callable[[], Sequence[socket.socket]] | None = None,
) -> None:
    """Answer until SIGTERM or SIGINT; ask whoever waits then to come again.

    `ready` is called once it listens, `on_message` for each new message; `routes` and `beside` as in `application`.
    `more` gives sockets that were opened since, and is asked again and again.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one for each who waits; the usual limit is 1,024
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # what a client sends is no news, and may be a secret
    waits = Waits(queue)
    config = uvicorn.Config(
        application(queue, served.gate, waits, expires_s, on_message, routes, beside),
        http=_Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    asyncio.run(_Server(config, waits, ready, more).serve([*served.sockets]))


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        waits: Waits,
        ready: Callable[[], None],
        more: Callable[[], Sequence[socket.socket]] | None,
    ) -> None:
        super().__init__(config)
        self._waits, self._ready, self._more = waits, ready, more
        self._listening: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        yield

    def _stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
        if self._more is not None:
            self._listening = asyncio.create_task(self._listen(self._more))

    async def _listen(self, more: Callable[[], Sequence[socket.socket]]) -> None:
        """Listen at what is opened later."""
        while True:
            await asyncio.sleep(MORE_S)
            for made in await asyncio.to_thread(more):
                server = await asyncio.get_running_loop().create_server(self._protocol, sock=made, backlog=BACKLOG)
                self.servers.append(server)

    def _protocol(self) -> asyncio.Protocol:
        return _Protocol(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self._waits.end()
        await super().shutdown(sockets)


class _Protocol(H11Protocol):
    """Closes a connection whose headers do not arrive in time; the time-out of the body is the application's."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEADER_S, self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._late is not None and self.cycle is not None:  # the first request is there, with all its headers
            self._late.cancel()
            self._late = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _close(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.close()
