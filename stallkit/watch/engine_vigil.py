"""With one container engine: what its events add up to for each session, kept until nobody needs it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from stallkit.errors import TransportError
from stallkit.transports.containers.container_events import Account, Broke
from stallkit.transports.containers.event_stream import ContainerEventStream

__all__ = ["EngineVigil"]


class EngineVigil:
    """Listens from `since` on (seconds of the wall clock), from before the first container of a session."""

    def __init__(self, name: str, environment: tuple[tuple[str, str], ...], since: float) -> None:
        self._accounts: dict[str, Account] = {}
        self._task = asyncio.create_task(self._listen(ContainerEventStream(name, environment, since)))

    def account(self, session: str) -> Account | None:
        """What was heard of the container of this session (its id); None where nothing was."""
        return self._accounts.get(session)

    async def close(self) -> None:
        """Listen no more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, TransportError):
            await self._task

    async def _listen(self, stream: ContainerEventStream) -> None:
        async for event in stream.listen():
            if isinstance(event, Broke):
                self._accounts = {session: account.after(event) for session, account in self._accounts.items()}
            else:
                self._accounts[event.session] = self._accounts.get(event.session, Account()).after(event)
