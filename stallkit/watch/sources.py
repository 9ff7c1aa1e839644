"""Where a supervisor's looks come from: sessions by their transports, each in a thread of its own."""

from __future__ import annotations

import asyncio
from typing import Callable, Protocol, Sequence

from attrs import frozen

from stallkit.core.verdict import Snapshot
from stallkit.errors import SessionGone, TransportError
from stallkit.transports.base import Options, Transport, open_target

__all__ = ["Sighting", "Source", "Transports"]


@frozen
class Sighting:
    """One look at one session: None where nothing is new; or why there is none, SessionGone where it is no more."""

    target: str
    found: Snapshot | TransportError | None


class Source(Protocol):
    """Sessions that are looked at together."""

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[Sighting]:
        """One look at each session, or, where a look is dear, at those that are `due`.

        Raises TransportError where none could be looked at: a server that is stopped, say.
        """

    def open(self, target: str) -> Transport:
        """A transport to act on one of them through; the caller closes it."""

    async def close(self) -> None:
        """Let go of everything."""


class Transports:
    """Sessions of any kind, each by a transport of its own."""

    def __init__(self, targets: Sequence[str], options: Options | None = None) -> None:
        """Raises ValueError for a target that cannot be read."""
        self._options = options
        self._open: dict[str, Transport] = {target: open_target(target, options) for target in targets}

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[Sighting]:
        targets = [target for target in self._open if due(target)]
        return await asyncio.gather(*(asyncio.to_thread(self._look, target) for target in targets))

    def open(self, target: str) -> Transport:
        return open_target(target, self._options)

    async def close(self) -> None:
        for transport in self._open.values():
            transport.close()

    def _look(self, target: str) -> Sighting:
        transport = self._open[target]
        try:
            return Sighting(target, transport.capture())
        except SessionGone as error:
            self._open[target] = open_target(target, self._options)  # another may take its name
            transport.close()
            try:
                return Sighting(target, self._open[target].capture())
            except TransportError as again:
                return Sighting(target, again if isinstance(again, SessionGone) else error)
        except TransportError as error:
            return Sighting(target, error)
