"""Every pane of one tmux server, looked at in a few calls: a list, then the panes in which something happened.

Each call is a plain client of its own: nothing stays connected, so nothing has to be reconnected, and a server that
stopped or ended costs one deadline at most.  `transports.tmux.call` says why there is no client in control mode.
"""

from __future__ import annotations

import asyncio
import time
from typing import Callable, Collection, Mapping, Sequence

from attrs import field, frozen

from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import Process
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import NoServer, NoSessions, Server, failure, lost_socket
from stallkit.transports.tmux.fleet_format import Listed, Look, Row, Said, listed, looks, to_list, to_look
from stallkit.transports.tmux.format import Frame
from stallkit.transports.tmux.identity import Identity

__all__ = ["Fleet", "Row", "Sweep"]

BATCH = 100  # panes in one call, which blocks the server for about 30 ms
_STEP_S = 0.5  # a wall clock that jumps at least this much was set; time servers slew by less


@frozen
class Sweep:
    """What one sweep over a server found."""

    rows: tuple[Row, ...] = field(repr=False)  # every pane there is
    looks: dict[str, Snapshot | TransportError] = field(repr=False)  # by pane id: captured now, or the pane's error
    unchanged: frozenset[str] = field(repr=False)  # pane ids: wanted, and nothing was printed since the last capture
    gone: tuple[Row, ...] = ()  # missing in two sweeps in a row; reported once


@frozen
class _Held:
    """The latest look at a pane; `settled` where later output is sure to change `window_activity`."""

    look: Look
    settled: bool


@frozen
class _Known:
    """What one sweep keeps for the next."""

    listed: Mapping[Said, Listed] = field(factory=dict)
    held: Mapping[str, _Held] = field(factory=dict)  # by pane id
    missing: Mapping[Identity, Row] = field(factory=dict)  # missing in one sweep
    server: Process | None = None  # a socket can be lost while its server still runs
    drift: float | None = None  # of the wall clock against the monotonic one


def _every(row: Row) -> bool:
    return True


class Fleet:
    """All panes of the tmux server that `options` name; it need not be running, and is never started.

    `clock` gives the time of a look (`Snapshot.taken_at`), in seconds.  A fleet belongs to one event loop.
    """

    def __init__(
        self, options: Options | None = None, binary: str = "tmux", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = Server(options or Options(), binary)
        self.target = self._server.name
        self._clock = clock
        self._known = _Known()
        self._lock = asyncio.Lock()
        self._closed = False

    async def sweep(self, wanted: Callable[[Row], bool] = _every, fresh: Collection[str] = ()) -> Sweep:
        """Look at the wanted panes where something happened since the last sweep, and at those in `fresh` (pane ids).

        Snapshots are those of a first look of `TmuxTransport`, without kernel facts (`foreground.probed`).  Where
        a pane shows the same as before, its screen is the same object.

        Raises CaptureTimeout, TransportUnavailable or another TransportError where looking failed.  Then no state
        changes, and the next sweep reports what this one missed.  A server that does not run has no panes.
        """
        async with self._lock:
            sweep, self._known = await self._swept(wanted, fresh)
        return sweep

    async def close(self) -> None:
        """Allow no more sweeps; a running sweep is finished first."""
        async with self._lock:
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
            panes.setdefault(line.row.pane, line)  # a window in several sessions is listed once for each
        chosen, held = [], {}
        for pane, line in panes.items():
            if wanted(line.row):
                was = before.held.get(pane)
                if was and was.settled and was.look.state == line.state and not stepped and pane not in fresh:
                    held[pane] = was
                else:
                    chosen.append(line.row)
        unchanged = frozenset(held)
        last = {pane: was.look for pane, was in before.held.items()}
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
        """What these panes show, or why that is unknown; looks are added to `held` for the next sweep."""
        frame = Frame()
        began = int(time.time())
        commands = to_look([row.pane for row in rows], frame)
        answer = await self._server.answer(["source-file", "-"], commands)
        over = int(time.time())
        try:
            found = looks(answer.text, frame, self._clock(), last)
        except ValueError as error:  # the exit status is no help: it is 1 where only one pane ended
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
                # Output later in the same second does not change `window_activity`.
                held[row.pane] = _Held(look, settled=not began <= look.activity <= over)
        return seen


def _missing(rows: Collection[Row], before: _Known) -> tuple[tuple[Row, ...], dict[Identity, Row]]:
    """The panes that are gone, and those missing for the first time, by identity."""
    present = {row.identity for row in rows}
    gone = tuple(row for identity, row in before.missing.items() if identity not in present)
    missing = {}
    for line in before.listed.values():
        if line.row.identity not in present:
            missing[line.row.identity] = line.row
    return gone, missing
