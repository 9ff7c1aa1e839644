"""``stallkit report``: what an event log says happened, in some ten lines; also what ``watch --summary`` prints."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Iterable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import TARGET, print_json
from stallkit.cli.output import Exit, progress, shown, wide_console
from stallkit.config import event_log
from stallkit.durations import in_words, seconds_of
from stallkit.errors import UnknownName
from stallkit_supervisor.cli.status_commands import iso, list_incidents
from stallkit_supervisor.log_report import LogReader, Report, SessionReport, Wait, reported
from stallkit_supervisor.notification import ClearedBy, ending

SESSIONS = 7  # in a table, unless all are asked for
_DAY_S = 86_400.0
_WORDS = {"usage": "usage limit", "help": "limit of help"}
_ENDS = {"session_crashed": "crashed", "session_drop": "vanished", "session_stopped": "stopped", "gone": "gone"}
_COLUMNS = ("session", "now", "waited for", "in all", "answered", "besides")


@click.command("report")
@click.argument("target", required=False, type=TARGET)
@click.option(
    "--since",
    default="12h",
    show_default=True,
    metavar="WHEN",
    help="Since then: a span (90m, 12h, 2d), 22:00, or a date and time.",
)
@click.option("--log", type=click.Path(path_type=Path), help="Read this log, not the one in the state directory.")
@click.option("--all", "everything", is_flag=True, help="Every session, also those to which nothing happened.")
@click.option("--incidents", is_flag=True, help="Instead: each press, notice, limit and end, newest last.")
@click.option("--last", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many incidents.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
def report_command(
    target: str | None, since: str, log: Path | None, everything: bool, incidents: bool, last: int, as_json: bool
) -> None:
    """Say what happened to the watched sessions: who waited for what, how long, who answered, what still waits.

    It reads the event log and its rotated files, even while supervisors write to them.

    \b
    Exit codes: 0 nothing waits, or with --incidents; 1 the log cannot be read; 2 something still waits, as far as the
                log says; 64 usage, or the log knows no such session.
    Example:    stallkit report --since 22:00
                stallkit report --incidents tmux:worker1 --last 10
    """
    if incidents:
        list_incidents(target, last, as_json)
        return
    summarise(event_log(log), since_when(since, datetime.now().astimezone()), target, everything, as_json)


def summarise(
    log: Path,
    since: float,
    target: str | None = None,
    everything: bool = False,
    as_json: bool = False,
    stderr: bool = False,
) -> None:
    """Print what a log says happened since then, and to one session alone if `target` names it."""
    reader = LogReader(log)
    with progress(log.name) as told:
        begun = time.monotonic()
        events = reader.events(since, lambda share: told(time.monotonic() - begun, f"{share:.0%}"))
        report = reported(events, since)
    if target is not None:
        name = target.removeprefix("tmux:")
        if name not in report.sessions and name not in reported(reader.events(0.0)).sessions:
            raise UnknownName("report", name, "the log has no such session", "stallkit report --all lists them")
        report.sessions = {one: found for one, found in report.sessions.items() if one == name}
    print_report(report, reader.unreadable, everything, as_json, stderr)
    if reader.unreadable:
        lines = "1 line is no event" if reader.unreadable == 1 else f"{reader.unreadable} lines are no events"
        click.echo(f"stallkit: {shown(log)}: {lines}, and left out", err=True)
    if not stderr:
        leave_by(report)


def print_report(report: Report, unreadable: int, everything: bool, as_json: bool, stderr: bool = False) -> None:
    """Print what happened, for a person or as JSON."""
    if as_json:
        print_json(_as_object(report, unreadable))
    else:
        _show(wide_console(stderr=stderr), report, everything)


def leave_by(report: Report) -> None:
    """Exit as the report says: whether something still waits."""
    if any(one.open for one in report.sessions.values()):
        click.get_current_context().exit(Exit.STALLED)


def since_when(text: str, now: datetime) -> float:
    """The moment that is meant, in seconds of the wall clock.  Raises click.UsageError."""
    with suppress(ValueError):
        if not text.strip().isdecimal():  # a year, or nothing that has a unit
            return now.timestamp() - seconds_of(text)
    try:
        if re.fullmatch(r"\d{1,2}:\d\d", text):
            hour, minute = map(int, text.split(":"))
            at = now.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
            return at if at <= now.timestamp() else at - _DAY_S
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise click.UsageError(f"--since {text!r}: write a span (90m, 12h, 2d), 22:00, or 2026-11-22T22:00") from None


# --- for a person ---


def _show(console: Console, report: Report, everything: bool) -> None:
    if report.begun is None or report.ended is None:
        click.echo("nothing happened, as far as the log says", err=console.stderr)
        return
    now = report.ended if report.watching == 0 else max(report.ended, time.time())
    for line in _head(report, now):
        console.print(Text(shown(line)))
    rows = sorted(
        report.sessions.values(), key=lambda one: (one.open is None, -one.blocked_s(now), one.quiet, one.name)
    )
    told = rows if everything else [one for one in rows if not one.quiet][:SESSIONS]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS:
        table.add_column(_cell(name))
    for one in told:
        table.add_row(*(_cell(shown(cell), "yellow" if one.open else "") for cell in _cells(one, now)))
    if told:
        console.print(table)
    if len(rows) > len(told):
        quiet = sum(one.quiet for one in rows)
        left = len(rows) - len(told) - quiet
        parts = [f"{left} more (--all)"] * bool(left) + [f"{quiet} of which there is nothing to tell"] * bool(quiet)
        console.print(Text(f"and {', '.join(parts)}"))


def _cell(text: str, style: str = "") -> Text:
    """A session is one line: what has no room is cut, in the widest column first."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _head(report: Report, now: float) -> list[str]:
    """The span, and what all sessions add up to."""
    assert report.begun is not None and report.ended is not None
    sessions = report.sessions.values()
    waits = [wait for one in sessions for wait in one.waits]
    over = Counter(wait.by for wait in waits if wait.by and wait.until is not None)
    still = sum(wait.until is None for wait in waits)
    line = f"{_clock(report.begun)} to {_clock(report.ended)}: {_count(len(sessions), 'session')}"
    line += f", {_count(len(waits), 'wait')}"
    line += f" of {in_words(sum(wait.blocked_s(now) for wait in waits))} in all" if waits else ""
    order = (ClearedBy.STALLKIT, *sorted(set(over) - set(ClearedBy)), *list(ClearedBy)[1:])
    line += "".join(f", {over[by]} {ending(by)}" for by in order if over[by])
    lines = [f"{line}, {still} still open" if still else line]
    if report.watching == 0:
        lines.append(f"no supervisor watches any more: what follows is as of {_clock(report.ended)}")
    return lines


