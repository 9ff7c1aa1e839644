"""``stallkit status``, ``incidents`` and ``release``: what the watched sessions do, and what happened to them.

The supervisors that run say it, else it is as they noted it.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, Collection, Iterator, Mapping

import click

from stallkit.cli.common import TARGET, Duration, print_json, session_options, warn_unwritable
from stallkit.cli.output import PIPE, Exit, hanging, note, page, paint, plain_console, say, shown
from stallkit.cli.verb_group import like
from stallkit.config import store_file
from stallkit.daemon_socket import DaemonSilent
from stallkit.durations import in_words
from stallkit.errors import StoreError, TransportError, UnknownName
from stallkit.terminal.text import cells
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit_supervisor.cli.watch_table import look, state_of, still_s
from stallkit_supervisor.cli.watch_table import noted as notes
from stallkit_supervisor.loop_files import release
from stallkit_supervisor.status_text import StatusNeed, clear_stale, summary
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor_socket import remove_dead, statuses

SHORT_S = 0.25  # for each supervisor to answer: a status bar waits for the line
_BESIDES = 40  # columns for what stands behind the state
_OLD_S = 15.0  # since it was seen: three times as long as between two looks


@click.command("status")
@click.argument("target", required=False, type=TARGET)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@click.option("--short", is_flag=True, help="Print one line for a status bar: which session needs what.")
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
    """Show what every watched session does, or one of them.  Without a supervisor: what it last did.

    It asks each supervisor that runs, and reads their notes, even after they were killed.  With --short it only asks,
    and prints one line, which is empty if nothing needs you.  If no supervisor runs, --short removes what a killed one
    left in the status line of the tmux server (-L, -S).

    \b
    Exit codes: 0; 1 the notes cannot be read; 64 no supervisor has watched TARGET;
                --short: 0 nothing needs a person, 1 no supervisor runs or answers,
                2 something does.
    Example:    stallkit status --json
    """
    if short:
        if target or as_json:
            raise click.UsageError("--short takes neither a target nor --json")
        ctx.exit(_short(socket_name, socket_path))
    rows, supervisors = watched_rows()
    if target is not None:
        named = watched_as(target, [row["target"] for row in rows])
        rows = [row for row in rows if row["target"] == named]
    if as_json:
        print_json({"version": 1, "sessions": rows, "supervisors": supervisors})
        return
    for line in _head(rows, supervisors):
        click.echo(line)
    for line in _lines(rows):
        click.echo(line)


def watched_as(target: str, known: Collection[str]) -> str:
    """The name by which supervisors know a session: a plain one is that of a tmux session.

    Raises UnknownName for one that none of them has watched.
    """
    for name in (target, f"tmux:{target}"):
        if name in known:
            return name
    why = f"no supervisor has watched it{like(target, list(known))}"
    raise UnknownName("session", target, why, "stallkit status lists all")


def known_to(store: Store) -> list[str]:
    """The sessions that a supervisor has ever watched."""
    return [row["name"] for row in store.sessions()]


def _head(rows: list[dict[str, Any]], supervisors: list[dict[str, Any]]) -> Iterator[str]:
    """Who watches, or that nobody does: then what follows is old."""
    for one in supervisors:
        yield shown(f"watched by process {one['pid']} since {_clock(one['since'])}, policy {one['policy']}")
    if not rows:
        yield "no session has been watched yet: stallkit watch --all"
    elif not supervisors:
        last = max(row["seen_at"] or 0.0 for row in rows)
        yield f"no watcher runs: this is how it was {moment(last)}; stallkit watch --all"


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each session, who waits first; its name has a line of its own if there is no room, and so has a note.

    On a terminal a mark is before it: a script reads the name first.
    """
    rows = sorted(rows, key=lambda row: look(row).urgency)
    now, wide = time.time(), shutil.get_terminal_size((PIPE, 24)).columns if sys.stdout.isatty() else PIPE
    names, states = [shown(row["target"]) for row in rows], [shown(state_of(row)) for row in rows]
    state_room = max(map(cells, states), default=0)
    room = min(max(map(cells, names), default=0), wide - state_room - _BESIDES)
    for row, name, state in zip(rows, names, states, strict=True):
        wider, looks = cells(name) > room, look(row)
        mark = f"{paint(looks.mark, fg=looks.colour)} " if sys.stdout.isatty() else ""
        if wider:
            yield mark + name
        begin = "" if wider else name
        painted = paint(state, fg=looks.colour) + " " * (state_room - cells(state))
        line = f"{'' if wider else mark}{begin}{' ' * (room - cells(begin))}  {painted}"
        how_long = _how_long(still_s(row, now), now, bool(row["supervisor"]))
        rest = ", ".join(filter(None, (how_long, shown(row["foreground"] or ""))))
        by = f", {shown(row['signature'])}" if row["signature"] else ""
        whole = f"{line}  {rest}"
        if cells(click.unstyle(whole)) > wide:
            yield from (line.rstrip(), f"    {rest}")
        else:
            yield (whole + by if cells(click.unstyle(whole + by)) <= wide else whole).rstrip()
        old = f"seen {moment(row['seen_at'])}" if row["seen_at"] and now - row["seen_at"] > _OLD_S else ""
        besides = ", ".join(filter(None, (notes(row, row["target"]), old if row["supervisor"] else "")))
        if besides:
            yield f"    {shown(besides)}"


