"""The panel of an ended session: why it ended, when, its last screen, what it left, and the command that recovers."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Any, Iterator, Sequence

from attrs import field, frozen
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stallkit.cli.output import page_table, plain_console, shown
from stallkit.durations import in_words
from stallkit.json_form import SPREAD, alike
from stallkit.jsonio import dump
from stallkit.terminal.text import escaped
from stallkit_sessions.explain import THIRD, event_of, hints
from stallkit_sessions.model import STOPPED, Cause, ExitRecord, Status, signal_name

EARLIER = 3  # listed ends of the same name before it: enough to see whether they are alike
LINES, FEWEST = 15, 3  # of the last screen, so that the rest stays in view


def show(record: ExitRecord, earlier: Sequence[ExitRecord] = (), console: Console | None = None) -> None:
    """Print the panel; `earlier` are the ends of that name before it, the newest first."""
    console = console or plain_console()
    if not console.is_terminal:
        console = plain_console(file=console.file, width=120)  # a pipe has no width
    facts, commands = _facts(record, earlier), _commands(record, console)
    lines = _room(console, facts, commands) if console.is_terminal else LINES
    title, inside = Text(f"{shown(record.session.name)}: {record.cause}"), _inside(record, facts, lines)
    if console.is_terminal:
        colour = "dim" if event_of(record) == STOPPED else "red"
        console.print(Panel(inside, title=title, border_style=colour))
    else:  # a frame is in the way of grep
        page_table(console, title, inside)
    for command in commands:  # outside the frame and unwrapped, to be copied
        console.print(command, soft_wrap=True)


def _commands(record: ExitRecord, console: Console) -> list[Text]:
    """The commands to run, each with its purpose: behind it where that fits on one line, else above it."""
    found = []
    for command, purpose in hints(record):
        line, note = Text(f"  {escaped(command)}", "bold"), Text(f"  # {purpose}", "dim")
        fits = not console.is_terminal or line.cell_len + note.cell_len <= console.width
        found += [line.append_text(note)] if fits else [note, line]
    return found


def _room(console: Console, facts: Table, commands: Sequence[Text]) -> int:
    """How many lines of the last screen let the panel fit on the terminal, above a shell's prompt."""
    inside = console.options.update(width=max(1, console.width - 4))
    below = sum(-(-command.cell_len // console.width) for command in commands)
    return max(FEWEST, min(LINES, console.height - len(console.render_lines(facts, inside)) - below - 4))


def _inside(record: ExitRecord, facts: Table, lines: int) -> Group:
    """All that is known, with this many lines of the last screen."""
    parts: list[Any] = [facts]
    if record.screen:
        parts += [Text(_screen_title(record), "dim"), *(Text(shown(line)) for line in record.screen[-lines:])]
    return Group(*parts)


def _facts(record: ExitRecord, earlier: Sequence[ExitRecord]) -> Table:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _rows(record, earlier):
        facts.add_row(name, Text(shown(value)))
    return facts


def _rows(record: ExitRecord, earlier: Sequence[ExitRecord]) -> Iterator[tuple[str, str]]:
    session = record.session
    yield "cause", f"{record.cause}: {record.why}"
    lived = f", after {in_words(record.duration_s)}" if record.duration_s is not None else ""
    yield "when", f"{_moment(record)}{lived}"
    yield "exit", how(record)
    yield "command", " ".join(session.command)
    if record.earlier >= THIRD:
        yield "again", f"it died of this {record.earlier + 1} times in a row: starting it again may not help"
    elif record.earlier:
        yield "again", "it died of this last time too"
    for number, before in enumerate(earlier[:EARLIER]):
        incident = f", incident {before.incident}" if before.incident else ""
        yield "" if number else "earlier", f"{_moment(before)}  {ended(before)}{incident}"
    if len(earlier) > EARLIER:
        yield "", f"all of them: stallkit output --postmortem {shlex.quote(session.name)} --all"
    if record.incident:
        yield "incident", f"{record.incident}: other sessions died of the same cause (stallkit list names them)"
    if record.verdicts:
        yield "last seen", ", then ".join(_verdict(verdict) for verdict in record.verdicts)
    yield "worktree", _worktree(record)
    if session.engine and session.container:
        yield "container", _container(record)
    if session.ports:
        yield "ports", ", ".join(_port(port) for port in record.ports) or ", ".join(map(str, session.ports))


def how(record: ExitRecord) -> str:
    """The exit status and its source, or that it is unknown."""
    status = record.status
    if status is None:
        return "unknown: no process was there to see it"
    if status.signal is not None:
        number = f"signal {status.signal}"
        named = signal_name(status.signal)
        return f"{number if named == number else f'{number} {named}'} (says {status.source})"
    return f"code {status.code} (says {status.source})"


def ended(record: ExitRecord) -> str:
    """The end in a few words, for a table."""
    status = record.status
    if status is None:
        return f"{record.cause}, status unknown"
    return f"{record.cause}, " + (f"code {status.code}" if status.code is not None else f"signal {status.signal}")


@frozen
class Recovery:
    """A command that goes on from an end."""

    command: str
    purpose: str


@frozen
class EarlierEnd:
    """An end of the same name before it."""

    cause: Cause
    why: str
    ended_at: float
    duration_s: float | None
    status: Status | None
    incident: str | None


@frozen
class PrintedEnd:
    """How a session ended, the commands that recover it, and the ends before it, the newest first."""

    record: ExitRecord = field(metadata=SPREAD)
    recovery: tuple[Recovery, ...]
    earlier_ends: tuple[EarlierEnd, ...]


def as_json(record: ExitRecord, earlier: Sequence[ExitRecord] = ()) -> dict[str, Any]:
    """The record for programs; `earlier` are the ends before it, the newest first."""
    before = tuple(alike(EarlierEnd, one) for one in earlier[:EARLIER])
    return dump(PrintedEnd(record, tuple(Recovery(*one) for one in hints(record)), before))


def _moment(record: ExitRecord) -> str:
    return f"{datetime.fromtimestamp(record.ended_at).astimezone():%Y-%m-%d %H:%M:%S}"


def _verdict(verdict: dict[str, Any]) -> str:
    asks = f" for {verdict['kind']}" if verdict.get("kind") else ""
    by = f" ({verdict['signature']})" if verdict.get("signature") else ""
    return f"{verdict.get('state', 'unknown')}{asks}{by}"


def _worktree(record: ExitRecord) -> str:
    found = record.worktree
    if found is None:
        return f"{record.session.directory} is not in a git worktree"
    if "why" in found:
        return f"{record.session.directory}: {found['why']}"
    unpushed = found.get("unpushed")
    commits = "unpushed commits unknown" if unpushed is None else f"{unpushed} unpushed commits"
    branch, changed = found.get("branch") or "no branch", found.get("dirty", 0)
    return f"{record.session.directory}: {branch}, {changed} changed files, {commits}"


def _container(record: ExitRecord) -> str:
    session, found = record.session, record.container or {}
    facts = ", ".join(f"{name} {value}" for name, value in found.items() if value not in (None, "", [], {}))
    return f"{session.engine} {session.container} of {session.image}: {facts or 'nothing else is known'}"


def _port(port: dict[str, Any]) -> str:
    who = port.get("listener")
    return f"{port['port']} ({'held by ' + str(who) if who else 'free'})"


def _screen_title(record: ExitRecord) -> str:
    if record.screen_at is not None and record.ended_at - record.screen_at > 1.5:
        return f"Its screen, last seen to change {in_words(record.ended_at - record.screen_at)} before:"
    return "Its last screen:"
