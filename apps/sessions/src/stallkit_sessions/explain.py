"""Why a session ended, from the reports of its witnesses; how long to wait for them; what to do next.  Pure.

This is the only place that trusts an exit code, and only from a witness that knows it.  The runtime of a container goes
before the client in the pane: a detached client exits with 0 while the container runs on, one that lost its daemon with
125, one that got a signal with 128 and more (each runtime's codes: docs/sessions.md).

An end stays unexplained for a moment: tmux learns an exit status after the terminal closed, a container runtime reports
a container's end after its client's, and the client that waits with a tmux server ends after the sessions are gone.  A
record written too soon would have *unknown* where the cause could be known.
"""

from __future__ import annotations

import shlex
import signal

from attrs import frozen

from stallkit.redact.redact import MASK
from stallkit.transports.base import Presence
from stallkit_sessions.containers.container_events import ContainerFacts
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.end_facts import PaneFacts, ServerEnd
from stallkit_sessions.model import (
    CRASHED,
    DROP,
    STOPPED,
    Cause,
    ExitRecord,
    Order,
    Session,
    Source,
    Status,
    signal_name,
)

# Exit codes of docker run and podman run themselves rather than of the program: see their manuals, "Exit Status".
_CLIENTS_OWN = range(125, 256)
_NOT_RUN = 125  # by the client itself: no such image, a wrong option, a name that is taken
_GONE_WITH = {
    ServerEnd.LIVES: (Cause.SESSION_KILLED, "its tmux session or pane was killed"),
    ServerEnd.ENDED: (
        Cause.SERVER_ENDED,
        "its tmux server was ended in order: kill-server, a TERM signal, or its last session was closed",
    ),
    ServerEnd.CRASHED: (Cause.SERVER_CRASHED, "its tmux server was killed, or crashed"),
    ServerEnd.GONE: (Cause.SERVER_GONE, "its tmux server no longer exists; how it ended was not seen"),
}
_KILLED = 128 + signal.SIGKILL  # out of memory; runtimes report that for any process of a container, not only the first


@frozen
class EndFacts:
    """All that is known when a session's end is explained."""

    pane: PaneFacts
    server: ServerEnd = ServerEnd.LIVES
    container: ContainerFacts | None = None
    order: Order | None = None
    same_boot: bool = True
    program_lives: bool | None = None  # the process that was in the pane; None: unknown
    respawned: bool = False  # its pane was given to another program


@frozen
class Finding:
    """Why a session ended, how its program ended (None: unknown), and a sentence for a person."""

    cause: Cause
    status: Status | None
    why: str


def explain(facts: EndFacts) -> Finding | None:
    """Why it ended; None if it runs, or could not be looked at."""
    status = _status(facts)
    if not facts.same_boot:
        return Finding(Cause.MACHINE_RESTARTED, status, "the machine was started again since")
    found = _of_container(facts, facts.container, status) if facts.container else None
    found = found or _of_pane(facts, status)
    if found is None:
        return None
    if facts.order is Order.STOP:
        return Finding(Cause.STOPPED, status, "it was stopped, as ordered")
    if facts.order is Order.REPLACE:
        return Finding(Cause.REPLACED, status, "another was started in its place, as ordered")
    return found


def event_of(end: Finding | ExitRecord) -> str:
    """Which final event reports it: an end in order, a failure, or that it vanished."""
    if end.cause in (Cause.STOPPED, Cause.REPLACED):
        return STOPPED
    if end.cause is Cause.EXITED and end.status is not None:
        return STOPPED if end.status.code == 0 else CRASHED
    return CRASHED if end.cause in (Cause.SIGNALLED, Cause.OUT_OF_MEMORY, Cause.NOT_STARTED) else DROP


def _status(facts: EndFacts) -> Status | None:
    pane, container = facts.pane, facts.container
    if container is None:
        if not pane.dead or (pane.code is None and pane.signal is None):
            return None
        return Status(Source.PANE, pane.code if pane.signal is None else None, pane.signal)
    if container.event_code is not None:
        return Status(Source.EVENT, container.event_code)
    if container.place is Presence.THERE and container.inspect_code is not None:
        return Status(Source.INSPECT, container.inspect_code)
    return Status(Source.CLIENT, pane.code) if _is_the_containers(pane, container) else None


def _is_the_containers(pane: PaneFacts, container: ContainerFacts) -> bool:
    """Whether the client's exit code is the program's: it saw it end, and a detached client also exits with 0."""
    ended = container.place is Presence.GONE or (container.place is Presence.THERE and not container.running)
    told = pane.dead and pane.signal is None and pane.code is not None
    trusted = not container.engine_died and not container.doubtful
    return ended and told and trusted and pane.code != 0 and pane.code not in _CLIENTS_OWN


def _of_container(facts: EndFacts, container: ContainerFacts, status: Status | None) -> Finding | None:
    """The finding if the container ended; None if it runs on, or that is unknown: then the terminal decides."""
    over = facts.pane.dead or facts.pane.place is Presence.GONE
    if not over and status is None:  # its client still runs, or has not made it yet
        return None
    if container.engine_died:
        return Finding(Cause.ENGINE_DIED, status, "the container runtime that ran its container ended")
    if container.oom and (status is None or status.code == _KILLED):
        return Finding(Cause.OUT_OF_MEMORY, status, "its container used more memory than its limit")
    if _never_ran(facts.pane, container):
        return Finding(Cause.NOT_STARTED, status, "its container was not started")
    if container.place is Presence.GONE and not container.removes_itself:
        return Finding(Cause.CONTAINER_REMOVED, status, "another program or person removed its container")
    if container.place is Presence.THERE and not container.started:
        return Finding(Cause.NOT_STARTED, status, "its container could not start the program")
    if container.event_signal is not None and status is not None:
        return Finding(Cause.SIGNALLED, status, f"its runtime was asked to send {signal_name(container.event_signal)}")
    if status is not None:
        return Finding(Cause.EXITED, status, _exited(status))
    if container.place is Presence.GONE:
        return Finding(Cause.UNKNOWN, None, "its container ended and removed itself; how was not seen")
    if container.place is Presence.THERE and not container.running:
        return Finding(Cause.UNKNOWN, None, "its container ended; how is unknown")
    return None


