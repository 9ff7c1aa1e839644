"""``stallkit list``, ``output`` and ``postmortem``: the sessions started, what they show, how they ended."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import click

from stallkit.cli.common import engine, hanging, log_option, plain_console, print_json, shown
from stallkit.cli.exits import Exit, exit_of
from stallkit.cli.named_sessions import earlier_ends, found, leave, opened, reached
from stallkit.config import sessions_file
from stallkit.core.redact import redact_all
from stallkit.sessions.explain import STOPPED, event_of
from stallkit.sessions.model import ExitRecord, Session
from stallkit.sessions.register import Living, Register
from stallkit.transports.tmux.end_facts import facts

if TYPE_CHECKING:
    from stallkit.press.check import CheckResult
from stallkit.cli.named_sessions import show_end

__all__ = ["list_command", "output_command", "postmortem_command"]


@click.command("list")
@click.option("--living", is_flag=True, help="Leave out those that ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
def list_command(living: bool, as_json: bool) -> None:
    """List the sessions that stallkit started: which run, and why the others ended.

    \b
    Exit codes: 0; 1 the register cannot be read.
    Example:    stallkit list --json
    """
    rows: list[Living | ExitRecord] = []
    objects: list[dict[str, Any]] = []
    if sessions_file().exists():
        with opened(or_copy=True) as register:
            rows = [one for one in register.listing() if isinstance(one, Living) or not living]
            objects = [_as_object(register, one) for one in rows] if as_json else []
    if as_json:
        print_json({"version": 1, "sessions": objects})
    elif not rows:
        none = (
            "no session runs: stallkit list" if living else "no session was started yet: stallkit start NAME -- COMMAND"
        )
        click.echo(none)
    else:
        _print(rows)


def _print(rows: list[Living | ExitRecord]) -> None:
    from rich.table import Table  # here: it costs 60 ms
    from rich.text import Text

    from stallkit.cli.panel import ended, span

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for column in ("session", "is", "for", "in", "ports"):
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    table.add_column("command", overflow="ellipsis", no_wrap=True, ratio=1)  # the room that the others leave
    now, dead = time.time(), []
    for row in rows:
        session = row.session
        if isinstance(row, Living):
            state, since = Text("running" if row.bound else "starting", "green"), now - session.started_at
        else:
            in_order = event_of(row) == STOPPED
            state, since = Text(ended(row), "dim" if in_order else "red"), now - row.ended_at
            if not in_order:
                dead.append(row)
        table.add_row(
            Text(shown(session.name)),
            state,
            span(since) if isinstance(row, Living) else f"{span(since)} ago",
            Text(shown(session.engine or "")),
            " ".join(map(str, session.ports)),
            Text(shown(" ".join(session.command))),
        )
    made = plain_console()
    made = made if made.is_terminal else plain_console(width=200)  # a pipe has no width: cut nothing
    made.print(table)
    for why, more, todo in _lines(dead):
        if made.is_terminal:  # a command to copy has a line of its own
            lines = [*hanging(made, shown(f"{why} ({more})"), 2), *[f"  {shown(todo)}"] * bool(todo)]
        else:
            lines = [shown(f"{why}; {todo} ({more})" if todo else f"{why} ({more})")]
        for line in lines:
            made.print(Text(line), soft_wrap=True)


def _lines(dead: list[ExitRecord]) -> Iterator[tuple[str, str, str]]:
    """Why each of them ended, where to read more, and the one command that recovers it, if there is one.

    Sessions that died of the same cause at once are one entry.
    """
    from stallkit.sessions.explain import hints

    together: dict[str, list[ExitRecord]] = defaultdict(list)
    for record in dead:
        together[record.incident or record.session.id].append(record)
    for records in together.values():
        names, first = [record.session.name for record in records], records[0]
        if len(names) > 1:
            why = f"incident {first.incident}: {first.why}; with it went {', '.join(names)}"
            yield why, "stallkit postmortem NAME", ""
        else:
            todo = next((command for command, _ in hints(first)), "")
            yield f"{names[0]}: {first.why}", f"all of it: stallkit postmortem {names[0]}", todo


def _as_object(register: Register, row: Living | ExitRecord) -> dict[str, Any]:
    from stallkit.cli.panel import as_json
    from stallkit.sessions.model import as_object

    if isinstance(row, ExitRecord):
        return {"name": row.session.name, "state": "ended", "ended": as_json(row, earlier_ends(register, row))}
    session = as_object(row.session)
    return {"name": row.session.name, "state": "running" if row.bound else "starting", "session": session}


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
def output_command(
    ctx: click.Context, name: str, lines: int, check_stall: bool, dismisses: bool, as_json: bool, log: Path | None
) -> None:
    """Print the last lines of a session, or how it ended.

    With --check-stall the result of `stallkit check` follows, on standard error; the lines are those before a press.

    \b
    Exit codes: 0; 1 could not look; 4 it ended; with --check-stall also 2 stalled, asks or failed, 3 maybe.
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
        for line in redact_all(look.lines):  # together: a secret may begin on one line and end on another
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
        return check_session(transport, engine(), CAREFUL if dismisses else None, EventLog(event_log(log)), prove=True)
    finally:
        transport.close()


def _print_object(name: str, lines: Sequence[str], checked: CheckResult | None) -> None:
    result: dict[str, Any] = {"version": 1, "target": name, "status": None}
    if checked is not None:
        from stallkit.press.check_text import as_object

        result = as_object(checked)
    print_json({**result, "lines": "\n".join(lines).split("\n")})


def _tell(checked: CheckResult) -> None:
    from stallkit.press.check_text import as_lines

    for line in as_lines(checked):
        click.echo(shown(line), err=True)


@click.command("postmortem")
@click.argument("name")
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
        click.echo(shown(f"{name} is running, and has never ended"), err=True)
        ctx.exit(Exit.ERROR)
    if as_json and everything:
        from stallkit.cli.panel import as_json as as_object

        ends = [as_object(record, records[:number][::-1]) for number, record in enumerate(records)]
        print_json({"version": 1, "target": name, "ended": ends})
    elif everything:
        from stallkit.cli.panel import show

        for record in records:
            show(record)
    else:
        show_end(records[0], as_json)
    if not isinstance(latest, ExitRecord):
        click.echo(shown(f"{name} was started again, and is running"), err=True)
