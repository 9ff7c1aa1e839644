"""What tmux reports of a session's pane: whether it exists, how its program ended, and what it showed.

Each look is one call of tmux, by the pane's number, and counts only if the same process on the same server has the
pane.  A pane is *gone* only after two looks that agree, and never while its server does not answer.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from enum import StrEnum
from typing import Iterable, Sequence

from attrs import evolve, frozen

from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.text import strip
from stallkit.transports.base import Presence
from stallkit.transports.tmux.call import NoSessions, Server, ServerExited, TmuxSession, lost_socket
from stallkit.transports.tmux.format import Frame, fields_of, lines_of, look_commands, screen_of, snapshot_of
from stallkit.transports.tmux.identity import Identity
from stallkit_sessions.panes import ENDED, Pane, panes_of

LINES = 200  # of a screen with its history
STATUS_S = 0.2  # for tmux to collect the exit status of a dead pane's program: docs/tmux.md
_AGAIN_S = 0.02
# What tmux before 3.3 writes into a dead pane; since then it is the option `remain-on-exit-format`.
_FAREWELL = re.compile(r"Pane is dead \((status|signal) \d+, \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\)")


class ServerEnd(StrEnum):
    """What became of a tmux server."""

    LIVES = "lives"
    ENDED = "ended"  # in order: it took leave of its clients
    CRASHED = "crashed"  # its clients lost it
    GONE = "gone"  # it is not there, and no client saw its end
    UNSEEN = "unseen"


@frozen
class PaneFacts:
    """What tmux reports of the pane."""

    place: Presence
    dead: bool = False
    code: int | None = None  # pane_dead_status
    signal: int | None = None  # pane_dead_signal


@frozen
class PaneLook:
    """What tmux reports of a session's pane, and of itself, at one moment."""

    facts: PaneFacts
    server: ServerEnd  # LIVES, GONE or UNSEEN: only `server_watch` knows how it ended
    why: str = ""  # where the pane is gone, or looking failed
    replaced: bool = False  # gone, since its pane has another process in it, by respawn-pane
    identity: str = ""  # where the pane exists
    snapshot: Snapshot | None = None
    lines: tuple[str, ...] = ()  # the last ones, history included, wrapped rows joined, without tmux' own line
    line_count: int | None = None  # rows of the history and of the screen, up to the last that is not blank


def facts(session: TmuxSession, lines: int = LINES) -> PaneLook:
    """What tmux reports now of a session of this boot, with its screen and its last `lines`.

    Waits up to `STATUS_S` for the status of a dead pane; after that an unknown status is None, not 0.  Never raises for
    external failures; ValueError for a session without an identity (`panes.find` may find it).
    """
    server, identity = Server.of(session), Identity.of(session.identity)
    found = _look(session, server, lines)
    if found.facts.place is Presence.GONE:
        found = _listed([session], server)[session.id]
        if found.facts.place is Presence.THERE:
            found = _look(session, server, lines)
    for _ in range(round(STATUS_S / _AGAIN_S)):
        if not found.facts.dead or found.facts.code is not None or found.facts.signal is not None:
            break
        stat = identity.uncollected()
        if stat is not None:  # it runs without its terminal, or tmux missed the signal of its end
            if stat.state == "Z":
                with suppress(TransportError):  # another child that ends has the server collect this one, too
                    server.run(f"tmux:{session.name}", ["run-shell", "-b", ":"])
            time.sleep(_AGAIN_S)
        found = _look(session, server, lines)
        if stat is None:  # tmux has collected it, so what it does not report now, it never will
            break
    return found


def many(sessions: Iterable[TmuxSession]) -> dict[str, PaneLook]:
    """What tmux reports now of each session of this boot, by its id, without screens: one or two calls a server.

    A pane that has just ended may not have its status yet: `facts` waits for it.  Raises as `facts` does.
    """
    found: dict[str, PaneLook] = {}
    servers: dict[Server, list[TmuxSession]] = {}
    for session in sessions:
        servers.setdefault(Server.of(session), []).append(session)
    for server, own in servers.items():
        found |= _listed(own, server)
        missing = [session for session in own if found[session.id].facts.place is Presence.GONE]
        if missing:
            found |= _listed(missing, server)
    return found


