"""The watches that must run when a session ends, and its last screens.

A sweep and a watch for each tmux server, a stream of events for each container runtime.  Screens are kept in memory at
every look; on the disk at the end, before that only the rows of a prompt, unless the settings want whole screens.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from typing import Any, Collection, Mapping, Sequence

from attrs import frozen

from stallkit.config import records_screens
from stallkit.detect.signature import State
from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.judge import judged
from stallkit.packs.registry import Engine
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.tmux.call import EXITED, Server, failure, not_installed
from stallkit.transports.tmux.fleet import Fleet
from stallkit.transports.tmux.identity import Identity, ServerIdentity
from stallkit_sessions.containers.container_events import Account, Broke, ContainerEventStream
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN
from stallkit_sessions.end_facts import ServerEnd
from stallkit_sessions.model import Session
from stallkit_sessions.register import Look, Register, RunningSession
from stallkit_sessions.witnesses import Heard

# --- how a tmux server ends ---

_FIRST_S, _LONGEST_S = 0.2, 5.0  # between two clients: at first, and at most
_LOOK_S = 0.005  # between two checks whether a client is connected
_PID = "stallkit-server"


class ServerWatch:
    """Waits for the end of the tmux server that `options` name at the start, not of a later one on its socket.

    It belongs to one event loop.  Its client is killed when it closes, and with this process where there is setpriv(1);
    elsewhere a client that survives a kill -9 of this process ends with its server.
    """

    def __init__(self, options: Options) -> None:
        self._client = Server(options).client
        self.target = Server(options).name
        self.end = ServerEnd.UNSEEN  # before the start; then LIVES until it is known how it ended
        self.server: ServerIdentity | None = None
        self._over = asyncio.Event()  # its process ended
        self._process = -1
        self._waiter: _Waiter | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> ServerEnd:
        """Begin to wait: LIVES, or GONE if there is no server.  Raises TransportError if looking failed."""
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
            with suppress(TimeoutError):
                async with asyncio.timeout(DEADLINE_S if end is not None else pause):
                    await self._over.wait()
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
        """Wait for its end: how the server ended, or None if the client ended for another reason."""
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


_Reach = tuple[str, tuple[tuple[str, str], ...]]  # a container runtime, and the environment that selects it


class ServerMonitors:
    """Watches every tmux server and container runtime that a running session needs, from the first one on."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._screens = ScreenKeeper(register, engine)
        self._fleets: dict[Options, Fleet] = {}
        self._watches: dict[ServerIdentity, ServerWatch] = {}
        self._listeners: dict[_Reach, ContainerEventListener] = {}

    async def close(self) -> None:
        """Close all of them."""
        held: list[Fleet | ServerWatch | ContainerEventListener] = []
        held += [*self._fleets.values(), *self._watches.values(), *self._listeners.values()]
        await asyncio.gather(*(one.close() for one in held))

    def heard(self, living: RunningSession) -> Heard:
        """The facts that cannot be asked for later."""
        session = living.session
        watch, listener = self._watches.get(_server(session)), self._listeners.get(_reach(session))
        known = watch is not None and watch.end in (ServerEnd.ENDED, ServerEnd.CRASHED)
        return Heard(watch.end if watch and known else None, listener.account(session.id) if listener else None)

    async def suspects(self, livings: Sequence[RunningSession]) -> list[RunningSession]:
        """Those that seem to have ended; for the others, keep their screens."""
        await self._be_there(livings)
        wanted: dict[Options, list[RunningSession]] = {}
        for one in livings:
            wanted.setdefault(one.session.options, []).append(one)
        found = await asyncio.gather(*(self._on_server(options, there) for options, there in wanted.items()))
        dead = {one.session.id: one for ended in found for one in ended}
        for one in livings:  # a container may end while its client is stopped
            listener = self._listeners.get(_reach(one.session))
            if listener is not None and (account := listener.account(one.session.id)) and account.died:
                dead.setdefault(one.session.id, one)
        await asyncio.to_thread(self._screens.keep, {one.session.id for one in livings}, dead)
        return list(dead.values())

    async def _be_there(self, livings: Sequence[RunningSession]) -> None:
        """Watch those that are new, and close those that are not needed."""
        sockets = {one.session.options for one in livings}
        servers = {_server(one.session): one.session.options for one in livings}
        since: dict[_Reach, float] = {}
        for one in livings:
            if one.session.engine in (DOCKER, PODMAN):
                since.setdefault(_reach(one.session), one.session.started_at)  # the oldest comes first
        gone = [*_without(self._fleets, sockets), *_without(self._watches, servers), *_without(self._listeners, since)]
        await asyncio.gather(*(one.close() for one in gone))
        for reach, began in since.items():
            if reach not in self._listeners:
                self._listeners[reach] = ContainerEventListener(*reach, began)
        for server, socket in servers.items():
            if server not in self._watches:
                watch = ServerWatch(socket)
                try:
                    await watch.start()
                except TransportError:  # it does not answer: the next pass tries again
                    await watch.close()
                    continue
                self._watches[server] = watch
                if watch.server != server:  # it ended, and another has its socket
                    await watch.close()

    async def _on_server(self, options: Options, livings: Sequence[RunningSession]) -> list[RunningSession]:
        fleet = self._fleets.setdefault(options, Fleet(options))
        by_identity = {Identity.of(one.session.identity): one for one in livings}
        try:
            sweep = await fleet.sweep(lambda row: row.identity in by_identity)
        except TransportError:
            return []  # it does not answer: nothing is known to have ended
        rows = {row.identity: row for row in sweep.rows}
        dead, looks = [], {}
        for identity, one in by_identity.items():
            row = rows.get(identity)
            if row is None or row.dead:
                dead.append(one)
            elif isinstance(snapshot := sweep.looks.get(row.pane), Snapshot):
                looks[one.session.id] = snapshot
        self._screens.saw(looks)
        return dead


