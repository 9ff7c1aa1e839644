"""The watches that must run when a session ends, and its last screens.

A sweep and a watch for each tmux server, a stream of events for each container runtime.  Screens are kept in memory at
every look; on the disk at the end, before that only the rows of a prompt, unless the settings want whole screens.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Collection, Mapping, Sequence

from stallkit.config import records_screens
from stallkit.detect.signature import State
from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.judge import judged
from stallkit.packs.registry import Engine
from stallkit.transports.base import Options
from stallkit.transports.tmux.fleet import Fleet
from stallkit.transports.tmux.identity import Identity, ServerIdentity
from stallkit_sessions.containers.container_events import Account, Broke
from stallkit_sessions.containers.event_stream import ContainerEventStream
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN
from stallkit_sessions.end_facts import ServerEnd
from stallkit_sessions.model import Session
from stallkit_sessions.register import Living, Register
from stallkit_sessions.server_watch import ServerWatch
from stallkit_sessions.witnesses import Heard

__all__ = ["ContainerEventListener", "LastScreens", "ServerMonitors"]

_Look = tuple[str, list[str], dict[str, Any] | None, float]  # id, rows, verdict, when
_Reach = tuple[str, tuple[tuple[str, str], ...]]  # a container runtime, and the environment that selects it


class ServerMonitors:
    """Watches every tmux server and container runtime that a running session needs, from the first one on."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._screens = LastScreens(register, engine)
        self._fleets: dict[Options, Fleet] = {}
        self._watches: dict[ServerIdentity, ServerWatch] = {}
        self._listeners: dict[_Reach, ContainerEventListener] = {}

    async def close(self) -> None:
        """Close all of them."""
        held: list[Fleet | ServerWatch | ContainerEventListener] = []
        held += [*self._fleets.values(), *self._watches.values(), *self._listeners.values()]
        await asyncio.gather(*(one.close() for one in held))

    def heard(self, living: Living) -> Heard:
        """The facts that cannot be asked for later."""
        session = living.session
        watch, listener = self._watches.get(_server(session)), self._listeners.get(_reach(session))
        known = watch is not None and watch.end in (ServerEnd.ENDED, ServerEnd.CRASHED)
        return Heard(watch.end if watch and known else None, listener.account(session.id) if listener else None)

    async def suspects(self, livings: Sequence[Living]) -> list[Living]:
        """Those that seem to have ended; for the others, keep their screens."""
        await self._be_there(livings)
        wanted: dict[Options, list[Living]] = {}
        for one in livings:
            wanted.setdefault(_socket(one.session), []).append(one)
        found = await asyncio.gather(*(self._on_server(options, there) for options, there in wanted.items()))
        dead = {one.session.id: one for ended in found for one in ended}
        for one in livings:  # a container may end while its client is stopped
            listener = self._listeners.get(_reach(one.session))
            if listener is not None and (account := listener.account(one.session.id)) and account.died:
                dead.setdefault(one.session.id, one)
        await asyncio.to_thread(self._screens.keep, {one.session.id for one in livings}, dead)
        return list(dead.values())

    async def _be_there(self, livings: Sequence[Living]) -> None:
        """Watch those that are new, and close those that are not needed."""
        sockets = {_socket(one.session) for one in livings}
        servers = {_server(one.session): _socket(one.session) for one in livings}
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

    async def _on_server(self, options: Options, livings: Sequence[Living]) -> list[Living]:
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


def _socket(session: Session) -> Options:
    return Options(tmux_socket_name=session.tmux_socket_name, tmux_socket_path=session.tmux_socket_path)


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
        """The events of this session's container (by the session's id); None where there were none."""
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


class LastScreens:
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

    def _sight(self, id: str, now: Snapshot, at: float, ended: bool) -> _Look:
        """What is written down of a look."""
        before, _ = self._kept.get(id, (now, 0.0))
        verdict = judged(self._engine, now, before) if self._engine is not None else None
        facts = unstructure(verdict) if verdict is not None else {}
        if ended or self._screens:
            lines = now.screen.text.rstrip().splitlines()
        else:
            lines = verdict.asking_rows if verdict is not None and verdict.state is State.WAITING else []
        return id, lines, {name: facts[name] for name in _FACTS} if facts else None, at
