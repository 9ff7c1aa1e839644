"""What tests of the service share: sessions in memory, and `serve` in this process."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, Callable, Sequence

from attrs import evolve
from stallkit_supervisor.service import serve
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.settings import Settings
from stallkit_supervisor.sources import SourceLook
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, KEY, PATIENCE_S

from stallkit import Engine
from stallkit.errors import SessionGone
from stallkit.evidence.snapshot import TtyFacts
from stallkit.press.events import Event
from stallkit.terminal.screen import Screen
from stallkit.testing import MemoryTransport
from stallkit.transports.base import Transport

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NOBODY = (signal.SIG_DFL, signal.default_int_handler)
ASKS = "Press any key to continue..."


class Lasting(MemoryTransport):
    """A session in memory that outlives those who let go of it."""

    def close(self) -> None:
        """It goes on."""


def asking(pressed: Callable[[bytes], Screen | None]) -> Lasting:
    """A session that waits for a key."""
    made = Lasting(Screen.from_text(ASKS, cursor=(len(ASKS), 0), size=(80, 24)), pressed, "memory:one", "bash")
    made.now = evolve(made.now, tty=TtyFacts(False, False))
    return made


class Sessions:
    """Sessions in memory, as a source of looks; `closed` tells whether the supervisor let go of them."""

    def __init__(self, *transports: MemoryTransport) -> None:
        self.transports = {one.target: one for one in transports}
        self.closed = False

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        found = []
        for target, transport in self.transports.items():
            try:
                found.append(SourceLook(target, transport.capture()))
            except SessionGone as error:
                found.append(SourceLook(target, error))
        return found

    def open(self, target: str) -> Transport:
        return self.transports[target]

    async def close(self) -> None:
        self.closed = True


class Service:
    """`serve` in this process; what it said, and what it complained of."""

    def __init__(self, engine: Engine, *transports: MemoryTransport) -> None:
        self.sessions = Sessions(*transports)
        self.supervisor = Supervisor(policy=WatchConfig(KEY, EAGER), sources=[self.sessions], engine=engine)
        self.events: list[Event] = []
        self.told: list[str] = []
        self.handled: set[signal.Signals] = set()  # when it had ended
        self.tasks = 0

    def serve(self, on: dict[str, Callable[[], object]], **given: Any) -> list[str]:
        """The names of its events, but that there is no session; those of a name in `on` are answered so."""

        def each(event: Event) -> None:
            self.events.append(event)
            on.get(event.name, lambda: None)()

        async def whole() -> None:
            settings = given.pop("settings", Settings())
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await serve(self.supervisor, each, settings, tell=self.told.append, **given)
            finally:
                self.handled = {number for number in SIGNALS if signal.getsignal(number) not in NOBODY}
                self.tasks = len(asyncio.all_tasks()) - 1

        asyncio.run(whole())
        return [event.name for event in self.events if event.name != "no_session"]


def kill(number: int) -> Callable[[], None]:
    """Sends this process a signal."""
    return lambda: os.kill(os.getpid(), number)
