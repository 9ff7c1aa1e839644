"""``stallkit status``: what the supervisor last noted of each session."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import click

from stallkit.cli.common import print_json
from stallkit.config import store_file
from stallkit.errors import StoreError
from stallkit.supervise.store import Store

__all__ = ["command", "iso", "noted"]


@click.command("status")
@click.argument("target", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
def command(target: str | None, as_json: bool) -> None:
    """Show what every watched session was doing when it was last seen, or one of them.

    It reads what `watch` and `supervise` note, so it works while they run and after they were killed.

    \b
    Exit codes: 0; 1 the notes cannot be read.
    Example:    stallkit status --json
    """
    rows = _rows(target)
    if as_json:
        print_json({"version": 1, "sessions": rows})
        return
    if not rows:
        click.echo("no session was watched yet: stallkit watch --all")
        return
    from rich.console import Console  # here: it costs 60 ms

    from stallkit.cli.watch_table import sessions_table

    shown = [(row["target"], {**row, "error": _note(row)}) for row in rows]
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)  # a pipe has no width: nothing is to be cut
    console.print(sessions_table(shown, console.width, wraps=True))


def noted() -> Store | None:
    """What supervisors note; None where none did yet.  Raises StoreError where that cannot be told."""
    file = store_file()
    try:
        file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError("store", str(file), why, "let it be read, or set $STALLKIT_STATE_DIR") from error
    return Store(file)


def iso(at: float | None) -> str | None:
    """A time of the wall clock as ISO 8601 writes it; None where it is unknown, or no time at all."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):  # beyond the year 9999
        return None


def _rows(target: str | None) -> list[dict[str, Any]]:
    store = noted()
    if store is None:
        return []
    try:
        found = store.sessions()
        limits = {row["name"]: store.waiting(row["name"]) for row in found}
    finally:
        store.close()
    rows = []
    for row in found:
        if row["status"] is None or target not in (None, row["name"]):
            continue
        waiting = limits[row["name"]]
        rows.append(
            {
                "target": row["name"],
                **json.loads(row["status"]),
                "seen_at": row["seen_at"],
                "seen_time": iso(row["seen_at"]),
                "iteration": row["iteration"],
                "halted": row["halted"],
                "free_at": waiting.free_at if waiting else None,
                "free_time": iso(waiting.free_at) if waiting else None,
            }
        )
    return rows


def _note(row: dict[str, Any]) -> str:
    """What is worth a word besides the columns."""
    ago = f"seen {time.time() - row['seen_at']:.0f} s ago"
    return f"{row['error']}, {ago}" if row["error"] else f"{row['halted']}, {ago}" if row["halted"] else ago
