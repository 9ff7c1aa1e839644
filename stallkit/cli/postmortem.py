"""``stallkit postmortem``: how a session ended, and what to do now."""

from __future__ import annotations

import click

from stallkit.cli.common import print_json
from stallkit.cli.exits import Exit
from stallkit.cli.sessions import found, opened, show_end
from stallkit.sessions.model import ExitRecord

__all__ = ["command"]


@click.command("postmortem")
@click.argument("name")
@click.option("--all", "everything", is_flag=True, help="Every end of that name that is kept, the oldest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@click.pass_context
def command(ctx: click.Context, name: str, everything: bool, as_json: bool) -> None:
    """Show how a session ended: cause, time, exit code and who says so, last screen, worktree, container, ports.

    \b
    Exit codes: 0; 1 it never ended, or the register cannot be read.
    Example:    stallkit postmortem worker1 --json
    """
    latest = found(name)
    with opened(settled=False) as register:
        records = register.records(name, limit=1_000 if everything else 1)
    if not records:
        click.echo(f"{name} lives, and never ended before", err=True)
        ctx.exit(Exit.ERROR)
    if as_json and everything:
        from stallkit.cli.panel import as_json as as_object

        ends = [as_object(record, records[:number][::-1]) for number, record in enumerate(records)]
        print_json({"version": 1, "target": name, "ended": ends})
    elif everything:
        from stallkit.cli.panel import show

        for record in records:  # each stands below those before it
            show(record)
    else:
        show_end(records[0], as_json)
    if not isinstance(latest, ExitRecord):
        click.echo(f"{name} was started again, and lives", err=True)
