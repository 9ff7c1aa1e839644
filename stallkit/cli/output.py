"""``stallkit output``: what a session shows, or how it ended."""

from __future__ import annotations

import click

from stallkit.cli.common import engine, print_json, shown
from stallkit.cli.exits import Exit, exit_of
from stallkit.cli.sessions import found, leave, reached
from stallkit.sessions.model import ExitRecord
from stallkit.transports.tmux.end_facts import facts

__all__ = ["command"]


@click.command("output")
@click.argument("name")
@click.option("--lines", type=click.IntRange(1, 10_000), default=40, show_default=True, metavar="N", help="The last N.")
@click.option("--check-stall", is_flag=True, help="Exit 2 if it is stalled.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@click.pass_context
def command(ctx: click.Context, name: str, lines: int, check_stall: bool, as_json: bool) -> None:
    """Print the last lines of a session, or why it is no longer there.

    \b
    Exit codes: 0; 1 could not look; 4 it ended; with --check-stall also 2 stalled, 3 may be waiting.
    Example:    stallkit output worker1 --check-stall
    """
    session = found(name)
    if isinstance(session, ExitRecord):
        leave(ctx, session)
    look = facts(session.session, lines=lines)
    if look.facts.place != "there":
        raise click.ClickException(f"could not look at {name}: {look.why}; try again")
    status, code = None, Exit.OK
    if check_stall:
        from stallkit.press.check import check_session
        from stallkit.transports.base import open_target

        transport = open_target(*reached(session.session))
        try:
            checked = check_session(transport, engine())
        finally:
            transport.close()
        status, code = checked.status, exit_of(checked.status)
    if as_json:
        text = "\n".join(look.lines)
        print_json({"version": 1, "target": name, "lines": text.split("\n"), "status": status and str(status)})
    else:
        for line in look.lines:
            click.echo(shown(line))
        if status is not None:
            click.echo(f"stallkit: {name} is {status}", err=True)
    ctx.exit(code)
