"""The events of a supervisor on their way to a reader, to hooks and to the store; none of them can stop it.

Writes go through one thread, in order, so a store that another process holds delays no look.  The supervisor calls
`flush` before it acts, so that no key overtakes a halt.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, AsyncIterator, Callable, Iterable

from stallkit.errors import StallkitError, StoreError
from stallkit.press.events import Event
from stallkit_supervisor.store import Store

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