def _look(session: TmuxSession, server: Server, count: int) -> PaneLook:
    target, pane, frame = f"tmux:{session.name}", Identity.of(session.identity).pane, Frame()
    try:
        answer = server.run(
            target,
            *look_commands(pane, frame, ENDED, "#{T:remain-on-exit-format}"),
            frame.end,
            ["capture-pane", "-p", "-t", pane, "-J", "-S", f"-{count}"],
            frame.end,
        )
        numbers, command, title, ended, farewell, captured, history = frame.parts(answer)
        fields = fields_of(numbers) | {"pane_current_command": command}
        rows = lines_of(captured)
        snapshot = snapshot_of(fields, screen_of(fields, title, rows), target, time.monotonic())
    except (SessionGone, NoSessions, ServerExited) as error:
        return _gone(error.why, ServerEnd.UNSEEN)
    except TransportError as error:
        return _unseen(error)
    except ValueError as error:
        return _unseen(TransportError(target, str(error), "see whether tmux answers by hand"))
    found = _of_pane(session, Identity.of(snapshot.identity), snapshot.alive is False, ended)
    if found.facts.place is not Presence.THERE:
        return found
    rows = [strip(row) for row in rows[: int(fields["pane_height"])]]
    written = _written(found.facts, rows, farewell[: int(fields["pane_width"])].rstrip())
    lines = _without(lines_of(history), written)
    total = int(fields["history_size"]) + len(_without(rows, written)) if lines else 0
    return evolve(found, snapshot=snapshot, lines=tuple(lines[-count:]), line_count=total)


def _listed(sessions: Sequence[TmuxSession], server: Server) -> dict[str, PaneLook]:
    try:
        panes = panes_of(server)
    except TransportError as error:
        return {session.id: _unseen(error) for session in sessions}
    by_number = {pane.identity.pane: pane for pane in panes or ()}
    found = {}
    for session in sessions:
        identity = Identity.of(session.identity)
        pane = by_number.get(identity.pane)
        if pane is not None:
            found[session.id] = _of_pane(session, pane.identity, pane.dead, pane.ended)
        elif panes is not None and _same_server(panes, session):
            found[session.id] = _gone(f"its tmux server has no pane {identity.pane}", ServerEnd.LIVES)
        else:
            found[session.id] = _elsewhere(session)
    return found


def _same_server(panes: Sequence[Pane], session: TmuxSession) -> bool:
    """Whether the server that has these panes is the one that a session was started on."""
    identity = Identity.of(session.identity)
    return panes[0].identity.server == identity.server if panes else identity.server_lives(session.pane_started)


def _of_pane(session: TmuxSession, identity: Identity, dead: bool, ended: str) -> PaneLook:
    """The look at a session by the pane that has its number."""
    own = Identity.of(session.identity)
    if identity == own:
        code, number = [int(value) if value and dead else None for value in ended.split(",")]
        return PaneLook(PaneFacts(Presence.THERE, dead, code, number), ServerEnd.LIVES, identity=str(identity))
    if identity.server == own.server:
        why = f"its pane {own.pane} has another process now, {identity.pid}"
        return _gone(why, ServerEnd.LIVES, replaced=True)
    return _elsewhere(session)


def _elsewhere(session: TmuxSession) -> PaneLook:
    """The look at a session whose server does not answer on its socket: gone if the server has ended, else unseen."""
    identity = Identity.of(session.identity)
    if identity.server_lives(session.pane_started):
        return _unseen(lost_socket(f"tmux:{session.name}", identity.server.pid))
    return _gone("its tmux server is not there", ServerEnd.GONE)


def _gone(why: str, server: ServerEnd, replaced: bool = False) -> PaneLook:
    return PaneLook(PaneFacts(Presence.GONE), server, why, replaced)


def _unseen(error: TransportError) -> PaneLook:
    return PaneLook(PaneFacts(Presence.UNSEEN), ServerEnd.UNSEEN, error.why)


def _written(known: PaneFacts, rows: Sequence[str], format_says: str) -> str:
    """The line that tmux writes at the bottom of a dead pane once it knows how the program ended."""
    if not known.dead:
        return ""
    if format_says:
        return format_says if (known.code, known.signal) != (None, None) else ""
    old = _FAREWELL.search(rows[-1]) if rows else None
    return old[0] if old else ""


def _without(lines: Sequence[str], written: str) -> list[str]:
    """The lines without the text that tmux wrote at their end, perhaps on the last line, nor blank ones."""
    kept = [line.rstrip() for line in lines]
    if written and kept:
        kept[-1] = kept[-1].removesuffix(written).rstrip()
    while kept and not kept[-1]:
        kept.pop()
    return kept