def _how_long(still: float | None, now: float, watched: bool) -> str:
    """For how long nothing has changed, where somebody looks; else when it was so."""
    if still is None:
        return ""
    since = _clock(now - still)
    return f"for {in_words(still)}, since {since}" if watched else f"at {since}, {in_words(still)} ago"


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

    needs: set[tuple[StatusNeed, str]] = {
        (row["need"], row["target"]) for one in found for row in one["sessions"] if row["need"]
    }
    click.echo(summary(needs))
    return Exit.OK if all(need == "limit" for need, _ in needs) else Exit.STALLED


def _clear_stale(socket_name: str | None, socket_path: str | None) -> None:
    with suppress(TransportError):
        clear_stale(Server(Options(socket_name, socket_path)))


def noted() -> Store | None:
    """The store of the supervisors, for reading; None if there is none yet.  Raises StoreError."""
    file = store_file()
    try:
        file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError("store", str(file), why, "make it readable, or set $STALLKIT_STATE_DIR") from error

    store = Store(file, or_copy=True)
    warn_unwritable(file, store.unwritable)
    return store


def iso(at: float | None) -> str | None:
    """A time of the wall clock in ISO 8601; None if it is unknown or invalid."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):  # beyond the year 9999
        return None


def watched_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each session, as it is now where a supervisor watches it, else as it was noted; and the supervisors."""
    rows, supervisors = {row["target"]: row for row in _noted_rows()}, []
    with suppress(DaemonSilent):
        for one in statuses():
            supervisors.append({key: one[key] for key in ("pid", "since", "policy", "summary")})
            for now in one["sessions"]:
                if now["seen_at"] is not None:
                    known = {"iteration": 1, "free_at": None, "free_time": None, **rows.get(now["target"], {})}
                    live = {"seen_time": iso(now["seen_at"]), "supervisor": one["pid"]}
                    rows[now["target"]] = {**known, **now, **live}
    return list(rows.values()), supervisors


def _noted_rows() -> list[dict[str, Any]]:
    store = noted()
    if store is None:
        return []
    with closing(store):
        found = store.sessions()
    rows = []
    for row in found:
        if row["status"] is not None:
            free_at = row["free_at"] if row["waits_since"] is not None else None
            noted_row = {"target": row["name"], **json.loads(row["status"]), "seen_at": row["seen_at"]}
            noted_row |= {"seen_time": iso(row["seen_at"]), "iteration": row["iteration"], "halted": row["halted"]}
            rows.append({**noted_row, "free_at": free_at, "free_time": iso(free_at), "supervisor": None})
    return rows


def moment(at: float | None) -> str:
    """A time of the wall clock, exact and as people say it."""
    return "at an unknown time" if not at else f"at {_clock(at)}, {in_words(time.time() - at)} ago"


def _clock(at: float) -> str:
    """The time of that day, and which day it was unless it is today."""
    then = datetime.fromtimestamp(at).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == datetime.now().astimezone().date() else f"{then:%Y-%m-%d %H:%M}"


# --- incidents ---

