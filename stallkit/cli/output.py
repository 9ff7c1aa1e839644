"""``stallkit output``: what a session shows, or how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

import click

from stallkit.cli.common import engine, log_option, print_json, shown
from stallkit.cli.exits import Exit, exit_of
from stallkit.cli.sessions import found, leave, reached
from stallkit.sessions.model import ExitRecord, Session
from stallkit.transports.tmux.end_facts import facts

if TYPE_CHECKING:
    from stallkit.press.check import CheckResult

__all__ = ["command"]


@click.command("output")
@click.argument("name")
@click.option("--lines", type=click.IntRange(1, 10_000), default=40, show_default=True, metavar="N", help="The last N.")
@click.option("--check-stall", is_flag=True, help="Look whether it is stalled, and exit, as `check` does.")
@click.option(
    "--dismiss", "dismisses", is_flag=True,
    help="With --check-stall: press the keys of a sure prompt of low severity, once.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@log_option
@click.pass_context
def command(
    ctx: click.Context, name: str, lines: int, check_stall: bool, dismisses: bool, as_json: bool, log: Path | None
) -> None:
    """Print the last lines of a session, or why it is no longer there.

    With --check-stall what `stallkit check` says of it follows, on standard error; the lines are those before a press.

    \b
    Exit codes: 0; 1 could not look; 4 it ended; with --check-stall also 2 stalled, 3 may be waiting, or unknown.
    Example:    stallkit output worker1 --check-stall
    """
    if dismisses and not check_stall:
        raise click.UsageError("--dismiss needs --check-stall")
    session = found(name)
    if isinstance(session, ExitRecord):
        leave(ctx, session)
    look = facts(session.session, lines=lines)
    if look.facts.place != "there":
        raise click.ClickException(f"could not look at {name}: {look.why}; try again")
    checked = _checked(name, session.session, dismisses, log) if check_stall else None
    if as_json:
        _print_object(name, look.lines, checked)
    else:
        for line in look.lines:
            click.echo(shown(line))
        if checked is not None:
            _tell(checked)
    if checked is not None and checked.unlogged is not None:
        click.echo(f"stallkit: {shown(str(checked.unlogged))}", err=True)
    ctx.exit(Exit.OK if checked is None else exit_of(checked.status))


def _checked(name: str, session: Session, dismisses: bool, log: Path | None) -> CheckResult:
    from stallkit.config import event_log
    from stallkit.press.check import check_session  # here: it takes longer than to show the lines
    from stallkit.press.events import EventLog
    from stallkit.press.policy import CAREFUL
    from stallkit.transports.base import open_target

    transport = open_target(*reached(session))
    transport.target = name
    try:
        return check_session(transport, engine(), CAREFUL if dismisses else None, EventLog(event_log(log)))
    finally:
        transport.close()


def _print_object(name: str, lines: Sequence[str], checked: CheckResult | None) -> None:
    told: dict[str, Any] = {"version": 1, "target": name, "status": None}
    if checked is not None:
        from stallkit.cli.check import as_object

        told = as_object(checked)
    print_json({**told, "lines": "\n".join(lines).split("\n")})


def _tell(checked: CheckResult) -> None:
    from stallkit.cli.check import as_lines

    for line in as_lines(checked):
        click.echo(shown(line), err=True)