def _without(held: dict[Any, Any], wanted: Collection[Any]) -> list[Any]:
    """Remove and close those in `held` that are no longer needed."""
    return [held.pop(key) for key in [key for key in held if key not in wanted]]


def _server(session: Session) -> ServerIdentity:
    return Identity.of(session.identity).server


def _reach(session: Session) -> _Reach:
    return session.engine or "", session.engine_environment


class ContainerEventListener:
    """Listens from `since` on (seconds of the wall clock), from before the first container of a session."""

    def __init__(self, name: str, environment: tuple[tuple[str, str], ...], since: float) -> None:
        self._accounts: dict[str, Account] = {}
        self._task = asyncio.create_task(self._listen(ContainerEventStream(name, environment, since)))

    def account(self, session: str) -> Account | None:
        """The events of this session's container (by the session's id); None if there were none."""
        return self._accounts.get(session)

    async def close(self) -> None:
        """Stop listening."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, TransportError):
            await self._task

    async def _listen(self, stream: ContainerEventStream) -> None:
        async for event in stream.listen():
            if isinstance(event, Broke):
                self._accounts = {session: account.after(event) for session, account in self._accounts.items()}
            else:
                self._accounts[event.session] = self._accounts.get(event.session, Account()).after(event)


EVERY_S = 3.0  # between two sights of one session on the disk: redacting 120 x 40 takes a millisecond
_FACTS = ("state", "certainty", "kind", "signature", "pack")  # kept of a verdict


class ScreenKeeper:
    """Sees each session's screen, judges it by `engine`, and keeps the verdict, and at the end the screen."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._register, self._engine, self._screens = register, engine, records_screens()
        self._latest: dict[str, tuple[Snapshot, float]] = {}  # by session; with the wall clock
        self._kept: dict[str, tuple[Snapshot, float]] = {}

    def saw(self, looks: Mapping[str, Snapshot]) -> None:
        """Take in what these sessions show now."""
        now = time.time()
        self._latest |= {id: (snapshot, now) for id, snapshot in looks.items()}

    def keep(self, living: Collection[str], ended: Collection[str]) -> None:
        """Write down new sights: soon for sessions that run, at once for those that ended; forget all others.

        Raises StoreError.
        """
        now = time.time()
        self._latest = {id: seen for id, seen in self._latest.items() if id in living}
        self._kept = {id: seen for id, seen in self._kept.items() if id in living}
        due = []
        for id, seen in self._latest.items():
            kept = self._kept.get(id)
            if id in ended or kept is None or (seen is not kept and not 0 <= now - kept[1] < EVERY_S):
                due.append((id, *seen))
        if due:
            self._register.saw([self._sight(id, screen, at, id in ended) for id, screen, at in due])
            self._kept |= {id: self._latest[id] for id, *_ in due}

    def _sight(self, id: str, now: Snapshot, at: float, ended: bool) -> Look:
        """What is written down of a look."""
        before, _ = self._kept.get(id, (now, 0.0))
        verdict = judged(self._engine, now, before) if self._engine is not None else None
        facts = unstructure(verdict) if verdict is not None else {}
        if ended or self._screens:
            lines = now.screen.text.rstrip().splitlines()
        else:
            lines = verdict.asking_rows if verdict is not None and verdict.state is State.WAITING else []
        return id, lines, {name: facts[name] for name in _FACTS} if facts else None, at
