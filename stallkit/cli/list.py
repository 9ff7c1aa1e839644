"""``stallkit list``: the sessions that were started, those that live and how the others ended."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any, Iterator

import click

from stallkit.cli.common import hanging, print_json, shown
from stallkit.cli.sessions import earlier_ends, opened
from stallkit.config import sessions_file
from stallkit.sessions.explain import STOPPED, event_of
from stallkit.sessions.model import ExitRecord
from stallkit.sessions.register import Living, Register

__all__ = ["command"]


@click.command("list")
@click.option("--living", is_flag=True, help="Leave out those that ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
def command(living: bool, as_json: bool) -> None:
    """List the sessions that stallkit started: what lives, and why the others do not.

    \b
    Exit codes: 0; 1 the register cannot be read.
    Example:    stallkit list --json
    """
    rows: list[Living | ExitRecord] = []
    objects: list[dict[str, Any]] = []
    if sessions_file().exists():
        with opened() as register:
            rows = [one for one in register.listing() if isinstance(one, Living) or not living]
            objects = [_as_object(register, one) for one in rows] if as_json else []
    if as_json:
        print_json({"version": 1, "sessions": objects})
    elif not rows:
        none = (
            "no session lives: stallkit list"
            if living
            else "no session was started yet: stallkit start NAME -- COMMAND"
        )
        click.echo(none)
    else:
        _print(rows)


def _print(rows: list[Living | ExitRecord]) -> None:
    from rich.console import Console  # here: it costs 60 ms
    from rich.table import Table
    from rich.text import Text

    from stallkit.cli.panel import ended, span

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for column in ("session", "is", "for", "in", "ports"):
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    table.add_column("command", overflow="ellipsis", no_wrap=True, ratio=1)  # what room the others leave
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
            Text(session.engine or ""),
            " ".join(map(str, session.ports)),
            Text(shown(" ".join(session.command))),
        )
    console = Console()
    console = console if console.is_terminal else Console(width=200)  # a pipe has no width: nothing is to be cut
    console.print(table)
    for why, more, todo in _lines(dead):
        if console.is_terminal:  # what is to be copied stands by itself
            lines = [*hanging(console, shown(f"{why} ({more})"), 2), *[f"  {shown(todo)}"] * bool(todo)]
        else:
            lines = [shown(f"{why}; {todo} ({more})" if todo else f"{why} ({more})")]
        for line in lines:
            console.print(Text(line), soft_wrap=True)


def _lines(dead: list[ExitRecord]) -> Iterator[tuple[str, str, str]]:
    """Why each of them is no longer there, where more is told, and what to do, where one command is it.

    What died of the same thing at once stands together.
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
