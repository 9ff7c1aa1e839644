"""``stallkit output`` and ``postmortem``: what the sessions that stallkit started show, and how they ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import click

from stallkit.cli.check_commands import as_lines
from stallkit.cli.common import log_option, policy_option, print_json, shown
from stallkit.cli.exits import Exit, exit_of
from stallkit.cli.installed import engine
from stallkit.config import event_log
from stallkit.jsonio import unstructure
from stallkit.press.check import CheckResult, check_session
from stallkit.press.events import EventLog
from stallkit.press.policy import Policy
from stallkit.redact.redact import redact_all
from stallkit.settings import configured_policy
from stallkit.transports.targets import open_target
from stallkit_sessions.cli.named_sessions import SESSION, found, leave, opened, reached, show_end
from stallkit_sessions.cli.panel import as_json as as_object
from stallkit_sessions.cli.panel import show
from stallkit_sessions.end_facts import facts
from stallkit_sessions.model import ExitRecord, Session

__all__ = ["output_command", "postmortem_command"]


@click.command("output")
@click.argument("name", type=SESSION)
@click.option("--lines", type=click.IntRange(1, 10_000), default=40, show_default=True, metavar="N", help="The last N.")
@click.option("--check-stall", is_flag=True, help="Look whether it is stalled, and exit, as `check` does.")
@click.option(
    "--dismiss", "dismisses", is_flag=True,
    help="With --check-stall: press once what the policy allows.",
)  # fmt: skip
@policy_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@log_option
@click.pass_context
def output_command(
    ctx: click.Context,
    name: str,
    lines: int,
    check_stall: bool,
    dismisses: bool,
    policy: str | None,
    as_json: bool,
    log: Path | None,
) -> None:
    """Print the last lines of a session, or how it ended.

    With --check-stall the result of `stallkit check` follows, on standard error; the lines are those before a press.

    \b
    Exit codes: 0; 1 could not look; 4 it ended; with --check-stall also 2 stalled, asks or failed, 3 maybe.
    Example:    stallkit output worker1 --check-stall
    """
    if dismisses and not check_stall:
        raise click.UsageError("--dismiss needs --check-stall")
    if policy and not dismisses:
        raise click.UsageError("--policy needs --dismiss")
    allowed = configured_policy(policy) if dismisses else None
    session = found(name)
    if isinstance(session, ExitRecord):
        leave(ctx, session)
    look = facts(session.session, lines=lines)
    if look.facts.place != "there":
        raise click.ClickException(f"could not look at {name}: {look.why}; try again")
    checked = _checked(name, session.session, allowed, log) if check_stall else None
    if as_json:
        _print_object(name, look.lines, checked)
    else:
        for line in redact_all(look.lines):  # together: a secret may begin on one line and end on another
            click.echo(shown(line))
        if checked is not None:
            _tell(checked)
    if checked is not None and checked.unlogged is not None:
        click.echo(f"stallkit: {shown(checked.unlogged)}", err=True)
    ctx.exit(Exit.OK if checked is None else exit_of(checked.status))


def _checked(name: str, session: Session, allowed: Policy | None, log: Path | None) -> CheckResult:
    transport = open_target(*reached(session))
    transport.target = name
    try:
        return check_session(transport, engine(), allowed, EventLog(event_log(log)), prove=True)
    finally:
        transport.close()


def _print_object(name: str, lines: Sequence[str], checked: CheckResult | None) -> None:
    result: dict[str, Any] = {"version": 1, "target": name, "status": None}
    if checked is not None:
        result |= unstructure(checked)
    print_json({**result, "lines": "\n".join(lines).split("\n")})


def _tell(checked: CheckResult) -> None:
    for line in as_lines(checked):
        click.echo(line, err=True)


@click.command("postmortem")
@click.argument("name", type=SESSION)
@click.option("--all", "everything", is_flag=True, help="Every kept end of that name, the oldest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@click.pass_context
def postmortem_command(ctx: click.Context, name: str, everything: bool, as_json: bool) -> None:
    """Show how a session ended: cause, time, exit code and its source, last screen, worktree, container, ports.

    \b
    Exit codes: 0; 1 it never ended, or the register cannot be read.
    Example:    stallkit postmortem worker1 --json
    """
    latest = found(name)
    with opened(settled=False) as register:
        records = register.records(name, limit=1_000 if everything else 1)
    if not records:
        click.echo(shown(name, " is running, and has never ended"), err=True)
        ctx.exit(Exit.ERROR)
    if as_json and everything:
        ends = [as_object(record, records[:number][::-1]) for number, record in enumerate(records)]
        print_json({"version": 1, "target": name, "ended": ends})
    elif everything:
        for record in records:
            show(record)
    else:
        show_end(records[0], as_json)
    if not isinstance(latest, ExitRecord):
        click.echo(shown(name, " was started again, and is running"), err=True)
