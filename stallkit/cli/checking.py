"""``stallkit check`` from an open transport to what is printed, whoever read the command line."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Iterator, Sequence

from stallkit.cli.check_colour import painted, shows_colours
from stallkit.cli.check_words import plain_words
from stallkit.cli.exits import Exit, exit_of
from stallkit.cli.output import echo, ended_by, engine, shown, shows_what_it_can

if TYPE_CHECKING:
    from pathlib import Path

    from stallkit.press.policy import Policy
    from stallkit.transports.base import Transport

__all__ = ["check_plainly", "checked", "looking", "standard_input"]


def check_plainly(words: Sequence[str]) -> Exit | None:
    """Do what plain words behind ``check`` ask for, and return the exit code; None, with nothing done, for others."""
    given = plain_words(words)
    if given is None or (given.target == "-" and (sys.stdin is None or sys.stdin.isatty())):
        return None
    from stallkit.tmux_socket import chosen, inherited
    from stallkit.transports.base import Options, open_target

    shows_what_it_can()
    try:
        socket = chosen(given.socket_name, given.socket_path, os.environ)
        with inherited(socket, os.environ):
            try:
                options = Options(socket.name, socket.path)
                transport = standard_input() if given.target == "-" else open_target(given.target, options)
            except ValueError:
                return None
            return checked(transport, as_json=given.as_json, idle_ok=given.idle_ok)
    except KeyboardInterrupt:
        echo("", err=True)
        return Exit.INTERRUPTED
    except Exception as error:
        return ended_by(error)


def standard_input() -> Transport:
    """The screen that is piped in."""
    from stallkit.transports.saved import SavedTransport

    return SavedTransport.of_text(sys.stdin.buffer.read().decode("utf-8", "replace"))


def checked(
    transport: Transport,
    policy: Policy | None = None,
    log: Path | None = None,
    watch_s: float = 0.0,
    hung_after_s: float | None = None,
    as_json: bool = False,
    idle_ok: bool = False,
    quiet: bool = False,
    colours: bool = True,
) -> Exit:
    """Check, print what was found and return the exit code; the transport is closed.  Raises as `check_session`."""
    from stallkit.core.hung import HUNG_AFTER_S
    from stallkit.press.check import check_session
    from stallkit.press.check_text import printed

    hung_after_s = HUNG_AFTER_S if hung_after_s is None else hung_after_s
    try:
        written = None
        if log is not None or transport.target != "-":  # what is piped in is logged where that is asked for
            from stallkit.config import event_log
            from stallkit.press.events import EventLog

            written = EventLog(event_log(log))
        with looking(shown(transport.target), quiet):
            result = check_session(
                transport, engine(), policy, written, watch_s=watch_s, hung_after_s=hung_after_s, prove=True
            )
    finally:
        transport.close()
    lines = printed(result, as_json)
    if not as_json:
        lines = lines[:1] if quiet else lines
        lines = painted(lines, result.status) if colours and shows_colours(sys.stdout) else lines
    for line in lines:
        echo(line)
    if result.unlogged is not None:
        echo(f"stallkit: {shown(result.unlogged)}", err=True)
    return exit_of(result.status, idle_ok)


@contextmanager
def looking(target: str, silent: bool) -> Iterator[None]:
    """Say on a terminal that this takes a moment; the line is gone afterwards."""
    told = not silent and shows_colours(sys.stderr)
    if told:
        sys.stderr.write(f"looking at {target} ...")
        sys.stderr.flush()
    try:
        yield
    finally:
        if told:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
