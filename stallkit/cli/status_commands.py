"""``stallkit status``, ``incidents`` and ``release``: what a supervisor noted and did, and what it may help again."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from stallkit.cli.common import hanging, plain_console, print_json, session_options, shown, warn_unwritable
from stallkit.cli.exits import Exit
from stallkit.cli.parameters import TARGET
from stallkit.config import store_file
from stallkit.daemon_client import DaemonSilent
from stallkit.errors import StoreError, TransportError
from stallkit.supervise.supervisor_client import remove_dead, statuses

if TYPE_CHECKING:
    from stallkit.supervise.store import Store
    from stallkit.supervise.summary import Need

__all__ = ["incidents_command", "iso", "noted", "release_command", "status_command", "watched_rows"]

SHORT_S = 0.25  # for each supervisor to answer: a status bar waits for the line


@click.command("status")
@click.argument("target", required=False, type=TARGET)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@click.option("--short", is_flag=True, help="Print one line for a status bar: who needs what.")
@session_options
@click.pass_context
def status_command(
    ctx: click.Context,
    target: str | None,
    as_json: bool,
    short: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Show what every watched session, or one of them, does; without a supervisor, what it did when it was last seen.

    It asks each `watch` and `supervise` that runs, and reads what they note, also after they were killed.  With --short
    it only asks, and prints one line, empty where nothing needs a person; where none runs, it removes what a killed one
    left in the status line of the tmux server (-L, -S).

    \b
    Exit codes: 0; 1 the notes cannot be read; --short: 0 nothing needs a person, 1 no supervisor runs or answers,
                2 something does; 64 usage.
    Example:    stallkit status --json
    """
    if short:
        if target or as_json:
            raise click.UsageError("--short takes neither a target nor --json")
        ctx.exit(_short(socket_name, socket_path))
    rows, supervisors = watched_rows(target)
    if as_json:
        print_json({"version": 1, "sessions": rows, "supervisors": supervisors})
        return
    if not rows:
        click.echo("no session has been watched yet: stallkit watch --all")
        return
    from stallkit.cli.watch_table import sessions_table  # here: rich costs 60 ms

    noted_rows = [(row["target"], {**row, "error": _note(row)}) for row in rows]
    made = plain_console()
    if not made.is_terminal:
        made = plain_console(width=200)  # a pipe has no width: cut nothing
    made.print(sessions_table(noted_rows, made.width, wraps=True))


def _short(socket_name: str | None, socket_path: str | None) -> Exit:
    """Print the line for a status bar."""
    try:
        found = statuses(answer_s=SHORT_S)
    except DaemonSilent:
        click.echo("stallkit: does not answer")
        return Exit.ERROR
    if not found:
        if remove_dead():
            _clear_stale(socket_name, socket_path)
        click.echo("stallkit: not running")
        return Exit.ERROR
    from stallkit.supervise.summary import summary  # here: a table does without

    needs: set[tuple[Need, str]] = {
        (row["need"], row["target"]) for one in found for row in one["sessions"] if row["need"]
    }
    click.echo(shown(summary(needs)))
    return Exit.OK if all(need == "limit" for need, _ in needs) else Exit.STALLED


def _clear_stale(socket_name: str | None, socket_path: str | None) -> None:
    from stallkit.transports.base import Options  # here: it is rarely needed
    from stallkit.transports.tmux.call import Server
    from stallkit.transports.tmux.status_text import clear_stale

    with suppress(TransportError):
        clear_stale(Server(Options(socket_name, socket_path)))


def noted() -> Store | None:
    """The store of the supervisors, for reading; None where there is none yet.  Raises StoreError."""
    file = store_file()
    try:
        file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError("store", str(file), why, "make it readable, or set $STALLKIT_STATE_DIR") from error
    from stallkit.supervise.store import Store  # here: a line for a status bar does without, and often there is none

    store = Store(file, or_copy=True)
    warn_unwritable(file, store.unwritable)
    return store


def iso(at: float | None) -> str | None:
    """A time of the wall clock in ISO 8601; None where it is unknown or invalid."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):  # beyond the year 9999
        return None


def watched_rows(target: str | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each session, as it is now where a supervisor watches it, else as it was noted; and the supervisors."""
    rows, supervisors = {row["target"]: row for row in _noted_rows(target)}, []
    with suppress(DaemonSilent):
        for one in statuses():
            supervisors.append({key: one[key] for key in ("pid", "since", "policy", "summary")})
            for now in one["sessions"]:
                if target in (None, now["target"]) and now["seen_at"] is not None:
                    known = {"iteration": 1, "free_at": None, "free_time": None, **rows.get(now["target"], {})}
                    live = {"seen_time": iso(now["seen_at"]), "supervisor": one["pid"]}
                    rows[now["target"]] = {**known, **now, **live}
    return list(rows.values()), supervisors


def _noted_rows(target: str | None) -> list[dict[str, Any]]:
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
                "supervisor": None,
            }
        )
    return rows


def _note(row: dict[str, Any]) -> str:
    """The note behind the columns."""
    ago = f"seen {time.time() - row['seen_at']:.0f} s ago"
    held = f"held by {row['held']}" if row.get("held") else None  # an older store has no such note
    why = row["error"] or row["halted"] or held
    return f"{why}, {ago}" if why else ago


_INDENT = 4  # of the further lines of an incident


@click.command("incidents")
@click.argument("target", required=False, type=TARGET)
@click.option("--last", "limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
def incidents_command(target: str | None, limit: int, as_json: bool) -> None:
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
    made = plain_console()
    for one in found:
        facts = ", ".join(f"{key} {value}" for key, value in one["facts"].items() if value not in (None, "", []))
        at = datetime.fromtimestamp(one["at"]).astimezone()
        line = shown(f"{at:%Y-%m-%d %H:%M:%S}  {one['session'] or 'stallkit'}  {one['event']}  {facts}")
        for part in hanging(made, line, _INDENT) if made.is_terminal else [line]:
            click.echo(part)


@click.command("release")
@click.argument("target", type=TARGET)
@click.pass_context
def release_command(ctx: click.Context, target: str) -> None:
    """Let stallkit help a session again that its limits stopped: reset its counts, remove its .auto-stop.

    Nothing else lifts a halt.  Look at it first (stallkit incidents TARGET): it was stopped because helping it did not
    help.  An .auto-stop that stallkit did not write for it stays, and holds its keys until it is removed.

    \b
    Exit codes: 0 released; 1 it was not stopped, or the notes cannot be written.
    Example:    stallkit release tmux:worker1
    """
    from stallkit.supervise.loop_files import release
    from stallkit.supervise.store import Store

    store = Store(store_file())
    try:
        released = release(store, target)
    finally:
        store.close()
    if released is None:
        click.echo(shown(f"{target}: it was not stopped"), err=True)
        ctx.exit(Exit.ERROR)
    why, stop = released
    click.echo(shown(f"{target}: released, after {why}"))
    if stop is not None:
        click.echo(shown(f"stallkit: {stop} was not written for it, and holds its keys until it is removed"), err=True)
