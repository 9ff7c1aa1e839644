"""How a tmux server ends: in order, or not.  One blocked client waits with it, and a descriptor of its process.

``tmux wait-for`` on a channel that nobody else knows comes back when the server ends: with 0 where it said good-bye
(kill-server, SIGTERM, its last session closed), with 1 where its clients lost it (kill -9, a crash).  The descriptor
tells whether it ended at all.  Such a client holds nothing up: it has no session, reads nothing, and a server that ends
itself for want of sessions sends it away.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress

from attrs import frozen

from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.tmux.call import EXITED, Server, failure, not_installed
from stallkit.transports.tmux.end_facts import ServerEnd
from stallkit.transports.tmux.identity import ServerIdentity

__all__ = ["ServerWatch"]

_AGAIN_S, _SELDOM_S = 0.2, 5.0  # between two clients: at first, and at most
_LOOK_S = 0.005  # between two looks at whether a client is connected
_PID = "stallkit-server"


class ServerWatch:
    """Waits with the tmux server that `options` name when it starts: that one, not whoever has its socket later.

    It belongs to one event loop.  Its client is killed when it closes, and with this process where there is setpriv(1);
    elsewhere one that outlives a kill -9 of this process ends with its server.
    """

    def __init__(self, options: Options, binary: str = "tmux") -> None:
        self._client = Server(options, binary).client
        self.target = Server(options, binary).name
        self.end = ServerEnd.UNSEEN  # until it was started; LIVES until it is known how it ended
        self.server: ServerIdentity | None = None
        self._over = asyncio.Event()  # its process ended
        self._process = -1
        self._waiter: _Waiter | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> ServerEnd:
        """Begin to wait: LIVES, or GONE where there is no server.  Raises TransportError where nobody could look."""
        try:
            self._waiter, self.server = await self._connected()
        except SessionGone:
            self.end = ServerEnd.GONE
            return self.end
        try:
            self._process = os.pidfd_open(self.server.pid)
        except OSError:  # it ended since
            await self.close()
            self.end = ServerEnd.GONE
            return self.end
        asyncio.get_running_loop().add_reader(self._process, self._ended)
        self.end = ServerEnd.LIVES
        self._task = asyncio.create_task(self._watch())
        return self.end

    async def ended(self) -> ServerEnd:
        """How the server ended, as soon as it has: ENDED, CRASHED, or GONE where no client was with it just then."""
        if self._task is not None:
            await asyncio.shield(self._task)
        return self.end

    async def close(self) -> None:
        """Wait no more; the server lives on, and nothing of this watch stays."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._waiter is not None:
            await self._waiter.put_away()
            self._waiter = None
        if self._process >= 0:
            asyncio.get_running_loop().remove_reader(self._process)
            os.close(self._process)
            self._process = -1

    async def __aenter__(self) -> ServerWatch:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process)
        self._over.set()

    async def _watch(self) -> None:
        pause = _AGAIN_S
        while True:
            said = None
            if self._waiter is not None:
                said, pause = await self._waiter.said(), _AGAIN_S
                await self._waiter.put_away()
                self._waiter = None
            # What a client says counts only of a server that ended, which may take a moment longer.
            await self._is_over(DEADLINE_S if said is not None else pause)
            if self._over.is_set():
                self.end = said or ServerEnd.GONE
                return
            pause = min(2 * pause, _SELDOM_S)
            with suppress(TransportError):
                waiter, server = await self._connected()
                if server == self.server:
                    self._waiter = waiter
                else:  # somebody else has its socket now
                    await waiter.put_away()

    async def _is_over(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    async def _connected(self) -> tuple[_Waiter, ServerIdentity]:
        """A client that waits, and with which server.  Raises SessionGone, CaptureTimeout, TransportError."""
        setpriv = shutil.which("setpriv") if shutil.which(self._client[0]) else None
        bound = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        ask = ["display-message", "-p", f"{_PID} #{{pid}} #{{start_time}}", ";"]
        command = [*bound, *self._client, *ask, "wait-for", f"stallkit-{secrets.token_hex()}"]
        output = os.memfd_create("stallkit")  # a pipe would be held open by a stopped server, and read for ever
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=output, stderr=output)
        except OSError as error:
            os.close(output)
            raise not_installed(self.target, error) from error
        waiter = _Waiter(process, output, _opened(process.pid))
        server = None
        try:
            async with asyncio.timeout(DEADLINE_S):
                while process.returncode is None and server is None:
                    await asyncio.sleep(_LOOK_S)
                    server = waiter.server()
        except TimeoutError as error:
            raise CaptureTimeout(self.target, DEADLINE_S) from error
        finally:
            complaints = waiter.text()
            if server is None:
                await waiter.put_away()
        if server is None:
            raise failure(self.target, complaints, process.returncode or 1)
        return waiter, server


@frozen
class _Waiter:
    """A client that waits, and what it prints."""

    process: Process
    output: int
    handle: int | None  # a pidfd; None where it had ended

    def text(self) -> str:
        return os.pread(self.output, 65_536, 0).decode("utf-8", "replace")

    def server(self) -> ServerIdentity | None:
        """With which server, as soon as it has said so."""
        line, newline, _ = self.text().partition("\n")
        said = newline and line.startswith(_PID)
        return ServerIdentity.of(line.removeprefix(_PID).strip()) if said else None

    async def said(self) -> ServerEnd | None:
        """What it says of the server's end, when it ends; None where it ended for a reason of its own."""
        if await self.process.wait() == 0:
            return ServerEnd.ENDED
        return ServerEnd.CRASHED if EXITED in self.text() else None

    async def put_away(self) -> None:
        if self.handle is not None:
            # Not Process.kill: it may collect what has just ended, which asyncio then complains of.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        if self.process.returncode is None:
            await asyncio.shield(self.process.wait())
        if self.handle is not None:
            os.close(self.handle)
        os.close(self.output)


def _opened(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
