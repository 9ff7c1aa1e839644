"""The facts on a session right now: from tmux on its pane, from its container runtime on its container.

A process that watched the end knows more, and passes it in: how a tmux server ended, what a runtime reported.
"""

from __future__ import annotations

import time
from typing import Any, Iterable

from attrs import evolve, frozen

from stallkit.errors import TransportError
from stallkit.probes.procfs import Process, boot_id
from stallkit.transports.tmux.identity import Identity
from stallkit_sessions.containers.container_events import Account, ContainerFacts
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.end_facts import PaneLook, ServerEnd, facts, many
from stallkit_sessions.explain import EndFacts
from stallkit_sessions.finalize import EndedSession
from stallkit_sessions.model import Session
from stallkit_sessions.panes import START_S, find
from stallkit_sessions.register import Register, RunningSession

ORPHAN_S = START_S + 2.0  # the tmux client of a killed start may still carry it out


@frozen
class Heard:
    """The facts on an end that only a process that watched the session has."""

    server: ServerEnd | None = None
    container: Account | None = None


NOTHING = Heard()


def look(living: RunningSession, heard: Heard = NOTHING) -> EndedSession:
    """The facts on one session, running or not; never raises for failures of tmux or a runtime."""
    return _joined(living, facts(living.session), heard)


def look_at_all(livings: Iterable[RunningSession]) -> list[EndedSession]:
    """The same for many at once, in a few calls; screens only of dead ones."""
    livings = list(livings)
    looks = many([living.session for living in livings])
    return [
        look(living) if looks[living.session.id].facts.dead else _joined(living, looks[living.session.id], NOTHING)
        for living in livings
    ]


def _joined(living: RunningSession, pane: PaneLook, heard: Heard) -> EndedSession:
    session = living.session
    container, described = _container(session, heard)
    server = pane.server
    if server is ServerEnd.GONE and heard.server is not None:
        server = heard.server
    return EndedSession(
        living=living,
        facts=EndFacts(
            pane=pane.facts,
            server=server,
            container=container,
            order=living.order,
            same_boot=not session.boot or session.boot == boot_id(),
            program_lives=_lives(session),
            respawned=pane.replaced,
        ),
        screen=pane.lines or None,
        lines=pane.line_count,
        container=described,
    )


def _container(session: Session, heard: Heard) -> tuple[ContainerFacts | None, dict[str, Any] | None]:
    runtime = runtime_of(session)
    if runtime is None or session.container is None:
        return None, None
    found = runtime.facts(session.container, heard.container)
    if "--rm" in session.engine_options:  # it removes itself, and cannot be asked
        found = evolve(found, removes_itself=True)
    try:
        return found, runtime.state(session.container)
    except TransportError:
        return found, None


def _lives(session: Session) -> bool | None:
    """Whether the process of the pane still runs, by its pid and its start."""
    if not session.identity or session.pane_started is None:
        return None
    return Process(Identity.of(session.identity).pid, session.pane_started).alive()


def adopt(register: Register, living: RunningSession) -> bool:
    """Whether a session runs, by the register; one whose start was killed half-way is bound, or given up.

    Raises StoreError.
    """
    if living.bound:
        return True
    session = living.session
    if living.claimed_by.alive():
        return False
    try:
        found = find(session.id, session.options)
    except TransportError:
        return False
    if found is not None:
        register.bound(session.id, *found)
    elif time.time() - session.started_at > ORPHAN_S:
        register.abandon(session.id)
    return False  # the next look has it
