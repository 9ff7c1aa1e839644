"""The source of a supervisor's looks: panes of one tmux server together, every other session by its transport.

A sweep over a server takes a few calls of tmux.  Asking the kernel costs a millisecond or two a pane, so for a resting
screen it is asked at the first looks, and then every few seconds: the answer for an unchanged screen mostly stays.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Callable, Protocol, Sequence

from attrs import define, evolve, frozen
from stallkit_sessions.lifecycle import lasting

from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot
from stallkit.probes.foreground_job import groups_now, probed
from stallkit.probes.procfs import text_of
from stallkit.probes.threads import turns
from stallkit.signals.collect import signals_below, with_signals
from stallkit.terminal.marks import Marks
from stallkit.transports.base import Options, Transport
from stallkit.transports.base import look as look_at
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.fleet import Fleet, Row
from stallkit.transports.tmux.identity import Identity, ServerIdentity
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit.word_tables import INTERPRETERS
from stallkit_supervisor.listener import Listen, PaneListener, may_report
from stallkit_supervisor.status_text import StatusText

# --- panes in which stallkit itself runs ---

_NAME = "stallkit"
_CARRY = frozenset({"attach", "record", "run", "wrap"})  # another program is inside, which may ask


def own_pane() -> tuple[str, str] | None:
    """The pid of the server and the pane in which this program runs; None outside tmux."""
    _, *pid = os.environ.get("TMUX", "").split(",")[:2]  # SOCKET,PID,SESSION
    return (pid[0], os.environ.get("TMUX_PANE", "")) if pid else None


def runs_stallkit(seen: Snapshot) -> bool:
    """Whether a command of stallkit is in front that has no other program in it, as far as its command line is seen."""
    members = seen.kernel.members if seen.kernel else ()
    return any(_may_be(one) and _shows_others(_words(one.pid)) for one in members if not one.ended)


def _may_be(member: Member) -> bool:
    """Whether its command line is worth a look."""
    return _NAME in (*member.names, member.script) or (
        member.script is None and not member.names.isdisjoint(INTERPRETERS)
    )


def _shows_others(words: Sequence[str]) -> bool:
    """Whether these words start such a command.

    >>> _shows_others(["python3", "/usr/bin/stallkit", "watch", "--all"]), _shows_others(["stallkit", "wrap", "acme"])
    (True, False)
    """
    for place, word in enumerate(words[:4]):
        if word.rpartition("/")[2] == _NAME:
            return place + 1 < len(words) and words[place + 1] not in _CARRY
    return False


def _words(pid: int) -> list[str]:
    try:
        return text_of(pid, "cmdline").removesuffix("\0").split("\0")
    except OSError:  # it ended, or this is no Linux
        return []


@frozen
class SourceLook:
    """A look at one session (None: nothing new), or why there is none: SessionGone where it no longer exists."""

    target: str
    found: Snapshot | TransportError | None


class Source(Protocol):
    """Sessions that are looked at together."""

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        """One look at each session, or, where a look is expensive, at those that are `due`.

        Raises TransportError if none could be looked at, such as with a stopped server.
        """

    def open(self, target: str) -> Transport:
        """A transport to act on one of them; the caller closes it."""

    async def close(self) -> None:
        """Close everything."""


class Transports:
    """Sessions of any kind, each by a transport of its own."""

    def __init__(self, targets: Sequence[str], options: Options | None = None) -> None:
        """Raises ValueError for a target that cannot be read."""
        self._options = options
        self._open: dict[str, Transport] = {target: open_target(target, options) for target in targets}

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        targets = [target for target in self._open if due(target)]
        return await asyncio.gather(*(asyncio.to_thread(self._look, target) for target in targets))

    def open(self, target: str) -> Transport:
        return open_target(target, self._options)

    async def close(self) -> None:
        for transport in self._open.values():
            transport.close()

    def _look(self, target: str) -> SourceLook:
        transport = self._open[target]
        try:
            return SourceLook(target, transport.capture())
        except SessionGone as error:
            self._open[target] = open_target(target, self._options)  # another may take its name
            transport.close()
            try:
                return SourceLook(target, self._open[target].capture())
            except TransportError as again:
                return SourceLook(target, again if isinstance(again, SessionGone) else error)
        except TransportError as error:
            return SourceLook(target, error)


SCHEME = "tmux:"
LOOKS = 4  # at a resting screen, each with the kernel's facts
RARELY = 8  # then at every 8th: a program that is killed below a wrapper may change nothing on the screen
LONG = 30  # looks at rest, after which only who had a CPU since is asked, but for every 8th of those
SILENT = 4  # looks at a screen that moves, of which one asks programs that said nothing of themselves
PROBES = 100  # in one sweep: some 0.2 s; the other panes follow in the next


@define
class _Pane:
    """One pane after the last sweep."""

    snapshot: Snapshot
    rests: int = 0  # looks in a row without a change
    moves: int = 0  # looks that showed another screen
    turns: tuple[str, ...] | None = None  # which each of its processes had had of a CPU when the kernel was asked

    @property
    def due(self) -> bool:
        """Whether to ask the kernel now."""
        return self.rests <= LOOKS or self.rests % RARELY == 0

    @property
    def stands(self) -> bool:
        """Whether what the kernel said holds: it rests for long, and none of its processes had a CPU since."""
        if self.rests < LONG or self.rests % (RARELY * RARELY) == 0 or self.turns is None:
            return False
        return self.snapshot.kernel is not None and turns(self.snapshot.kernel) == self.turns

    @property
    def may_ask(self) -> bool:
        """Whether to ask, at a look that shows another screen, who waits below what moves: no program that tells it."""
        stands = self.snapshot.kernel is not None and self.snapshot.kernel.standstill is not None
        return stands or not (self.snapshot.signals or self.moves % SILENT)

    def is_silent(self, now: Snapshot) -> bool:
        """Whether the programs of the look before, which published nothing, need not be asked again at this one."""
        known, here = self.snapshot.kernel, now.kernel
        same = known is not None and here is not None and _pids(known) == _pids(here)
        return same and not self.snapshot.signals and self.moves % SILENT != 0

    def says_more(self, leader: int, marks: Marks | None) -> bool:
        """Whether a program that published something of itself says something else now, over a resting screen."""
        if marks != self.snapshot.marks:
            return True
        known = self.snapshot.signals
        return bool(known) and [one.says for one in known] != [one.says for one in signals_below(leader)]


class FleetSource:
    """Panes of the tmux server that `options` name: those of `targets`, or every one, by session, window and pane.

    `server` is what people call it, `socket` its place; `nudged` returns once a pane gave a reason to look at once.
    """

    def __init__(
        self, targets: Sequence[str], options: Options | None = None, everything: bool = False, listen: Listen = "never"
    ) -> None:
        """Raises ValueError for a target that names no pane."""
        self._options, self._everything = options or Options(), everything
        self._fleet = Fleet(self._options)
        self.server, self.socket = self._fleet.target, socket_of(self._options)
        self._listen, self._listener = listen, PaneListener(Server(self._options))
        self._wanted: dict[Identity, None] = {}  # the panes that are listened to, in order
        self.nudged = self._listener.nudged
        self._text = StatusText(Server(self._options))
        self._server: ServerIdentity | None = None  # at the last sweep
        self._here: set[Identity] = set()
        self._names: dict[str, Identity | None] = {}  # the identity behind each target, once it is known
        self._panes: dict[Identity, _Pane] = {}  # by identity
        for target in targets:
            self._transport(target)
            self._names[target] = None
        self._own = own_pane()

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        await self._bind()  # so that this sweep sees new panes
        targets = {identity: target for target, identity in self._names.items() if identity is not None}
        fresh = self._listener.news()
        sweep = await self._fleet.sweep(lambda row: self._everything or row.identity in targets, fresh)
        self._server = sweep.rows[0].identity.server if sweep.rows else None
        self._here = {row.identity for row in sweep.rows}
        for name, known in self._names.items():
            if known not in self._here:
                self._names[name] = None  # another may have it, in this very sweep
        sessions = Counter(row.session for row in sweep.rows)
        looks: list[tuple[str, Row, Snapshot | None]] = []
        found: list[SourceLook] = []
        for row in sweep.rows:
            if (str(row.identity.server.pid), row.pane) == self._own:
                continue  # it shows other sessions' prompts
            target = targets.get(row.identity) or self._named(row, alone=sessions[row.session] == 1)
            if target is not None:
                look = sweep.looks.get(row.pane)
                if isinstance(look, TransportError):
                    found.append(SourceLook(target, look))
                else:
                    looks.append((target, row, look))
        marks = {identity: self._listener.marks(identity) for identity in self._wanted}
        found += await asyncio.to_thread(self._told, looks, marks)
        await self._listener.listen(self._wanted)
        for row in sweep.gone:
            self._panes.pop(row.identity, None)
            self._wanted.pop(row.identity, None)
            self._listener.forget(row.identity)
        return [*found, *await self._bind()]

    def open(self, target: str) -> Transport:
        identity = self._names.get(target)
        return self._transport(target if identity is None else SCHEME + identity.pane)

    def identities(self) -> frozenset[str]:
        """Those of all panes of the server at the last sweep."""
        return frozenset(map(str, self._here))

    async def show(self, text: str) -> None:
        """Have the server's status line show a text, if it has `#{@stallkit}`."""
        if self._server is not None:
            await self._text.show(text, self._server)
            self._listener.at_the_end(self._text.clearing)

    async def close(self) -> None:
        await self._text.clear()
        await self._listener.close()
        await self._fleet.close()

    def _transport(self, target: str) -> TmuxTransport:
        return TmuxTransport(target.removeprefix(SCHEME), self._options)

    def _named(self, row: Row, alone: bool) -> str | None:
        """The name of a pane that is watched because all are; it keeps that name when its session changes.

        The only pane of a session has the session's name, so that its counts are the same however it is watched.
        """
        if not self._everything:
            return None
        target = f"{SCHEME}{row.session if alone else row.name}"
        try:
            self._transport(target)
        except ValueError:
            target = row.target
        if self._names.get(target) is not None:  # the place of one that moved
            target = row.target
        self._names[target] = row.identity
        return target

    def _told(
        self, looks: Sequence[tuple[str, Row, Snapshot | None]], marks: dict[Identity, Marks | None]
    ) -> list[SourceLook]:
        """The snapshot of each look, with the kernel's facts if it is asked; None if nothing is new."""
        asked, groups = 0, cache(groups_now)  # listed once a sweep, where any is asked
        found = []
        for target, row, look in looks:
            before, said, leader = self._panes.get(row.identity), marks.get(row.identity), row.identity.pid
            if look is not None and (before is None or look.screen != before.snapshot.screen):
                moves = before.moves + 1 if before else 0
                since = before.snapshot if before and before.may_ask else None
                now = probed(evolve(look, target=target, marks=said), since, row.tty, leader, groups())
                now = now if before and before.is_silent(now) else with_signals(now, leader)
                self._panes[row.identity] = _Pane(now, moves=moves)
            elif before is None:
                continue
            else:
                known = look is None and (not before.due or before.stands) and not before.says_more(leader, said)
                if asked >= PROBES or known:
                    before.rests += asked < PROBES
                    found.append(SourceLook(target, None))
                    continue
                now = evolve(look or before.snapshot, target=target, taken_at=time.monotonic(), marks=said)
                now = with_signals(probed(now, before.snapshot, row.tty, leader, groups()), leader)
                asked += 1
                before.snapshot, before.rests = now, before.rests + 1
                before.turns = turns(now.kernel) if now.kernel and before.rests >= LONG - RARELY else None
            if not (self._everything and runs_stallkit(now)):
                self._consider(row.identity, now)
                found.append(SourceLook(target, now))
        return found

    def _consider(self, identity: Identity, seen: Snapshot) -> None:
        """Want to hear this pane if a program in it may report; once it is heard, it stays heard."""
        if self._listen == "all" or (self._listen == "auto" and may_report(seen)):
            self._wanted[identity] = None

    async def _bind(self) -> list[SourceLook]:
        """Find the panes of targets that are unknown, or no longer known."""

        def find(target: str) -> Snapshot | TransportError:
            try:
                return look_at(self._transport(target))
            except TransportError as error:
                return error

        unknown = [target for target, identity in self._names.items() if identity is None]
        looks = await asyncio.gather(*(asyncio.to_thread(find, target) for target in unknown))
        missing = []
        for target, found in zip(unknown, looks, strict=True):
            if isinstance(found, Snapshot):
                self._names[target] = Identity.of(found.identity)
            elif self._everything and isinstance(found, SessionGone):
                del self._names[target]
                missing.append(SourceLook(target, found))
            else:
                missing.append(SourceLook(target, found))
        return missing


def _pids(kernel: KernelFacts) -> list[int]:
    return [one.pid for one in (*kernel.members, *kernel.below)]


def socket_of(options: Options) -> str:
    """The socket of that tmux server, as it is called from any other terminal."""
    name, path = lasting(options.tmux_socket_name, options.tmux_socket_path)
    return path or str(Path("/tmp").resolve() / f"tmux-{os.getuid()}" / (name or "default"))


def sources_for(
    targets: Sequence[str], options: Options | None = None, everything: bool = False, listen: Listen = "never"
) -> list[Source]:
    """Panes of tmux are looked at together, everything else one by one.  Raises ValueError for an invalid target.

    `listen` says which panes are listened to (`supervise.listening`).
    """
    panes = [target for target in targets if target.startswith(SCHEME)]
    others = [target for target in targets if not target.startswith(SCHEME)]
    sources: list[Source] = []
    if panes or everything:
        sources.append(FleetSource(panes, options, everything, listen))
    if others:
        sources.append(Transports(others, options))
    return sources