def _cells(one: SessionReport, now: float) -> Iterable[str]:
    waited = Counter(wait.label for wait in one.waits)
    yield one.name
    yield _now(one, now)
    yield ", ".join(name if count == 1 else f"{name} {count}x" for name, count in waited.most_common())
    yield in_words(one.blocked_s(now)) if one.waits else ""
    yield ", ".join(f"{who} {count}" for who, count in sorted(_answered(one).items()))
    yield ", ".join(_besides(one))


def _now(one: SessionReport, now: float) -> str:
    wait = one.open
    if wait is not None:
        return f"still {wait.label} {in_words(wait.blocked_s(now))}"
    return f"stopped: {one.halted}" if one.halted else one.state


def _answered(one: SessionReport) -> Counter[str]:
    """How many waits each one answered, with the prompts that stallkit answered before anybody heard of them."""
    found = Counter(wait.by for wait in one.waits if wait.until is not None and wait.by)
    found["stallkit"] = max(found["stallkit"], one.pressed)
    return +found


def _besides(one: SessionReport) -> Iterable[str]:
    if one.restarts:
        yield _count(one.restarts, "restart")
    if one.restarts_failed:
        yield f"{_count(one.restarts_failed, 'restart')} without success"
    yield from (_WORDS[name] + f" {count}x" * (count > 1) for name, count in one.limits.items())
    if one.resumed:
        yield f"resumed {one.resumed}x"
    if one.not_pressed:
        yield f"{_count(one.not_pressed, 'answer')} without effect"
    yield from (_ENDS[name] + f" {count}x" * (count > 1) for name, count in one.ends.items())
    if one.troubles:
        yield f"{one.troubles}x in trouble"


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"


# --- for a program ---


def _as_object(report: Report, unreadable: int) -> dict[str, Any]:
    return {
        "version": 1,
        "begun": iso(report.begun),
        "ended": iso(report.ended),
        "events": report.events,
        "unreadable": unreadable,
        "watching": report.watching,
        "troubles": report.troubles,
        "sessions": [_session(one, report.ended or 0.0) for one in report.sessions.values()],
    }


def _session(one: SessionReport, now: float) -> dict[str, Any]:
    return {
        "session": one.name,
        "state": one.state or None,
        "halted": one.halted or None,
        "seen": iso(one.seen),
        "waits": [_wait(wait, now) for wait in one.waits],
        "blocked_s": round(one.blocked_s(now), 3),
        "still_waits": one.open is not None,
        "pressed": one.pressed,
        "not_pressed": one.not_pressed,
        "restarts": one.restarts,
        "restarts_failed": one.restarts_failed,
        "resumed": one.resumed,
        "failures": dict(one.failures),
        "limits": dict(one.limits),
        "ends": dict(one.ends),
        "troubles": one.troubles,
        "turns": one.turns,
    }


def _wait(wait: Wait, now: float) -> dict[str, Any]:
    return {
        "what": wait.what,
        "about": wait.about or None,
        "since": iso(wait.since),
        "until": iso(wait.until),
        "blocked_s": round(wait.blocked_s(now), 3),
        "by": wait.by,
        "told": wait.told,
    }
