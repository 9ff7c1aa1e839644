"""The events of a supervisor on their way out, and the lasting notes on watched sessions.

Events go to a reader, to hooks and to the store; none of them can stop the supervisor.  Writes go through one thread,
in order, so a store that another process holds delays no look.  The supervisor calls `flush` before it acts, so that no
key overtakes a halt.  The notes, in the store and in the directories of loops, are loops and iterations, halts and
their release, waits for usage limits, and what `stallkit status` shows.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Iterable

from attrs import define, evolve, field

from stallkit.errors import StallkitError, StoreError
from stallkit.press.events import Event
from stallkit_supervisor.loop_files import held, write_stop
from stallkit_supervisor.session_state import Loop, SessionState
from stallkit_supervisor.store import Store
from stallkit_supervisor.transitions import on_signal
from stallkit_supervisor.watched import Watched

HELD = 10_000  # events that wait for a reader (older ones are dropped), and writes that wait for the store
PATIENCE_S = 10.0  # for another process that holds the store: five times what a write waits
# Not incidents; whoever can write in a loop's directory could fill the list with some of them.
ROUTINE = frozenset(
    {"cleared", "detection", "done", "held", "held_over", "iteration", "loop", "no_session", "start", "still", "stop"}
)
Hook = Callable[[Event], None]


class EventBus:
    """Takes events, and facts to keep over a restart; `unkept` counts failed writes."""

    def __init__(
        self, store: Store | None, hooks: Iterable[Hook], *, held: int = HELD, patience_s: float = PATIENCE_S
    ) -> None:
        self._held, self._patience_s = held, patience_s
        self.store, self._hooks = store, list(hooks)
        self._events: deque[Event] = deque(maxlen=held)
        self._news, self._over = asyncio.Event(), False
        self._writer = ThreadPoolExecutor(1, "stallkit store")
        self._waiting: dict[Future[object], asyncio.Future[object]] = {}  # in order
        self.unkept = 0

    def say(self, name: str, target: str, facts: dict[str, Any]) -> None:
        """Something happened."""
        event = Event(name, target, facts)
        self._events.append(event)
        self._news.set()
        if name not in ROUTINE:
            self.keep(lambda store: store.incident(target, name, facts))
        for hook in self._hooks:
            try:
                hook(event)
            except StallkitError as error:
                self.failed(error)
            except Exception as error:  # a hook's code must not end the watch
                self.failed(StallkitError("hook", repr(hook), repr(error), "fix it"))

    def subscribe(self, hook: Hook) -> None:
        """Call a hook with each event from now on."""
        self._hooks.append(hook)

    def unsubscribe(self, hook: Hook) -> None:
        """Call it no more."""
        self._hooks.remove(hook)

    def keep(self, write: Callable[[Store], object], kept: Callable[[bool], None] = lambda well: None) -> None:
        """Write to the store, if there is one, in the background; then call `kept` with whether that worked."""
        store = self.store
        if store is None:
            return
        if len(self._waiting) >= self._held:
            kept(False)
            self.failed(
                StoreError("store", str(store.path), "too many writes are pending", "find the process that holds it")
            )
            return
        done = self._writer.submit(write, store)
        self._waiting[done] = asyncio.wrap_future(done)
        self._waiting[done].add_done_callback(partial(self._kept, done, kept))

    def _kept(self, done: Future[object], kept: Callable[[bool], None], result: asyncio.Future[object]) -> None:
        del self._waiting[done]
        error = None if result.cancelled() else result.exception()
        kept(error is None and not result.cancelled())
        if result.cancelled():
            self.unkept += 1
        elif isinstance(error, StallkitError):
            self.failed(error)
        elif error is not None:
            self.failed(StallkitError("store", "", repr(error), "report it"))

    async def flush(self) -> bool:
        """Wait until all writes so far are done or have failed; false after `patience_s`."""
        if not self._waiting:
            return True
        _, left = await asyncio.wait(tuple(self._waiting.values()), timeout=self._patience_s)
        return not left

    def failed(self, error: StallkitError) -> None:
        """Report a failed write, once: a report for each would never end."""
        self.unkept += 1
        if self.unkept == 1:
            self.say("not_recorded", "", {"why": str(error)})

    async def close(self) -> None:
        """End: no more events; pending writes are done as far as there is time."""
        await self.flush()
        self._writer.shutdown(wait=False, cancel_futures=True)
        self._over = True
        self._news.set()

    async def read(self) -> AsyncIterator[Event]:
        """Events, each once, until the bus is closed; for one reader."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._over:
                return
            self._news.clear()
            await self._news.wait()


