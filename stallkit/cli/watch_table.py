"""The table of ``stallkit watch`` in a terminal: a row for each session, the latest events below."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from types import TracebackType
from typing import Any, Iterable

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import hanging, plain_console, shown
from stallkit.press.events import Event
from stallkit.supervise.supervisor import Supervisor

__all__ = ["LiveTable", "sessions_table"]

LATEST = 8  # lines for events below the table
_COLOURS = {"waiting": "yellow", "quota": "magenta", "ended": "red", "gone": "red", "unknown": "red", "idle": "cyan"}
_URGENCY = {"waiting": 0, "idle": 2, "working": 3}  # sessions that need a person come first
_FACTS = ("keys", "outcome", "signature", "reason", "would")
_COLUMNS = ("session", "is", "asks for", "signature", "in front", "still for", "pressed", "")
_SPARED = ("signature", "pressed", "in front", "still for")  # left out in this order, where there is no room
_SHORTENED = {"session": 20, "": 16}  # shortened before a column is left out, down to this many cells
_GAP = 2  # between columns
_INDENT = 9  # of the further lines of an event: behind its time


def sessions_table(rows: Iterable[tuple[str, dict[str, Any]]], width: int, wraps: bool = False) -> Table:
    """Sessions by name, each with its `Watched.as_object`, for a terminal of `width` columns.

    Columns that have no room are left out; long names and notes are shortened, or wrapped with `wraps`.
    """
    cells = [_cells(name, row) for name, row in rows]
    named = _that_fit(cells, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in named:  # where the table is too wide, rich narrows just those columns that may be wrapped
        table.add_column(name, overflow="fold" if wraps else "ellipsis", no_wrap=name not in _SHORTENED)
    for row in cells:
        for name in _SHORTENED:
            row[name].no_wrap = not wraps
        table.add_row(*(row[name] for name in named))
    return table


def _cells(name: str, row: dict[str, Any]) -> dict[str, Text]:
    """One session's row, by column."""
    state = row["state"] if row["certainty"] != "maybe" else f"{row['state']}?"
    held = f"held by {row['held']}" if row.get("held") else ""  # an older store has no such note
    note = row["error"] or row["halted"] or held or ("waits for a limit" if row["waits_for_quota"] else "")
    needs = row.get("needs")
    if needs and not note and needs["what"] != row["state"].replace("waiting", "waits"):
        note = f"{needs['what']} since {datetime.fromisoformat(needs['since']).astimezone():%H:%M}"
    row_cells = (
        Text(shown(name)),
        Text(shown(state), _COLOURS.get(row["state"], "")),
        Text(shown(row["kind"] or "")),
        Text(shown(row["signature"] or "")),
        Text(shown(row["foreground"] or "")),
        Text(f"{row['unchanged']} beats" if row["unchanged"] else ""),
        Text(str(row["recoveries"] or "")),
        Text(shown(note)),
    )
    return dict(zip(_COLUMNS, row_cells, strict=True))


def _that_fit(cells: list[dict[str, Text]], width: int) -> list[str]:
    """The columns that fit in this width."""
    least = {}
    for name in _COLUMNS:
        widest = max((row[name].cell_len for row in cells), default=0)
        least[name] = max(cell_len(name), min(widest, _SHORTENED.get(name, widest)))
    named = list(_COLUMNS)
    for spared in _SPARED:
        if sum(least[name] + _GAP for name in named) - _GAP <= width:
            break
        named.remove(spared)
    return named


class LiveTable:
    """Shown while it is entered; `event` is to be called with each event."""

    def __init__(self, supervisor: Supervisor, console: Console | None = None) -> None:
        self._supervisor, self._console = supervisor, console or plain_console()
        self._latest: deque[str] = deque(maxlen=LATEST)
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=2, transient=False)

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._live.stop()

    def event(self, event: Event) -> None:
        """Show an event; what a look found is in the table already, and what nobody was told of needs no end."""
        if event.name != "detection" and event.facts.get("told", True):
            what, facts = f"{event.target or 'stallkit'} {event.name}", event.facts
            details = [str(facts["why"])] if facts.get("why") else []
            details += [f"{key} {facts[key]}" for key in _FACTS if facts.get(key)]
            line = f"{event.at.astimezone():%H:%M:%S} {what}{': ' if details else ''}{', '.join(details)}"
            self._latest.append(shown(line))

    def _render(self) -> Group:
        rows = [(name, watched.as_object()) for name, watched in list(self._supervisor.sessions.items())]
        rows.sort(key=lambda row: (_URGENCY.get(row[1]["state"], 1), row[0]))
        room = max(3, self._console.height - LATEST - 4)
        left_out = f"and {len(rows) - room} more" if len(rows) > room else ""
        table = sessions_table(rows[:room], self._console.width)
        # The cursor rests on an empty line: a ^C that the terminal prints there is wiped with it.
        return Group(table, Text(left_out, "dim"), *self._events(), Text())

    def _events(self) -> list[Text]:
        """The latest events, as many as have room, each in full."""
        lines: list[str] = []
        for line in reversed(tuple(self._latest)):  # it is drawn by another thread
            parts = hanging(self._console, line, _INDENT)
            if lines and len(lines) + len(parts) > LATEST:
                break
            lines = [*parts, *lines]
        return [Text(line, no_wrap=True) for line in lines[:LATEST]]
