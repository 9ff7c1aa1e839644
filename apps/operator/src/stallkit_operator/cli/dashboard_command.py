"""``stallkit dashboard``: sessions, sandboxes and the queue on one screen."""

from __future__ import annotations

import sys

import click

from stallkit.cli.common import session_options
from stallkit.errors import StallkitError
from stallkit_operator.cli.dashboard_desk import Desk, fleet_desk


@click.command("dashboard")
@session_options
def dashboard_command(socket_name: str | None, socket_path: str | None) -> None:
    """Show all sessions in one list, who waits for a person first, and answer there.

    A key writes a command, as `r 3 `, and Enter runs it, as `stallkit stuck` would; `?` shows all
    keys.  In a fleet it shows all hosts, and `r c/3 ` answers what host c asks.  Needs a terminal of 40 columns or
    more, and the extra stallkit-operator[dashboard].

    \b
    Exit codes: 0 left by q; 1 textual is not installed; 64 this is no terminal.
    Example:    stallkit dashboard
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("the dashboard needs a terminal; in a script: stallkit stuck list --json")
    try:
        from stallkit_operator.cli.dashboard_app import (
            Dashboard,  # here: textual costs half a second  # extra: dashboard
        )
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        why = "textual is not installed"
        raise StallkitError(
            "dashboard", "in this environment", why, "pip install 'stallkit-operator[dashboard]'"
        ) from error

    with fleet_desk() as fleet:
        Dashboard(Desk(socket_name, socket_path, fleet)).run()