@define
class Persistence:
    """Notes what outlives a supervisor; in a dry run, nothing that affects another one."""

    bus: EventBus
    clock: Callable[[], float]
    directories: dict[str, Path] = field(factory=dict)  # of loops, by target, where they differ from their processes'
    dry_run: bool = False
    reset_total: bool = False  # with each signal
    _stop_files: dict[str, Path | None] = field(factory=dict)
    _halts: set[str] = field(factory=set)  # that are on the disk, or came from there
    _halting: set[str] = field(factory=set)  # that are being written
    _news: dict[str, dict[str, Any]] = field(factory=dict)  # of sessions that changed since the last sweep

    def begin(self, target: str) -> Watched | None:
        """The session with its notes; None, until the next sweep, if they cannot be read."""
        store = self.bus.store
        try:
            watched = Watched.remembered(target, store, self.clock(), self.directories.get(target))
            stop_file = store.stop_file(target) if store else None
        except StoreError as error:
            self.bus.failed(error)
            return None
        self._stop_files[target] = Path(stop_file) if stop_file else None
        if watched.state.halt.halted is not None:
            self._halts.add(target)
        if watched.unresolved:
            why = "a supervisor ended between a press and its outcome"
            self.bus.say("outcome_unknown", target, {"why": why})
        return watched

    def loop(self, watched: Watched, loop: Loop) -> None:
        """Note that this is another session than at the last look, or the first one."""
        target = watched.target
        home = watched.home
        self.bus.keep(lambda store: store.new_loop(target, loop.identity, home))
        if loop.new:
            self.bus.say("loop", target, {})

    def restarts(self, watched: Watched) -> None:
        """Note whether the next identity goes on with its counts: a restart comes, or was cancelled."""
        target, state = watched.target, watched.state
        identity = None if state.adopts else state.identity
        self.bus.keep(lambda store: store.belongs(target, identity))

    def files(self, watched: Watched) -> None:
        """Read the signals of a loop, what holds it, and whether a person released it."""
        target = watched.target
        stamp = watched.new_signal()
        if stamp is not None:
            watched.state = on_signal(watched.state, self.reset_total)
            self.bus.keep(lambda store: store.new_iteration(target, self.reset_total, stamp))
            self.bus.say("iteration", target, {})
        if watched.state.halt.halted is not None:
            if self._let_go(watched):
                self._halts.discard(target)
                self.bus.say("released", target, {"why": "a person released it"})
            else:
                self._keep_halt(watched)
        self._hold(watched)

    def _hold(self, watched: Watched) -> None:
        """Note whether an ``.auto-stop`` holds it; of one that is halted, it need not be known."""
        before, target = watched.state, watched.target
        stop = held(watched.directories, target, self.bus.store) if before.halt.halted is None else None
        now = str(stop) if stop else None
        if now == before.halt.held:
            return
        watched.state = evolve(before, halt=evolve(before.halt, held=now))
        self.news(watched)
        if now is not None:
            self.bus.say("held", target, {"file": now})
        elif before.halt.halted is None:
            self.bus.say("held_over", target, {"file": before.halt.held})

    def halt(self, watched: Watched, reason: str, why: str) -> None:
        """Note that stallkit leaves it alone from now on."""
        facts: dict[str, Any] = {"reason": reason, "why": why}
        if watched.directory is not None and not self.dry_run:
            try:
                facts["file"] = str(write_stop(watched.directory, reason, why, watched.target))
            except StoreError as error:
                facts["file_error"] = str(error)
        file = facts.get("file")
        self._stop_files[watched.target] = Path(file) if file else None
        self._keep_halt(watched)
        self.bus.say("auto_stop", watched.target, facts)

    def _keep_halt(self, watched: Watched) -> None:
        """Write a halt until it is on the disk; one that is not there yet cannot have been released."""
        target, why = watched.target, watched.state.halt.halted
        if self.dry_run or target in self._halts or target in self._halting:
            return
        file = self._stop_files.get(target)

        def kept(well: bool) -> None:
            self._halting.discard(target)
            if well:
                self._halts.add(target)

        self._halting.add(target)
        self.bus.keep(lambda store: store.halt(target, why, str(file) if file else None), kept)

    def _let_go(self, watched: Watched) -> bool:
        """Whether a person ran `stallkit stuck release` since it was halted."""
        store = self.bus.store
        if store is None or self.dry_run or watched.target not in self._halts:
            return False
        try:
            if store.halted(watched.target) is not None:
                return False
        except StoreError:
            return False
        watched.state = watched.state.released()
        return True

    def muted(self, watched: Watched, waited_s: float) -> bool:
        """Whether a person wants no notice of what has been there for so long."""
        try:
            mute = self.bus.store.muted(watched.target) if self.bus.store else None
        except StoreError:
            return False
        return mute is not None and mute.holds(time.time(), time.time() - waited_s)

    def note(self, watched: Watched, before: SessionState) -> None:
        """Note a wait for a limit, for a later supervisor; a dry run leaves no wait behind."""
        target, state, was = watched.target, watched.state.quota, before.quota
        if self.dry_run:
            pass
        elif state.waits and (state.free_at != was.free_at or not was.waits):
            left = None if state.free_at is None else state.free_at - self.clock()
            free_at = None if left is None else time.time() + left
            self.bus.keep(lambda store: store.wait(target, free_at))
        elif was.waits and not state.waits:
            self.bus.keep(lambda store: store.wait_over(target))
        self.news(watched)

    def news(self, watched: Watched) -> None:
        """Note that its status changed since the last sweep."""
        self._news[watched.target] = watched.as_object()

    def swept(self) -> None:
        """Write all changes of a sweep in one note."""
        if self._news:
            news, self._news = self._news, {}
            self.bus.keep(lambda store: store.saw(news))
