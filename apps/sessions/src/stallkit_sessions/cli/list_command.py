"""``stallkit list``: the sessions that stallkit started.  Where there is none yet, it says so at once."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any, Iterator, Sequence

import click
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import print_json, shown
from stallkit.cli.speech import say
from stallkit.cli.tables import hanging, page_table, wide_console
from stallkit.config import sessions_file
from stallkit.durations import in_words
from stallkit.jsonio import unstructure
from stallkit.terminal.text import escaped
from stallkit_sessions.cli.named_sessions import earlier_ends, opened
from stallkit_sessions.cli.panel import as_json as end_object
from stallkit_sessions.cli.panel import ended
from stallkit_sessions.explain import STOPPED, event_of, hints
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import Register, RunningSession

__all__ = ["list_command", "print_table", "row_object"]


# --- the sessions that stallkit started, as a table and as values ---


def print_table(rows: Sequence[RunningSession | ExitRecord]) -> None:
    """Print a row for each session; below the table why each of them died, and the command that recovers it."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for column in ("session", "is", "for", "in", "ports"):
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    table.add_column("command", overflow="ellipsis", no_wrap=True, ratio=1)  # the room that the others leave
    now, dead = time.time(), []
    for row in rows:
        session = row.session
        if isinstance(row, RunningSession):
            state, since = Text("running" if row.bound else "starting", "green"), now - session.started_at
        else:
            in_order = event_of(row) == STOPPED
            state, since = Text(ended(row), "dim" if in_order else "red"), now - row.ended_at
            if not in_order:
                dead.append(row)
        table.add_row(
            Text(shown(session.name)),
            state,
            in_words(since) if isinstance(row, RunningSession) else f"{in_words(since)} ago",
            Text(shown(session.engine or "")),
            " ".join(map(str, session.ports)),
            Text(shown(" ".join(session.command))),
        )
    made = wide_console()
    if made.is_terminal:
        made.print(table)
    else:
        page_table(made, table)
    for why, more, todo in _lines(dead):
        if made.is_terminal:  # a command to copy has a line of its own
            lines = [*hanging(made, f"{shown(*why)} ({more})", 2), *[f"  {escaped(todo)}"] * bool(todo)]
        else:
            lines = [f"{shown(*why)}{'; ' * bool(todo)}{escaped(todo)} ({more})"]
        for line in lines:
            made.print(Text(line), soft_wrap=True)


def _lines(dead: list[ExitRecord]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Why each of them ended, where to read more, and the one command that recovers it, if there is one.

    Sessions that died of the same cause at once are one entry.
    """
    together: dict[str, list[ExitRecord]] = defaultdict(list)
    for record in dead:
        together[record.incident or record.session.id].append(record)
    for records in together.values():
        names, first = [record.session.name for record in records], records[0]
        if len(names) > 1:
            why = f"incident {first.incident}: {first.why}; with it went {', '.join(names)}"
            yield (why,), "stallkit postmortem NAME", ""
        else:
            todo = next((command for command, _ in hints(first)), "")
            yield (names[0], f": {first.why}"), f"all of it: stallkit postmortem {escaped(names[0])}", todo


def row_object(register: Register, row: RunningSession | ExitRecord) -> dict[str, Any]:
    """A session for programs."""
    if isinstance(row, ExitRecord):
        return {"name": row.session.name, "state": "ended", "ended": end_object(row, earlier_ends(register, row))}
    session = unstructure(row.session)
    return {"name": row.session.name, "state": "running" if row.bound else "starting", "session": session}


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


def _listed(living: bool, as_json: bool) -> tuple[list[RunningSession | ExitRecord], list[dict[str, Any]]]:
    """The sessions, and the same as values where they are asked for."""
    with opened(or_copy=True) as register:
        rows = [one for one in register.listing() if isinstance(one, RunningSession) or not living]
        if not as_json:
            return rows, []

        return rows, [row_object(register, one) for one in rows]
