"""What is known of the machines that are watched over ssh, and how it is shown: a table, or lines of JSON."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any, Sequence

import click
from attrs import define, field, frozen
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from stallkit.cli.output import shown
from stallkit.cli.states import look_of
from stallkit.errors import StallkitError
from stallkit.jsonio import dump
from stallkit.press.events import Event
from stallkit_supervisor.cli.watch_table import LiveRows, apart, state_of

# --- what is known of a host ---

SESSIONS = 1_000  # of a host; the oldest are forgotten
_LONGEST = 500  # characters of a text that is shown


@frozen
class Row:
    """What a session does, or a host itself."""

    host: str
    session: str
    state: str
    since: float
    asks: str = ""


@define
class Host:
    """A machine that is watched.  While it cannot be reached, nothing is known of its sessions."""

    name: str
    since: float = field(factory=time.time)
    state: str = "connecting"  # then watched, or unreachable
    why: str = ""
    left_out: int = 0  # lines that are no events
    seen: dict[str, Row] = field(factory=dict)  # by session, as it was last told of
    unseen: dict[str, Row] = field(factory=dict)  # what is gone, or could not be looked at

    def take(self, event: dict[str, Any], now: float) -> None:
        """Note what an event says; the times are those of this machine, whatever the clock there says."""
        target, name, why = event["target"], event["event"], text_of(event, "why")
        if self.state != "watched":
            self.state, self.since = "watched", now
        self.why = why if name == "no_session" else ""
        if target and "state" in event:
            asks = text_of(event, "line" if event["state"] == "waiting" else "message") or why
            state = state_of({key: text_of(event, key) for key in ("state", "kind", "certainty")})
            before, since = self.seen.get(target), now - _waited_s(event, now)
            if before and (before.state.rstrip("?"), before.asks) == (state.rstrip("?"), asks):
                since = min(since, before.since)
            self.seen[target] = Row(self.name, target, state, since, asks)
        if target and name in ("gone", "could_not_look"):
            self.unseen[target] = Row(self.name, target, "gone" if name == "gone" else "unknown", now, why)
        else:
            self.unseen.pop(target, None)
        for rows in (self.seen, self.unseen):
            if len(rows) > SESSIONS:
                del rows[next(iter(rows))]

    def lost(self, why: str, now: float) -> bool:
        """Note that it cannot be reached, and why; whether that is news."""
        news = (self.state, self.why) != ("unreachable", why)
        if self.state != "unreachable":
            self.since = now
        self.state, self.why = "unreachable", why
        self.seen.clear()
        self.unseen.clear()
        return news

    def rows(self) -> list[Row]:
        """A row for each session; one for itself if it has none, or cannot be reached."""
        rows = [*{**self.seen, **self.unseen}.values()]
        return rows or [Row(self.name, "", self.state, self.since, self.why)]


def text_of(event: dict[str, Any], key: str) -> str:
    """The beginning of a fact that is a text; empty if it is none."""
    value = event.get(key)
    return value[:_LONGEST] if isinstance(value, str) else ""


def _waited_s(event: dict[str, Any], most: float) -> float:
    value = event.get("waited_s")
    return min(max(value, 0), most) if isinstance(value, int | float) else 0


# --- how it is shown ---


class Lines:
    """Each event as a line of JSON; one line on standard error about a host that cannot be reached."""

    def event(self, event: dict[str, Any]) -> None:
        """Print an event."""
        click.echo(json.dumps(event))

    def lost(self, host: Host, error: StallkitError) -> None:
        """Print that a host cannot be reached, for programs and for a person."""
        since = datetime.fromtimestamp(host.since, UTC).isoformat(timespec="milliseconds")
        facts = {"host": host.name, "why": error.why, "since": since, "left_out": host.left_out}
        click.echo(json.dumps(dump(Event("unreachable", "", facts))))
        click.echo(f"stallkit: {shown(error)}", err=True)


_COLUMNS = (" ", "host", "session", "state", "since", "asks")
_IN_THE_TABLE = ("detection", "no_session", "start", "still")  # events that it shows by itself


def hosts_table(rows: Sequence[Row], width: int) -> Table:
    """The rows, those that need a person first, for a terminal of so many columns."""
    room = max(12, width // 5)
    hosts = apart([shown(row.host) for row in rows], room)
    sessions = apart([shown(row.session) for row in rows], room)
    lines = [
        (look_of(row.state).mark, host, session, shown(row.state), _clock(row.since), shown(row.asks))
        for host, session, row in zip(hosts, sessions, rows, strict=True)
    ]
    widths = [max([cell_len(name), *(cell_len(line[at]) for line in lines)]) for at, name in enumerate(_COLUMNS)]
    widths[-1] = max(1, min(widths[-1], width - sum(each + 2 for each in widths[:-1])))
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name, each in zip(_COLUMNS, widths, strict=True):
        made.add_column(name, overflow="ellipsis", no_wrap=True, width=each)
    for row, line in zip(rows, lines, strict=True):
        styles = {" ": look_of(row.state).colour, "state": look_of(row.state).colour}
        made.add_row(*(Text(text, styles.get(name, "")) for name, text in zip(_COLUMNS, line, strict=True)))
    return made


def _urgency(row: Row) -> tuple[int, bool, str, str]:
    return look_of(row.state).urgency, not row.asks, row.host, row.session


def _clock(at: float) -> str:
    there = datetime.fromtimestamp(at)
    return f"{there:%H:%M:%S}" if there.date() == datetime.now().date() else f"{there:%m-%d %H:%M}"


class HostsTable(LiveRows):
    """A row for each session of each host, the latest events below."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        super().__init__()
        self._hosts = hosts

    def event(self, event: dict[str, Any]) -> None:
        """Show an event below the table, if that does not say it already."""
        if event["event"] not in _IN_THE_TABLE:
            of = "/".join(filter(None, (event["host"], text_of(event, "target"))))
            why = text_of(event, "why")
            self.add(datetime.now(), of, f" {text_of(event, 'event')}", why and f": {why}")

    def lost(self, host: Host, error: StallkitError) -> None:
        """Show that a host cannot be reached."""
        self.add(datetime.now(), error)

    def draw(self, room: int) -> tuple[Table, str]:
        """The table, of at most so many rows, and what is left out."""
        rows = sorted((row for host in self._hosts for row in host.rows()), key=_urgency)
        said = [f"and {len(rows) - room} more"] if len(rows) > room else []
        said += [f"{host.name}: {host.left_out} lines are no events" for host in self._hosts if host.left_out]
        return hosts_table(rows[:room], self.console.width), ", ".join(said)