def _never_ran(pane: PaneFacts, container: ContainerFacts) -> bool:
    """Whether the runtime's client ended before there was a container."""
    none = container.place is Presence.GONE and not container.seen_to_start
    known = container.seen_to_start is False or not container.removes_itself
    return none and known and pane.dead and pane.code == _NOT_RUN and not container.engine_died


def _of_pane(facts: EndFacts, status: Status | None) -> Finding | None:
    pane = facts.pane
    if pane.place is Presence.UNSEEN:
        return None
    if pane.place is Presence.GONE:
        if facts.respawned:
            return Finding(Cause.SESSION_KILLED, status, "its pane was given to another program (respawn-pane)")
        return _vanished(facts, status)
    if not pane.dead:
        return None
    if facts.container is not None:
        on = "the container runs on" if facts.container.running else "what became of the container is unknown"
        return Finding(Cause.CLIENT_ENDED, status, f"the container runtime's client in its terminal ended; {on}")
    if status is None:
        lives = "; the process runs on without it" if facts.program_lives else ""
        return Finding(Cause.UNKNOWN, None, f"its terminal was closed, and tmux did not learn how it ended{lives}")
    if status.signal is not None:
        return Finding(Cause.SIGNALLED, status, f"{signal_name(status.signal)} ended its program")
    return Finding(Cause.EXITED, status, _exited(status))


def _vanished(facts: EndFacts, status: Status | None) -> Finding | None:
    if facts.server is ServerEnd.UNSEEN:
        return None
    cause, why = _GONE_WITH[facts.server]
    container = facts.container
    if container is not None and container.running:
        why += "; its container runs on"
    elif container is None and facts.program_lives:
        why += "; its program runs on without a terminal"
    return Finding(cause, status, why)


def _exited(status: Status) -> str:
    code = status.code or 0
    also = f" itself, or {signal_name(code - 128)} ended it" if 128 < code < 128 + 65 else ""
    return f"its program exited with {code}{also}"


DYING_S = 0.5  # for a program that lost its terminal to end; after that it is reported as running
PATIENCE_S = 3.0  # for the slowest witness, on a loaded machine; then the record is written with what is known


def complete(facts: EndFacts, age_s: float) -> bool:
    """Whether no witness could add to what is known of an end that was first seen `age_s` seconds ago."""
    if age_s >= PATIENCE_S or not facts.same_boot:
        return True
    container = facts.container
    if container is not None:
        runs_on = container.running and facts.pane.place is not Presence.THERE
        asked = container.inspect_code is not None or container.place is Presence.GONE
        known = container.event_code is not None or (container.heard and asked)
        return known or runs_on or not container.started or _never_ran(facts.pane, container)
    pane = facts.pane
    if pane.place is Presence.GONE:
        if facts.program_lives and age_s < DYING_S:
            return False
        return facts.server in (ServerEnd.LIVES, ServerEnd.ENDED, ServerEnd.CRASHED)
    return pane.code is not None or pane.signal is not None


THIRD = 2  # earlier deaths of the same cause: the third one warns a person


def start_command(session: Session) -> str:
    """The command that starts it again as it was."""
    at = [] if session.sandbox is None else ["--manifest", session.sandbox.manifest]
    words = ["stallkit", "start", *(at or [session.name])]
    if session.tmux_socket_name:
        words += ["-L", session.tmux_socket_name]
    if session.tmux_socket_path:
        words += ["-S", session.tmux_socket_path]
    if at:
        return shlex.join(words)
    if session.engine == BWRAP:
        words += ["--bwrap"]
    elif session.engine and session.image:
        words += [f"--{session.engine}", session.image]
    for option in session.engine_options:
        words += [f"--engine-option={option}"]
    words += ["--wrap"] if session.relayed else []
    words += ["--cwd", session.directory]
    for port in session.ports:
        words += ["--port", str(port)]
    words += ["--hooks"] * session.hooks
    if session.askpass:
        words.append("--askpass")
    words += [word for file in session.env_files for word in ("--env-file", file)]
    words += [word for name in session.env for word in ("--env", name)]
    return shlex.join([*words, "--", *session.command])


def hints(record: ExitRecord) -> list[tuple[str, str]]:
    """Commands with what each is for, the one that recovers first."""
    session, found = record.session, []
    runs_on = record.container is not None and record.container.get("status") == "running"
    if runs_on and session.engine and session.container:
        stop = f"stallkit stop {session.name}"
        if session.sealed:
            found.append((stop, "stop and remove its container, which still runs"))
        else:
            found.append((f"{session.engine} attach {session.container}", "attach to the container, which still runs"))
            found.append((stop, "or stop and remove it"))
    if session.command:  # else stallkit did not start it
        lacks = any(MASK in word for word in (*session.command, *session.engine_options))
        found.append((start_command(session), "start it again" + ", with the secrets that are left out" * lacks))
    if record.cause is Cause.ENGINE_DIED and session.engine:
        found.insert(0, (f"{session.engine} info", "check whether the container runtime is back"))
    unsaved = record.worktree and (record.worktree.get("dirty") or record.worktree.get("unpushed"))
    if unsaved:
        found.append((f"git -C {shlex.quote(session.directory)} status", "see the work that it left"))
    return found
