"""What to do about a session that ended: the commands, ready to be typed.  Pure."""

from __future__ import annotations

import shlex

from stallkit.sessions.record import Cause, ExitRecord, Session
from stallkit.transports.containers.runtime_call import BWRAP

__all__ = ["THIRD", "hints", "start_command"]

THIRD = 2  # earlier deaths alike: with this one, three (requirement E3)


def start_command(session: Session) -> str:
    """The command that starts it again as it was."""
    words = ["stallkit", "start", session.name]
    if session.tmux_socket_name:
        words += ["-L", session.tmux_socket_name]
    if session.tmux_socket_path:
        words += ["-S", session.tmux_socket_path]
    if session.engine == BWRAP:
        words += ["--bwrap"]
    elif session.engine and session.image:
        words += [f"--{session.engine}", session.image]
    for option in session.engine_options:
        words += [f"--engine-option={option}"]
    words += ["--cwd", session.directory]
    for port in session.ports:
        words += ["--port", str(port)]
    return shlex.join([*words, "--", *session.command])


def hints(record: ExitRecord) -> list[tuple[str, str]]:
    """Commands with what each is for, the one that recovers first."""
    session, found = record.session, []
    runs_on = record.container is not None and record.container.get("status") == "running"
    if runs_on and session.engine and session.container:
        found.append((f"{session.engine} attach {session.container}", "take up the container that runs on"))
        found.append((f"stallkit stop {session.name}", "or end it, and remove it"))
    if session.command:  # else somebody started it by other means
        found.append((start_command(session), "start it again"))
    if record.cause is Cause.ENGINE_DIED and session.engine:
        found.insert(0, (f"{session.engine} info", "see whether the engine is back"))
    unsaved = record.worktree and (record.worktree.get("dirty") or record.worktree.get("unpushed"))
    if unsaved:
        found.append((f"git -C {shlex.quote(session.directory)} status", "see the work that it left"))
    return found
