"""Whoever has to be there when it happens: a sweep and a watch for each tmux server, a stream for each engine."""

from __future__ import annotations

import asyncio
from typing import Any, Collection, Sequence

from stallkit.core.verdict import Snapshot
from stallkit.errors import TransportError
from stallkit.packs.registry import Engine
from stallkit.sessions.record import Session
from stallkit.sessions.register import Living, Register
from stallkit.transports.base import Options
from stallkit.transports.containers.runtime_call import DOCKER, PODMAN
from stallkit.transports.tmux.end_facts import ServerEnd
from stallkit.transports.tmux.fleet import Fleet
from stallkit.transports.tmux.server_watch import ServerWatch
from stallkit.watch.engine_vigil import EngineVigil
from stallkit.watch.onlooker import Onlooker
from stallkit.watch.witnesses import Heard

__all__ = ["Vigils"]

_Reach = tuple[str, tuple[tuple[str, str], ...]]  # an engine, and what decides which one it is


class Vigils:
    """With every server and engine that a living session needs; begun when the first of them is seen."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._onlooker = Onlooker(register, engine)
        self._fleets: dict[Options, Fleet] = {}
        self._watches: dict[str, ServerWatch] = {}  # by "PID START" of the server
        self._engines: dict[_Reach, EngineVigil] = {}

    async def close(self) -> None:
        """Leave all of them."""
        held: list[Fleet | ServerWatch | EngineVigil] = []
        held += [*self._fleets.values(), *self._watches.values(), *self._engines.values()]
        await asyncio.gather(*(one.close() for one in held))

    def heard(self, living: Living) -> Heard:
        """What nobody could ask about any more."""
        session = living.session
        watch, engine = self._watches.get(_server(session)), self._engines.get(_reach(session))
        known = watch is not None and watch.end in (ServerEnd.ENDED, ServerEnd.CRASHED)
        return Heard(watch.end if watch and known else None, engine.account(session.id) if engine else None)

    async def suspects(self, livings: Sequence[Living]) -> list[Living]:
        """Those that seem to have ended; of the others, what they show is kept."""
        await self._be_there(livings)
        wanted: dict[Options, list[Living]] = {}
        for one in livings:
            wanted.setdefault(_socket(one.session), []).append(one)
        found = await asyncio.gather(*(self._on_server(options, there) for options, there in wanted.items()))
        dead = {one.session.id: one for ended in found for one in ended}
        for one in livings:  # a container may end while its client is held up
            engine = self._engines.get(_reach(one.session))
            if engine is not None and (account := engine.account(one.session.id)) and account.died:
                dead.setdefault(one.session.id, one)
        await asyncio.to_thread(self._onlooker.keep, {one.session.id for one in livings}, dead)
        return list(dead.values())

    async def _be_there(self, livings: Sequence[Living]) -> None:
        """With those that are new, and no longer with those that nobody needs."""
        sockets = {_socket(one.session) for one in livings}
        servers = {_server(one.session): _socket(one.session) for one in livings}
        since: dict[_Reach, float] = {}
        for one in livings:
            if one.session.engine in (DOCKER, PODMAN):
                since.setdefault(_reach(one.session), one.session.started_at)  # the oldest comes first
        gone = [*_without(self._fleets, sockets), *_without(self._watches, servers), *_without(self._engines, since)]
        await asyncio.gather(*(one.close() for one in gone))
        for reach, began in since.items():
            if reach not in self._engines:
                self._engines[reach] = EngineVigil(*reach, began)
        for server, socket in servers.items():
            if server not in self._watches:
                watch = ServerWatch(socket)
                try:
                    await watch.start()
                except TransportError:  # nobody could look: at the next pass, perhaps
                    await watch.close()
                    continue
                self._watches[server] = watch
                if watch.server != server:  # it ended before, and another has its socket
                    await watch.close()

    async def _on_server(self, options: Options, livings: Sequence[Living]) -> list[Living]:
        fleet = self._fleets.setdefault(options, Fleet(options))
        by_identity = {one.session.identity: one for one in livings}
        try:
            sweep = await fleet.sweep(lambda row: row.identity in by_identity)
        except TransportError:
            return []  # nobody could look: nothing is known to have ended
        rows = {row.identity: row for row in sweep.rows}
        dead, looks = [], {}
        for identity, one in by_identity.items():
            row = rows.get(identity)
            if row is None or row.dead:
                dead.append(one)
            elif isinstance(snapshot := sweep.looks.get(row.pane), Snapshot):
                looks[one.session.id] = snapshot
        self._onlooker.saw(looks)
        return dead


def _without(held: dict[Any, Any], wanted: Collection[Any]) -> list[Any]:
    """Take those out of `held` that nobody wants any more."""
    return [held.pop(key) for key in [key for key in held if key not in wanted]]


def _socket(session: Session) -> Options:
    return Options(tmux_socket_name=session.tmux_socket_name, tmux_socket_path=session.tmux_socket_path)


def _server(session: Session) -> str:
    return " ".join(session.identity.split(" ")[:2])


def _reach(session: Session) -> _Reach:
    return session.engine or "", session.engine_environment
