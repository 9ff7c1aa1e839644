"""The session that a command's TARGET means."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Iterator

import click

from stallkit.cli.common import must_be_piped
from stallkit.cli.started import EndReport, leave, started
from stallkit.cli.verb_group import like
from stallkit.tmux_socket import chosen
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import SavedTransport, open_target
from stallkit.transports.tmux.call import Server

__all__ = ["reach", "targets"]


def reach(
    target: str, socket_name: str | None, socket_path: str | None, or_path: bool = False, listen: bool = False
) -> Transport:
    """The transport of a target; ``-`` is text on standard input, and with `or_path` a bare path is a saved screen.

    A bare name is a session that stallkit started.  If it has ended, this shows how and exits the command.
    Raises click.UsageError for a target that cannot be read.
    """
    if target == "-":
        must_be_piped("a screen", "tmux capture-pane -p")
        return SavedTransport.of_text(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if or_path and ":" not in target and Path(target).exists():
        target = f"file:{target}"
    if ":" not in target:
        return _started(target, listen)
    try:
        return open_target(target, Options(socket_name, socket_path, listen))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _started(name: str, listen: bool) -> Transport:
    session = started().find(name, listen)
    if session is None:
        raise click.UsageError(_no_target(name))
    if isinstance(session, EndReport):
        leave(click.get_current_context(), session)
    transport = open_target(session.target, session.options)
    transport.target = name
    return transport


def _no_target(name: str) -> str:
    """Why this names nothing, and what may have been meant."""
    if "/" in name:
        return f"there is no file {name!r}"
    known = []
    with suppress(Exception):  # a word more is not worth a second error
        known = [target for target, _ in targets(click.get_current_context())]
    meant = f", did you mean 'tmux:{name}'?" if f"tmux:{name}" in known else like(name, known)
    return f"no session {name!r} was started{meant}; write tmux:NAME for one of tmux's, file:PATH for a saved screen"


def targets(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The sessions that stallkit started, and those of the tmux server that the line names."""
    yield from started().names()
    shown = "#{session_name}\t#{pane_current_command}"
    for line in Server(_options(ctx)).run("tmux", ("list-sessions", "-F", shown)).splitlines():
        name, _, program = line.partition("\t")
        yield f"tmux:{name}", program


def _options(ctx: click.Context) -> Options:
    socket = chosen(ctx.params.get("socket_name"), ctx.params.get("socket_path"), os.environ, tell=lambda line: None)
    return Options(socket.name, socket.path)
