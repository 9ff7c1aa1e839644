"""``stallkit incidents``: what was done to sessions, and what a person was told of."""

from __future__ import annotations

from datetime import datetime

import click

from stallkit.cli.common import hanging, print_json, shown
from stallkit.cli.status import iso, noted

__all__ = ["command"]

_INDENT = 4  # of what goes on below, in a terminal where an incident takes more than one line


@click.command("incidents")
@click.argument("target", required=False)
@click.option("--last", "limit", type=click.IntRange(min=1), default=50, show_default=True, help="So many at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
def command(target: str | None, limit: int, as_json: bool) -> None:
    """List the latest incidents, newest last: presses, escalations, limits, ends.

    \b
    Exit codes: 0; 1 the notes cannot be read.
    Example:    stallkit incidents tmux:worker1 --last 10
    """
    store = noted()
    try:
        found = store.incidents(target, limit) if store else []
    finally:
        if store:
            store.close()
    if as_json:
        print_json({"version": 1, "incidents": [{**one, "time": iso(one["at"])} for one in found]})
        return
    if not found:
        click.echo("no incident is on record")
        return
    from rich.console import Console  # here: it costs 60 ms

    console = Console()
    for one in found:
        told = ", ".join(f"{key} {value}" for key, value in one["facts"].items() if value not in (None, "", []))
        at = datetime.fromtimestamp(one["at"]).astimezone()
        line = shown(f"{at:%Y-%m-%d %H:%M:%S}  {one['session'] or 'stallkit'}  {one['event']}  {told}")
        for part in hanging(console, line, _INDENT) if console.is_terminal else [line]:
            click.echo(part)
