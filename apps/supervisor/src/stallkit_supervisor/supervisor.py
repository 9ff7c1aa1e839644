"""Many sessions watched at once: looks come in, events go out, and what the policy allows is done, within limits.

The driver of `transitions`: asyncio, one task for each source, so that a server that hangs delays no other; actions on
a session run in a thread.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence, TypeVar

from attrs import evolve
from stallkit_wrap.askpass.prompts import AskedPrompts

from stallkit.detect.engine import Engine
from stallkit.errors import SessionGone, StoreError, TransportError, bad_argument
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event
from stallkit.press.gate import End, Outcome
from stallkit.press.policy import CAREFUL, Action, Choose, Interrupt, Policy, Press, Restart, Send
from stallkit.press.policy_file import as_policy
from stallkit.press.rules import Scene
from stallkit.probes.activity import TcpSockets
from stallkit.transports.base import Options
from stallkit_supervisor.escalations import Escalations
from stallkit_supervisor.notices import ended_by
from stallkit_supervisor.notification import ClearedBy
from stallkit_supervisor.notify.notifier import ESCALATIONS
from stallkit_supervisor.persistence import EventBus, Hook, Persistence
from stallkit_supervisor.prompt_state import Observed, observed
from stallkit_supervisor.recovery import Recoverer
from stallkit_supervisor.session_state import Emit, Halt, Loop, Perform, RecoveryCommands, WatchConfig
from stallkit_supervisor.sources import FleetSource, Source, SourceLook, sources_for
from stallkit_supervisor.status_text import summary
from stallkit_supervisor.store import Store
from stallkit_supervisor.transitions import NO_COMMAND, on_dry_run, on_outcome
from stallkit_supervisor.watched import Watched

_T = TypeVar("_T")

_NUMBERS = re.compile(r"\d+(?:\.\d+)?")  # in a reason: how long something rests, the row that moved
REST_S = 0.2  # between two sweeps, however much is reported


class Supervisor:
    """Watches sessions until stopped and presses what policy ``careful`` allows; ``policy="observe"`` only reports.

    ``async with Supervisor("tmux:worker1") as supervisor: async for event in supervisor: ...``, or a list of targets.
    `policy` sets what it may do: a policy, the name of a profile, or a `WatchConfig`.  It restarts and resumes by
    `commands`; with `dry_run` it only reports what it would do, as events.  `directories` are the loops' working
    directories, by target, where they differ from their processes'.  With `everything` it watches all panes of the
    tmux server.  Without a `store` nothing outlives the process: limits and waits start again.  `hooks` are called
    with each event.  `escalations` files what a person is told of, before they are told.
    Everything is replaceable: `sources` (where more looks come from), `engine`, `store`, `clock` (monotonic seconds).
    """

    def __init__(
        self,
        targets: str | Sequence[str] = (),
        policy: WatchConfig | Policy | str = CAREFUL,
        *,
        everything: bool = False,
        engine: Engine | None = None,
        store: Store | None = None,
        options: Options | None = None,
        sources: Sequence[Source] | None = None,
        hooks: Iterable[Hook] = (),
        commands: RecoveryCommands | None = None,
        directories: dict[str, Path] | None = None,
        dry_run: bool = False,
        reset_total_on_signal: bool = False,
        escalations: Escalations | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`targets` is one, like ``tmux:NAME``, or several.

        Raises ValueError for an invalid target or an unknown profile, TypeError for what is no target, PackError if
        no pack is installed.
        """
        targets = [targets] if isinstance(targets, str) else _names(targets)
        config = policy if isinstance(policy, WatchConfig) else WatchConfig(as_policy(policy))
        self.config = _able(config, commands or RecoveryCommands())
        self.sessions: dict[str, Watched] = {}
        self.engine = engine or installed_engine()
        self._bus = EventBus(store, hooks)
        self._persistence = Persistence(self._bus, clock, directories or {}, dry_run, reset_total_on_signal)
        self._sources = [*sources_for(targets, options, everything), *(sources or ())]
        self._recoverer = Recoverer(self.engine, store, commands or RecoveryCommands())
        self._clock, self._escalations = clock, escalations
        self.subscribe, self.unsubscribe = self._bus.subscribe, self._bus.unsubscribe
        self._tasks: set[asyncio.Task[None]] = set()
        self._end: asyncio.Task[None] | None = None
        self._acting: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._said_nothing = False
        self._failed: dict[int, TransportError] = {}  # sources that could not be looked at, and why
        self._listed: set[int] = set()  # sources that said once which sessions there are

    async def __aenter__(self) -> Supervisor:
        why = {} if self.config.can_restart or not self.config.policy.may_restart else {"why": NO_COMMAND}
        self._bus.say("start", "", {"policy": self.config.policy.name, "dry_run": self._persistence.dry_run, **why})
        self._tasks = {asyncio.create_task(self._watch(source)) for source in self._sources}
        self._end = asyncio.create_task(self._ended())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._bus.read()

    @property
    def summary(self) -> str:
        """What its sessions need, in one short line: ``2 wait: w1 w7``."""
        needs = [(watched.need, name) for name, watched in list(self.sessions.items())]
        return summary((need, name) for need, name in needs if need is not None)

    @property
    def servers(self) -> list[str]:
        """The sockets of the tmux servers that it watches."""
        return [source.socket for source in self._sources if isinstance(source, FleetSource)]

    def since_look(self, watched: Watched) -> float | None:
        """Seconds since the last look at a session; None if there was none."""
        return None if watched.looked_at is None else self._clock() - watched.looked_at

    def stop(self) -> None:
        """Stop looking; running actions are finished."""
        self._stopping.set()

    async def drain(self) -> None:
        """Stop, and wait for running actions."""
        self.stop()
        if self._end is not None:
            await self._end

    async def _ended(self) -> None:
        """Wait until all looks and actions have ended, then close everything."""
        try:
            await asyncio.gather(*self._tasks)
        finally:
            self.stop()
            await asyncio.gather(*self._tasks, *self._acting, return_exceptions=True)
            for source in self._sources:
                await source.close()
            self._persistence.swept()
            self._bus.say("stop", "", {"sessions": len(self.sessions)})
            await self._bus.close()

    def change(
        self,
        config: WatchConfig,
        commands: RecoveryCommands,
        directories: dict[str, Path],
        dry_run: bool,
        reset_total_on_signal: bool,
    ) -> None:
        """Use another configuration from the next look on; the parameters are the constructor's."""
        self.config = _able(config, commands)
        self._recoverer = Recoverer(self.engine, self._bus.store, commands)
        self._persistence.directories = directories
        self._persistence.dry_run = dry_run
        self._persistence.reset_total = reset_total_on_signal
        self._bus.say("reload", "", {"policy": config.policy.name})

    def refuse(self, why: str) -> None:
        """Report that a new configuration was refused."""
        self._bus.say("reload_refused", "", {"why": why})

    async def _watch(self, source: Source) -> None:
        while not self._stopping.is_set():
            began = self._clock()
            await self._sweep(source)
            schedule = self.config.schedule
            pause = min(schedule.interval_s, schedule.eager_s)
            await self._pause(source, max(pause - (self._clock() - began), 0.0), min(pause, REST_S))

    async def _pause(self, source: Source, pause: float, rest: float) -> None:
        """Wait until the next sweep: as long as `pause`, or until the source has a reason to look, after a `rest`."""
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._stopping.wait())]
        if isinstance(source, FleetSource):
            waits.append(asyncio.create_task(_after(rest, source)))
        try:
            await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _sweep(self, source: Source) -> None:
        try:
            sightings = await source.sweep(self._due)
        except TransportError as error:
            before = self._failed.get(id(source))
            self._failed[id(source)] = error
            if before is None or before.why != error.why:
                self._bus.say("could_not_look", error.target, {"why": error.why})
            return
        if not sightings and not self.sessions and not self._said_nothing:
            self._said_nothing = True
            self._bus.say("no_session", "", {"why": "no tmux server yet, or no session in it; waiting for one"})
        failed = self._failed.pop(id(source), None)
        if failed is not None:
            self._bus.say("looks_again", failed.target, {})
        sockets, prompts, incident = TcpSockets(), AskedPrompts(), self._incident(source, sightings)
        for sighting in sightings:
            await self._see(source, sighting, sockets, prompts, incident)
        fleet = source if isinstance(source, FleetSource) else None
        if fleet is not None and id(fleet) not in self._listed:
            self._listed.add(id(fleet))
            self._missed(fleet.identities())
        self._persistence.swept()
        if fleet is not None:
            await fleet.show(self.summary)

    def _missed(self, identities: Collection[str]) -> None:
        """Report what ended while nobody watched, and take back what it asked; `identities` are there."""
        for target in self._kept(lambda kept: kept.missing(identities)) or ():
            watched = None if target in self.sessions else self._begin(target)
            if watched is not None:
                self._unseen(watched, SessionGone(target, "it ended while nobody watched"), None)
        self._kept(lambda kept: kept.only(identities))

    def _incident(self, source: Source, sightings: Sequence[SourceLook]) -> str | None:
        """The number of the end of a server, reported instead of those of its sessions."""
        if not isinstance(source, FleetSource):
            return None
        found = {one.target: one.found for one in sightings if isinstance(one.found, SessionGone)}
        known = {name: self.sessions[name].state.identity for name in found if name in self.sessions}
        servers = {"", *map(_server, source.identities())}  # without an identity: it was never there
        gone = sorted(name for name in known if _server(known[name]) not in servers and not self.sessions[name].gone)
        if len(gone) < 2:
            return None
        number, error = secrets.token_hex(4), found[gone[0]]
        why = f"{error.why}: {len(gone)} sessions ended with it: {', '.join(gone)}"
        self._bus.say("incident", source.server, {"incident": number, "why": why, "sessions": gone})
        return number

    async def _see(
        self,
        source: Source,
        sighting: SourceLook,
        sockets: TcpSockets,
        prompts: AskedPrompts,
        incident: str | None,
    ) -> None:
        watched = self.sessions.get(sighting.target) or self._begin(sighting.target)
        if watched is None:
            return
        found = sighting.found
        if found is None and watched.passes(self._clock(), self.config):
            return
        if isinstance(found, TransportError):
            self._unseen(watched, found, incident)
            if not isinstance(found, SessionGone) or not self._restarts(watched):
                return
        else:
            if watched.error is not None:
                self._bus.say("looks_again", watched.target, {})
            sure = watched.certainty
            watched.look(found, self.engine)
            watched.watch_over(self._clock(), self.config.hung_after_s, sockets, prompts)
            if watched.certainty is not sure:
                self._persistence.news(watched)
        verdict, seen = watched.verdict, watched.snapshot
        if verdict is None or seen is None or self._kept(lambda kept: kept.overtaken(watched.target, seen)):
            return
        self._persistence.files(watched)
        before, by = watched.state, None
        for step in watched.step(self._clock(), self.config):
            match step:
                case Emit("escalation", {"waited_s": waited_s}) if self._persistence.muted(watched, waited_s):
                    continue
                case Emit("escalation") if watched.finished:
                    continue
                case Emit("cleared"):
                    by = self._over(watched, step)
                case Emit(name, facts):
                    about = unstructure(verdict) if name in ESCALATIONS or name == "still" else {}
                    number = self._filed(watched) if name in ("escalation", "limit") else {}
                    self._bus.say(name, watched.target, {**about, **_dated(facts), **number})
                case Halt(reason, why):
                    self._persistence.halt(watched, reason, why)
                case Loop():
                    self._persistence.loop(watched, step)
                case Perform(decision):
                    if self._persistence.dry_run:
                        keys = str(decision.keys) if isinstance(decision, Press | Interrupt) else None
                        facts = {"would": type(decision).__name__.lower(), "keys": keys}
                        facts |= {"text": decision.text} if isinstance(decision, Send) else {}
                        self._bus.say("dry_run", watched.target, facts)
                        watched.state = on_dry_run(before, watched.state)
                        continue
                    if isinstance(decision, Restart):
                        self._persistence.restarts(watched)
                    doing = asyncio.create_task(self._act(source, watched, decision, observed(verdict), seen))
                    self._acting.add(doing)
                    doing.add_done_callback(partial(self._did, watched, decision))
        self._looked(watched, by)
        after = watched.state
        if (before.prompt.seen, before.quota) != (after.prompt.seen, after.quota):
            self._persistence.note(watched, before)

    def _kept(self, asks: Callable[[Escalations], _T]) -> _T | None:
        """What the keeper of what a person has to answer says; None if there is none, or it fails."""
        try:
            return None if self._escalations is None else asks(self._escalations)
        except StoreError as error:
            self._bus.failed(error)
            return None

    def _filed(self, watched: Watched) -> dict[str, int]:
        """The number under which a person can answer what they hear of next, if that is kept."""
        told, verdict, seen = watched.state.notice.notification, watched.verdict, watched.snapshot
        if told is None or verdict is None or seen is None:
            return {}
        since = time.time() - max(0.0, self._clock() - told.appeared)
        number = self._kept(lambda kept: kept.file(watched.target, told.subject, verdict, seen, since))
        return {} if number is None else {"item": number}

    def _over(self, watched: Watched, cleared: Emit, more: Mapping[str, Any] = {}) -> str:  # never changed
        """Report that what a person heard of is over, and return how it came to that."""
        by = self._kept(lambda kept: kept.answered(watched.target)) or str(cleared.facts["by"])
        by = ClearedBy.ITSELF if by == ClearedBy.TYPED and watched.untouched else by
        watched.answered_at = None if by in (ClearedBy.ITSELF, ClearedBy.GONE) else self._clock()
        self._bus.say(cleared.name, watched.target, {**_dated(ended_by(cleared, by).facts), **more})
        return by

    def _looked(self, watched: Watched, by: str | None) -> None:
        told, verdict, seen = watched.state.notice.notification, watched.verdict, watched.snapshot
        if verdict is not None and seen is not None and not (told and told.key):
            self._kept(lambda kept: kept.look(watched.target, told.subject if told else None, verdict, seen, by))

    def _due(self, target: str) -> bool:
        """Whether it is time for another look: at the next beat, or sooner where something looks suspicious."""
        watched = self.sessions.get(target)
        return watched is None or watched.due(self._clock(), self.config.schedule)

    def _begin(self, target: str) -> Watched | None:
        watched = self._persistence.begin(target)
        if watched is not None:
            filed = self._kept(lambda kept: kept.filed(target))
            if filed is not None:
                watched.resume(filed, self._clock())
            self.sessions[target] = watched
        return watched

    def _unseen(self, watched: Watched, error: TransportError, incident: str | None) -> None:
        gone = isinstance(error, SessionGone)
        known = watched.error is not None and (watched.gone or not gone)  # after a failed look, that it is gone is news
        watched.error = error.why
        if isinstance(error, SessionGone):
            told: dict[str, Any] = {"with": "gone"} | ({"incident": incident} if incident else {})
            by = [self._over(watched, step, told) for step in watched.over(self._clock(), self.config)]
            watched.lost(error)
            self._looked(watched, by[0] if by else None)
        if not known:
            facts = {"why": error.why} | ({"incident": incident} if gone and incident else {})
            self._bus.say("gone" if gone else "could_not_look", watched.target, facts)
        self._persistence.news(watched)

    def _restarts(self, watched: Watched) -> bool:
        """Whether a rule restarts a session that is gone; a person who ended it on purpose removes the rule."""
        verdict, seen = watched.verdict, watched.snapshot
        if verdict is None or seen is None:
            return False
        return isinstance(self.config.policy.decide(verdict, Scene.of(seen)), Restart)

    async def _act(self, source: Source, watched: Watched, decision: Action, was: Observed, last: Snapshot) -> None:
        if await self._bus.flush():  # an earlier halt must be on the disk before any key is pressed
            outcome = await asyncio.to_thread(self._through, source, watched, decision, was, last)
        else:
            outcome = Outcome(End.REFUSED, "earlier events could not be written down yet")
        watched.state = on_outcome(watched.state, decision, outcome.end, outcome.why)
        known = watched.refusals if watched.state.prompt.refused > 1 else frozenset[str]()
        why = _NUMBERS.sub("", outcome.why)
        watched.refusals = known | {why}
        self._persistence.news(watched)
        if isinstance(decision, Restart) and outcome.end not in (End.CLEARED, End.REPLACED):
            self._persistence.restarts(watched)
        if outcome.end is End.REFUSED and why in known:
            return  # it is said once, however often it is tried
        act = type(decision).__name__.lower()
        facts = {
            "act": act,
            "signature": decision.signature.id if isinstance(decision, Press | Choose) else None,
            "keys": str(outcome.keys) if outcome.pressed and not isinstance(decision, Send) else None,
            "text": decision.text if isinstance(decision, Send) else None,
            "outcome": str(outcome.end),
            "why": outcome.why,
        }
        self._bus.say("dismissal" if isinstance(decision, Press | Choose) else act, watched.target, facts)

    def _through(self, source: Source, watched: Watched, decision: Action, was: Observed, last: Snapshot) -> Outcome:
        target = watched.target
        try:
            transport = source.open(target)
        except TransportError as error:
            return Outcome(End.REFUSED, str(error))
        try:
            return self._recoverer.act(transport, target, decision, self.config, was, watched.directories, last)
        finally:
            transport.close()

    def _did(self, watched: Watched, decision: Action, task: asyncio.Task[None]) -> None:
        self._acting.discard(task)
        if task.cancelled() or task.exception() is not None:  # how far it came is unknown
            watched.state = on_outcome(watched.state, decision, End.UNKNOWN)
            why = "cancelled" if task.cancelled() else repr(task.exception())
            self._bus.say("defect", watched.target, {"why": why})


def _server(identity: str) -> str:
    """The server in the identity of a pane."""
    return identity.rpartition(" %")[0]


def _able(config: WatchConfig, commands: RecoveryCommands) -> WatchConfig:
    return evolve(config, can_restart=bool(commands.restart))


async def _after(rest: float, source: FleetSource) -> None:
    await asyncio.sleep(rest)
    await source.nudged()


def _dated(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts, with the moment on the wall clock for how long it has waited."""
    if "waited_s" not in facts:
        return facts
    since = datetime.now(UTC) - timedelta(seconds=facts["waited_s"])
    return {**facts, "since": since.isoformat(timespec="milliseconds")}


def _names(given: Sequence[str]) -> Sequence[str]:
    """Several targets.  Raises TypeError for anything else."""
    names = list(given) if isinstance(given, Sequence) else [given]
    for one in names:
        if not isinstance(one, str):
            hint = "its scheme can be registered: stallkit.transports.base" if hasattr(one, "capture") else ""
            raise bad_argument("a supervisor watches targets such as 'tmux:NAME'", one, hint)
    return names