_INDENT = 4  # of the further lines of an incident
_TOLD = ("kind", "line", "keys", "outcome", "end", "limit", "error", "cause", "waits", "would")  # of its facts


def list_incidents(target: str | None, limit: int, as_json: bool) -> None:
    """Print the latest incidents, newest last: presses, escalations, limits, ends."""
    store = noted()
    with closing(store) if store else nullcontext():
        if target is not None:
            target = watched_as(target, known_to(store) if store else ())
        found = store.incidents(target, limit) if store else []
    if as_json:
        print_json({"version": 1, "incidents": [{**one, "time": iso(one["at"])} for one in found]})
        return
    if found:
        page("\n".join(line for one in found for line in _incident(one)))
    else:
        click.echo(f"no incident is on record{f' of {shown(target)}' if target else ''}")
    with suppress(DaemonSilent):
        if not statuses():
            note("no watcher runs now: stallkit watch --all")


def told_of(facts: Mapping[str, Any]) -> str:
    """What a person hears of an incident: why, and what it was about."""
    said = [str(facts["why"])] if facts.get("why") else []
    for name in _TOLD:
        if (value := facts.get(name)) not in (None, "", []):
            said.append(f"{name} {'; '.join(map(str, value)) if isinstance(value, list) else value}")
    return ", ".join(said)


def _incident(one: dict[str, Any]) -> Iterator[str]:
    """When, whom and what; why, and what it was about.  Two lines on a terminal, one in a pipe."""
    facts = one["facts"]
    at = datetime.fromtimestamp(one["at"]).astimezone()
    ago = in_words(time.time() - one["at"])
    head = shown(f"{at:%Y-%m-%d %H:%M:%S}  {ago} ago  {one['session'] or 'stallkit'}  {one['event']}")
    body = shown(told_of(facts))
    if not sys.stdout.isatty():
        yield f"{head}  {body}".rstrip()
        return
    on = plain_console()
    yield from hanging(on, head, _INDENT)
    if body:
        yield from hanging(on, " " * _INDENT + body, _INDENT)


@click.command("release", short_help="Help a session again after its limits stopped that.")
@click.argument("target", type=TARGET)
@click.pass_context
def release_command(ctx: click.Context, target: str) -> None:
    """Let stallkit help a session again after a limit stopped it: reset the counts, remove its .auto-stop.

    Nothing else lifts a halt.  Look at it first (stallkit report --incidents TARGET): it was stopped because helping
    did not help.  An .auto-stop that stallkit did not write for it stays, and holds its keys until it is removed.

    \b
    Exit codes: 0 released; 1 it was not stopped, or the notes cannot be written; 64 it was never watched.
    Example:    stallkit stuck release tmux:worker1
    """
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        released = release(store, target)
    if released is None:
        click.echo(shown(target, ": it was not stopped"), err=True)
        ctx.exit(Exit.ERROR)
    why, stop = released
    say(shown(target, f": released, after {why}"))
    if stop is not None:
        click.echo(shown(f"stallkit: {stop} was not written for it, and blocks its keys until you remove it"), err=True)


# --- ``stallkit stuck mute`` and ``unmute`` ---


@click.command("mute", short_help="Send no notices of a session for a while.")
@click.argument("target", type=TARGET)
@click.option("--for", "for_s", type=Duration("m", above=True), help="Mute it this long; a bare number is minutes.")
def mute_command(target: str, for_s: float | None) -> None:
    """Send no notices about a session: about its present prompt, or for a time about anything.

    Nothing else changes: stallkit watches it, presses what a policy allows, and logs every prompt.

    \b
    Exit codes: 0 muted; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit stuck mute tmux:worker1 --for 90m
    """
    until = None if for_s is None else time.time() + for_s
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        store.mute(target, until)
    till = "what it waits for now is over" if until is None else f"{datetime.fromtimestamp(until).astimezone():%H:%M}"
    say(shown(target, f": no notices about it until {till}"))


@click.command("unmute", short_help="Send notices of a session again.")
@click.argument("target", type=TARGET)
def unmute_command(target: str) -> None:
    """Send notices about a session again.

    \b
    Exit codes: 0 notices are sent again; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit stuck unmute tmux:worker1
    """
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        store.unmute(target)
    say(shown(target, ": its notices are sent again"))
