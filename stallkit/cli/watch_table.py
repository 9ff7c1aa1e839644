"""The table that ``stallkit watch`` keeps in a terminal: a row a session, below it what happened last."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Any, Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import shown
from stallkit.press.events import Event
from stallkit.supervise.supervisor import Supervisor

__all__ = ["LiveTable", "sessions_table"]

LATEST = 8  # events below the table
_COLOURS = {"waiting": "yellow", "quota": "magenta", "ended": "red", "gone": "red", "unknown": "red", "idle": "cyan"}
_URGENCY = {"waiting": 0, "idle": 2, "working": 3}  # what a person is needed for stands first
_TOLD = ("why", "keys", "outcome", "signature", "reason", "would")


def sessions_table(rows: Iterable[tuple[str, dict[str, Any]]]) -> Table:
    """Sessions by name, each with what `Watched.as_object` says of it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("session", "is", "asks for", "signature", "in front", "still for", "pressed", ""):
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    for name, row in rows:
        state = row["state"] if row["certainty"] != "maybe" else f"{row['state']}?"
        note = row["error"] or row["halted"] or ("waits for a limit" if row["waits_for_quota"] else "")
        table.add_row(
            Text(shown(name)),
            Text(state, _COLOURS.get(row["state"], "")),
            row["kind"] or "",
            Text(row["signature"] or ""),
            Text(shown(row["foreground"] or "")),
            f"{row['unchanged']} beats" if row["unchanged"] else "",
            str(row["recoveries"] or ""),
            Text(shown(note)),
        )
    return table


class LiveTable:
    """Shown while it is entered; `event` is to be called with each event."""

    def __init__(self, supervisor: Supervisor, console: Console | None = None) -> None:
        self._supervisor = supervisor
        self._latest: deque[Text] = deque(maxlen=LATEST)
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=2, transient=False)

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._live.stop()

    def event(self, event: Event) -> None:
        """Something happened; what a look shows is in the table already."""
        if event.name != "detection":
            told = ", ".join(f"{key} {event.facts[key]}" for key in _TOLD if event.facts.get(key))
            line = f"{event.at.astimezone():%H:%M:%S} {event.target or 'stallkit'} {event.name} {told}"
            self._latest.append(Text(shown(line), overflow="ellipsis", no_wrap=True))

    def _render(self) -> Group:
        rows = [(name, watched.as_object()) for name, watched in self._supervisor.sessions.items()]
        rows.sort(key=lambda row: (_URGENCY.get(row[1]["state"], 1), row[0]))
        room = max(3, self._live.console.height - LATEST - 4)
        left_out = f"and {len(rows) - room} more" if len(rows) > room else ""
        return Group(sessions_table(rows[:room]), Text(left_out, "dim"), *self._latest)
