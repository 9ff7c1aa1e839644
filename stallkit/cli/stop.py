"""``stallkit stop``: end a session in order, its record first."""

from __future__ import annotations

import click

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.sessions import opened
from stallkit.errors import TransportError
from stallkit.sessions.lifecycle import GRACE_S, clear, stop
from stallkit.sessions.model import ExitRecord
from stallkit.sessions.register import Living, Register

__all__ = ["command"]


@click.command("stop")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="Every session that lives.")
@click.option(
    "--grace", "grace_s", type=click.FloatRange(min=0), default=GRACE_S, show_default=True, metavar="S",
    help="Kill what does not end by itself within S seconds.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], everything: bool, grace_s: float, as_json: bool) -> None:
    """Stop sessions: end the program, write down how it ended, then take away its pane and container.

    Of a session that ended before, what it left is taken away; its record stays.

    \b
    Exit codes: 0 all of them ended; 1 one did not.
    Example:    stallkit stop worker1
    """
    if everything == bool(names):
        raise click.UsageError("name the sessions, or give --all")
    told, failed = [], False
    with opened() as register:
        if everything:
            names = tuple(one.session.name for one in register.living())
        for name in names:  # before any is stopped
            if register.latest(name) is None:
                raise click.UsageError(f"no session {name!r} was started: stallkit list shows those that were")
        for name in names:
            try:
                record = _stopped(register, name, grace_s)
            except TransportError as error:
                failed = True
                told.append({"name": name, "error": str(error)})
                click.echo(f"stallkit: {shown(str(error))}", err=True)
                continue
            told.append({"name": name, "cause": str(record.cause), "why": record.why})
            if not as_json:
                click.echo(shown(_line(record)))
    if as_json:
        print_json({"version": 1, "sessions": told})
    ctx.exit(Exit.ERROR if failed else Exit.OK)


def _stopped(register: Register, name: str, grace_s: float) -> ExitRecord:
    session = register.latest(name)
    if session is None:
        raise TransportError(name, "its start failed meanwhile", "there is nothing to stop")
    if isinstance(session, Living):
        return stop(register, session, grace_s=grace_s)
    clear(session, grace_s)
    return session


def _line(record: ExitRecord) -> str:
    from stallkit.cli.panel import how

    return f"{record.session.name}: {record.cause}, {how(record)}"
