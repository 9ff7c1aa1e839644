"""``stallkit list``: the sessions that stallkit started.  Where there is none yet, it says so at once."""

from __future__ import annotations

from typing import Any

import click

from stallkit.cli.common import print_json
from stallkit.cli.speech import say
from stallkit.config import sessions_file
from stallkit_sessions.cli.named_sessions import opened
from stallkit_sessions.cli.session_table import print_table, row_object
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import Living

__all__ = ["list_command"]


@click.command("list")
@click.option("--living", is_flag=True, help="Leave out those that ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
def list_command(living: bool, as_json: bool) -> None:
    """List the sessions that stallkit started: which run, and why the others ended.

    \b
    Exit codes: 0; 1 the register cannot be read.
    Example:    stallkit list --json
    """
    rows, objects = _listed(living, as_json) if sessions_file().exists() else ([], [])
    if as_json:
        print_json({"version": 1, "sessions": objects})
    elif rows:
        print_table(rows)
    else:
        none = "no session runs" if living else "no session was started yet"
        say(f"{none}: stallkit {'list' if living else 'start NAME -- COMMAND'}")


def _listed(living: bool, as_json: bool) -> tuple[list[Living | ExitRecord], list[dict[str, Any]]]:
    """The sessions, and the same as values where they are asked for."""
    with opened(or_copy=True) as register:
        rows = [one for one in register.listing() if isinstance(one, Living) or not living]
        if not as_json:
            return rows, []

        return rows, [row_object(register, one) for one in rows]
