"""Every pane of one tmux server, looked at in a few calls: a list, then the panes in which something happened.

Each call is a plain client of its own: nothing stays connected, so nothing has to be reconnected, and a server that
stopped or ended costs one deadline at most.  `transports.tmux.call` says why there is no client in control mode.  How
the commands are written and their answers read is pure; `format.Frame` separates the parts of an answer.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import Process
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import NoServer, NoSessions, Server, failure, lost_socket
from stallkit.transports.tmux.format import (
    DRAWN,
    LOOK,
    PRINTED,
    Frame,
    fields_of,
    identity_of,
    lines_of,
    look_commands,
    screen_of,
    snapshot_of,
)
from stallkit.transports.tmux.identity import Identity

_PLACE = ("#{window_index},#{pane_index}", "#{session_name}")
_ANY = "%ANY"  # stands for a pane
_PARTS = len(LOOK) + len(_PLACE)  # of the line of one pane; the captures follow it


BATCH = 100  # panes in one call, which blocks the server for about 30 ms
_STEP_S = 0.5  # a wall clock that jumps at least this much was set; time servers slew by less

Said = tuple[str, ...]  # the parts of one line


@frozen
class Row:
    """One pane of a server: its process, and when its window last had output."""

    name: str  # "session:window.pane", for people
    session: str
    window: int
    index: int
    identity: Identity
    activity: int  # seconds of the server's wall clock
    dead: bool
    tty: str  # the path of its terminal

    @property
    def pane(self) -> str:
        """Its number: "%3"."""
        return self.identity.pane

    @property
    def target(self) -> str:
        """Its own target: "tmux:%3"."""
        return f"tmux:{self.pane}"


@frozen
class Sweep:
    """What one sweep over a server found."""

    rows: tuple[Row, ...] = field(repr=False)  # every pane there is
    looks: dict[str, Snapshot | TransportError] = field(repr=False)  # by pane id: captured now, or the pane's error
    unchanged: frozenset[str] = field(repr=False)  # pane ids: wanted, and nothing was printed since the last capture
    gone: tuple[Row, ...] = ()  # missing in two sweeps in a row; reported once


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

        Snapshots are those of a first look of `TmuxTransport`, without kernel facts (`foreground_job.probed`).  Where
        a pane shows the same as before, its screen is the same object.

        Raises CaptureTimeout, TransportUnavailable or another TransportError if looking failed.  Then no state
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
        self, rows: Sequence[Row], last: Mapping[str, Look], held: dict[str, _LastLook]
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
                held[row.pane] = _LastLook(look, settled=not began <= look.activity <= over)
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


@frozen
class _LastLook:
    """The latest look at a pane; `settled` where later output is sure to change `window_activity`."""

    look: Look
    settled: bool


@frozen
class _Known:
    """What one sweep keeps for the next."""

    listed: Mapping[Said, Listed] = field(factory=dict)
    held: Mapping[str, _LastLook] = field(factory=dict)  # by pane id
    missing: Mapping[Identity, Row] = field(factory=dict)  # missing in one sweep
    server: Process | None = None  # a socket can be lost while its server still runs
    drift: float | None = None  # of the wall clock against the monotonic one


@frozen
class Listed:
    """A row, and what tmux reports of the pane except its place: equal while nothing is printed, pressed or resized."""

    row: Row
    state: Said


@frozen
class Look:
    """One look at a pane, and its state as in a list of the same moment."""

    snapshot: Snapshot
    state: Said
    activity: int
    drawn_from: Said  # all values that the screen was made from


# --- the commands, and how their answers are read ---


def to_list(frame: Frame) -> list[str]:
    """The words of the call that lists every pane."""
    return ["list-panes", "-a", "-F", frame.line(*LOOK, *_PLACE), ";", *frame.end]


def to_look(panes: Iterable[str], frame: Frame) -> str:
    """The commands that look at these panes, one a line; a server carries them all out at one moment."""
    # No word has a quote in it.
    one = "".join([f"{shlex.join(command)}\n" for command in look_commands(_ANY, frame, *_PLACE)])
    return "".join([*[one.replace(_ANY, pane) for pane in panes], f"{shlex.join(frame.end)}\n"])


def listed(answer: str, frame: Frame, before: Mapping[Said, Listed]) -> dict[Said, Listed]:
    """Every pane in the answer to `to_list`; a pane with the same line as `before` is taken from there.

    Raises ValueError for an answer that was cut, or is invalid.
    """
    return {parts: before.get(parts) or _listed(parts) for parts, _ in _panes(answer, frame)}


def looks(answer: str, frame: Frame, taken_at: float, before: Mapping[str, Look]) -> dict[str, Look | ValueError]:
    """The looks in the answer to `to_look`, by pane, or why one cannot be read; missing panes are left out.

    A screen made from the same values as before is the same object.  Raises ValueError for an answer that was cut.
    """
    found: dict[str, Look | ValueError] = {}
    for parts, captured in _panes(answer, frame):
        _, _, pane, pid, *_ = [*parts[0].split(","), "", "", "", ""]
        if not pid:  # there is no such pane, which display-message does not report
            continue
        try:
            found[pane] = _look(parts, captured, taken_at, before.get(pane))
        except ValueError as error:
            found[pane] = error
    return found


def _panes(answer: str, frame: Frame) -> Iterator[tuple[Said, str]]:
    """The line of each pane, and what follows it."""
    parts = frame.parts(answer)
    if len(parts) % (_PARTS + 1):
        raise ValueError(f"tmux answered {len(parts)} parts")
    for start in range(0, len(parts), _PARTS + 1):
        yield tuple(parts[start : start + _PARTS]), parts[start + _PARTS]


def _listed(parts: Said) -> Listed:
    numbers, _, _, place, session = parts
    window, index = map(int, place.split(","))
    fields = fields_of(numbers)
    row = Row(
        name=f"{session}:{window}.{index}",
        session=session,
        window=window,
        index=index,
        identity=identity_of(fields),
        activity=int(fields[PRINTED]),
        dead=fields["pane_dead"] == "1",
        tty=fields["pane_tty"],
    )
    return Listed(row, _state(parts))


def _look(parts: Said, captured: str, taken_at: float, before: Look | None) -> Look:
    numbers, command, title, *_ = parts
    fields = fields_of(numbers) | {"pane_current_command": command}
    drawn_from = (captured, title, *[fields[name] for name in DRAWN])
    if before is not None and before.drawn_from == drawn_from:
        screen = before.snapshot.screen
    else:
        lines = lines_of(captured)
        rows = int(fields["pane_height"])
        if not rows < len(lines) <= 2 * rows:
            raise ValueError(f"tmux answered {len(lines)} lines for a screen of {rows}")
        screen = screen_of(fields, title, lines)
    snapshot = snapshot_of(fields, screen, f"tmux:{fields['pane_id']}", taken_at)
    return Look(snapshot, _state(parts), int(fields[PRINTED]), drawn_from)


def _state(parts: Said) -> Said:
    """The part that a list and a look share: a window may be in several sessions, and have another name in each."""
    return parts[: len(LOOK)]
