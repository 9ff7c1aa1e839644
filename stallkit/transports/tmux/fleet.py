"""Every pane of one tmux server, looked at in a few calls: a list, then those panes in which something happened.

Plain clients, a fresh one for each call: nothing stays connected, so nothing is to be reconnected, and a server that
stopped or ended costs one deadline and nothing else.  Why not one client in control mode: `transports.tmux.call`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Callable, Collection, Mapping, Sequence

from attrs import field, frozen

from stallkit.core.verdict import Snapshot
from stallkit.errors import SessionGone, TransportError
from stallkit.probes.procfs import Process
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import NoServer, NoSessions, Server, failure, lost_socket
from stallkit.transports.tmux.fleet_format import Listed, Look, Row, Said, listed, looks, to_list, to_look
from stallkit.transports.tmux.format import Frame
from stallkit.transports.tmux.identity import Identity

__all__ = ["Fleet", "Row", "Sweep"]

BATCH = 100  # panes in one call: the server does nothing else meanwhile, some 30 ms
_STEP_S = 0.5  # by which a wall clock that was set moves at least; time servers slew by less


@frozen
class Sweep:
    """What one sweep over a server found."""

    rows: tuple[Row, ...] = field(repr=False)  # every pane there is
    looks: dict[str, Snapshot | TransportError] = field(repr=False)  # by pane id: captured now; an error is its own
    unchanged: frozenset[str] = field(repr=False)  # pane ids: wanted, and nothing was printed since the last capture
    gone: tuple[Row, ...] = ()  # missing in two sweeps in a row; told once


@frozen
class _Held:
    """The latest look at a pane; `settled` where whatever is printed after it shows in `window_activity`."""

    look: Look
    settled: bool


@frozen
class _Known:
    """What one sweep leaves to the next."""

    listed: Mapping[Said, Listed] = field(factory=dict)
    held: Mapping[str, _Held] = field(factory=dict)  # by pane id
    missing: Mapping[Identity, Row] = field(factory=dict)  # not there, once
    server: Process | None = None  # a socket can be lost while its server lives on
    drift: float | None = None  # of the wall clock against the monotonic one


def _every(row: Row) -> bool:
    return True


class Fleet:
    """All panes of the tmux server that `options` name; it need not run, and is never started.

    `clock` gives the time of a look (`Snapshot.taken_at`), in seconds.  A fleet belongs to one event loop.
    """

    def __init__(
        self,
        options: Options | None = None,
        binary: str = "tmux",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = Server(options or Options(), binary)
        self.target = self._server.name
        self._clock = clock
        self._known = _Known()
        self._one = asyncio.Lock()
        self._closed = False

    async def sweep(self, wanted: Callable[[Row], bool] = _every, fresh: Collection[str] = ()) -> Sweep:
        """Look at the wanted panes where something happened since the last sweep, and at those in `fresh` (pane ids).

        Snapshots are what `TmuxTransport` sees in its first look; the kernel is not asked (`probes.process.probed`).
        Where a pane shows the very same, its screen is the same object as before.

        Raises CaptureTimeout, TransportUnavailable or another TransportError where nobody could look.  Then nothing is
        forgotten, and the next sweep tells what this one would have told.  A server that is not there has no panes.
        """
        async with self._one:
            sweep, self._known = await self._swept(wanted, fresh)
        return sweep

    async def close(self) -> None:
        """No sweep from now on; a sweep that runs comes to its end first."""
        async with self._one:
            self._closed, self._known = True, _Known()

    async def _swept(self, wanted: Callable[[Row], bool], fresh: Collection[str]) -> tuple[Sweep, _Known]:
        if self._closed:
            raise TransportError(self.target, "this fleet was closed", "open another")
        before = self._known
        drift = time.time() - time.monotonic()
        stepped = before.drift is not None and abs(drift - before.drift) > _STEP_S
        lines = await self._list()
        panes: dict[str, Listed] = {}
        for line in lines.values():
            panes.setdefault(line.row.pane, line)  # a window that is in several sessions is listed once for each
        chosen, held = [], {}
        for pane, line in panes.items():
            if wanted(line.row):
                was = before.held.get(pane)
                if was and was.settled and was.look.state == line.state and not stepped and pane not in fresh:
                    held[pane] = was
                else:
                    chosen.append(line.row)
        unchanged = frozenset(held)
        last = {pane: one.look for pane, one in before.held.items()}
        seen: dict[str, Snapshot | TransportError] = {}
        for start in range(0, len(chosen), BATCH):
            seen |= await self._look(chosen[start : start + BATCH], last, held)
        rows = tuple(line.row for line in panes.values())
        gone, missing = _missing(rows, before)
        server = rows[0].identity.server.process() if rows else before.server
        return Sweep(rows, seen, unchanged, gone), _Known(lines, held, missing, server, drift)

    async def _list(self) -> dict[Said, Listed]:
        frame = Frame()
        answer = await self._server.answer(to_list(frame))
        if answer.status:
            error = failure(self.target, answer.complaints, answer.status)
            server = self._known.server
            if isinstance(error, NoServer) and server is not None and server.alive():
                raise lost_socket(self.target, server.pid)
            if isinstance(error, (SessionGone, NoSessions)):
                return {}
            raise error
        try:
            return listed(answer.text, frame, self._known.listed)
        except ValueError as error:
            raise TransportError(self.target, str(error), "see whether tmux answers by hand") from error

    async def _look(
        self, rows: Sequence[Row], last: Mapping[str, Look], held: dict[str, _Held]
    ) -> dict[str, Snapshot | TransportError]:
        """What these panes show, or why nobody knows; what is known is put among `held` for the next sweep."""
        frame = Frame()
        began = int(time.time())
        commands = to_look([row.pane for row in rows], frame)
        answer = await self._server.answer(["source-file", "-"], commands)
        over = int(time.time())
        try:
            found = looks(answer.text, frame, self._clock(), last)
        except ValueError as error:  # the exit status tells nothing: it is 1 where only one pane ended
            why = answer.complaints.strip() or str(error)
            raise TransportError(self.target, why, "see whether tmux answers by hand") from error
        seen: dict[str, Snapshot | TransportError] = {}
        for row in rows:
            look = found.get(row.pane)
            if not isinstance(look, Look):
                why = "it ended while it was looked at" if look is None else str(look)
                seen[row.pane] = TransportError(row.target, why, "look again")
            elif look.snapshot.identity != str(row.identity):
                seen[row.pane] = TransportError(row.target, "another process has its place now", "look again")
            else:
                seen[row.pane] = look.snapshot
                # What is printed later in the same second leaves `window_activity` as it is.
                held[row.pane] = _Held(look, settled=not began <= look.activity <= over)
        return seen


def _missing(rows: Collection[Row], before: _Known) -> tuple[tuple[Row, ...], dict[Identity, Row]]:
    """Who is gone for good, and who is missing for the first time, by identity."""
    there = {row.identity for row in rows}
    gone = tuple(row for identity, row in before.missing.items() if identity not in there)
    missing = {}
    for line in before.listed.values():
        if line.row.identity not in there:
            missing[line.row.identity] = line.row
    return gone, missing
