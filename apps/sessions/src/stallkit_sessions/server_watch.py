"""How a tmux server ends: in order or not, seen by a blocked client and by a descriptor of the server's process.

``tmux wait-for`` on a secret channel returns when the server ends: with 0 where it ended in order (kill-server,
SIGTERM, its last session closed), with 1 where its clients lost it (kill -9, a crash).  The descriptor shows whether it
ended at all.  Such a client delays nothing: it has no session, reads nothing, and does not keep a server without
sessions alive.
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
from stallkit.transports.tmux.identity import ServerIdentity
from stallkit_sessions.end_facts import ServerEnd

__all__ = ["ServerWatch"]

_FIRST_S, _LONGEST_S = 0.2, 5.0  # between two clients: at first, and at most
_LOOK_S = 0.005  # between two checks whether a client is connected
_PID = "stallkit-server"


class ServerWatch:
    """Waits for the end of the tmux server that `options` name at the start, not of a later one on its socket.

    It belongs to one event loop.  Its client is killed when it closes, and with this process where there is setpriv(1);
    elsewhere a client that survives a kill -9 of this process ends with its server.
    """

    def __init__(self, options: Options, binary: str = "tmux") -> None:
        self._client = Server(options, binary).client
        self.target = Server(options, binary).name
        self.end = ServerEnd.UNSEEN  # before the start; then LIVES until it is known how it ended
        self.server: ServerIdentity | None = None
        self._over = asyncio.Event()  # its process ended
        self._process = -1
        self._waiter: _Waiter | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> ServerEnd:
        """Begin to wait: LIVES, or GONE where there is no server.  Raises TransportError where looking failed."""
        try:
            self._waiter, self.server = await self._connected()
        except SessionGone:
            self.end = ServerEnd.GONE
            return self.end
        try:
            self._process = os.pidfd_open(self.server.pid)
        except OSError:  # it has ended meanwhile
            await self.close()
            self.end = ServerEnd.GONE
            return self.end
        asyncio.get_running_loop().add_reader(self._process, self._ended)
        self.end = ServerEnd.LIVES
        self._task = asyncio.create_task(self._watch())
        return self.end

    async def ended(self) -> ServerEnd:
        """Wait for the server's end: ENDED, CRASHED, or GONE where no client was connected at that moment."""
        if self._task is not None:
            await asyncio.shield(self._task)
        return self.end

    async def close(self) -> None:
        """Stop waiting; the server keeps running, and nothing of this watch remains."""
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
        pause = _FIRST_S
        while True:
            end = None
            if self._waiter is not None:
                end, pause = await self._waiter.server_end(), _FIRST_S
                await self._waiter.put_away()
                self._waiter = None
            # A client's report counts only once the server has ended, which may take a moment longer.
            await self._is_over(DEADLINE_S if end is not None else pause)
            if self._over.is_set():
                self.end = end or ServerEnd.GONE
                return
            pause = min(2 * pause, _LONGEST_S)
            with suppress(TransportError):
                waiter, server = await self._connected()
                if server == self.server:
                    self._waiter = waiter
                else:  # another server has its socket now
                    await waiter.put_away()

    async def _is_over(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    async def _connected(self) -> tuple[_Waiter, ServerIdentity]:
        """A waiting client, and its server.  Raises SessionGone, CaptureTimeout, TransportError."""
        setpriv = shutil.which("setpriv") if shutil.which(self._client[0]) else None
        bound = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        ask = ["display-message", "-p", f"{_PID} #{{pid}} #{{start_time}}", ";"]
        command = [*bound, *self._client, *ask, "wait-for", f"stallkit-{secrets.token_hex()}"]
        output = os.memfd_create("stallkit")  # a stopped server would hold a pipe open, which then is read forever
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
        """Its server, once it has printed it."""
        line, newline, _ = self.text().partition("\n")
        complete = newline and line.startswith(_PID)
        return ServerIdentity.of(line.removeprefix(_PID).strip()) if complete else None

    async def server_end(self) -> ServerEnd | None:
        """Wait for its end: how the server ended, or None where the client ended for another reason."""
        if await self.process.wait() == 0:
            return ServerEnd.ENDED
        return ServerEnd.CRASHED if EXITED in self.text() else None

    async def put_away(self) -> None:
        if self.handle is not None:
            # Not Process.kill: it may collect a process that has just ended, of which asyncio then warns.
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
