"""What a supervisor says: to whoever reads its events, to hooks, and to the store, none of which may stop it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, AsyncIterator, Callable, Iterable

from stallkit.errors import StallkitError, StoreError
from stallkit.watch.events import Event
from stallkit.watch.store import Store

__all__ = ["Hook", "Journal"]

HELD = 10_000  # events that wait for a reader; older ones are let go
ROUTINE = frozenset({"detection", "start", "stop", "iteration"})  # no incidents
Hook = Callable[[Event], None]


class Journal:
    """Takes events, and what is to be known again after a restart; `unkept` counts what could not be written down."""

    def __init__(self, store: Store | None, hooks: Iterable[Hook]) -> None:
        self.store, self._hooks = store, list(hooks)
        self._events: deque[Event] = deque(maxlen=HELD)
        self._news, self._over = asyncio.Event(), False
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
            except Exception as error:  # somebody else's code may not end the watch
                self.failed(StallkitError("hook", repr(hook), repr(error), "mend it"))

    def keep(self, write: Callable[[Store], object]) -> None:
        """Write something down, if there is a store, and as far as it can be."""
        if self.store is not None:
            try:
                write(self.store)
            except StoreError as error:
                self.failed(error)

    def failed(self, error: StallkitError) -> None:
        """Something could not be written down: it is said once, or it would be said for ever."""
        self.unkept += 1
        if self.unkept == 1:
            self.say("not_recorded", "", {"why": str(error)})

    def close(self) -> None:
        """Nothing will be said any more."""
        self._over = True
        self._news.set()

    async def read(self) -> AsyncIterator[Event]:
        """Events, each once, until nothing will be said any more; for one reader."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._over:
                return
            self._news.clear()
            await self._news.wait()
