"""The table of ``stallkit watch`` in a terminal: a row for each session, the latest events below."""

from __future__ import annotations

import time
from collections import Counter, deque
from datetime import datetime
from typing import Any, Iterable, Mapping, Self, Sequence

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stallkit.cli.output import hanging, plain_console, shown
from stallkit.cli.states import Look, look_of
from stallkit.durations import in_words
from stallkit.press.events import Event
from stallkit.terminal.text import cells, cut
from stallkit_supervisor.supervisor import Supervisor

# --- what a row on a watched session says ---


def look(row: Mapping[str, Any]) -> Look:
    """Its mark, its colour and its place in a list."""
    return look_of("halted" if row["halted"] else row["state"])


def state_of(row: Mapping[str, Any]) -> str:
    """The state in one column: what it does, what it asks for, and a question mark if that is not sure."""
    asks = f": {row['kind']}" if row["kind"] else ""
    return f"{row['state']}{asks}{'?' if row['certainty'] == 'maybe' else ''}"


def still_s(row: Mapping[str, Any], now: float) -> float | None:
    """For how many seconds nothing has changed there; None if that is unknown."""
    since = row.get("still_since")  # an older store has no such note
    return None if since is None else max(0.0, now - datetime.fromisoformat(since).timestamp())


def noted(row: Mapping[str, Any], target: str) -> str:
    """Why it is not as it should be, or what a person hears of; mostly nothing."""
    if row["halted"]:
        return f"halted: {row['halted']}; to go on: stallkit stuck release {target}"
    held = f"held by {row['held']}" if row.get("held") else ""  # an older store has no such note
    why = row["error"] or held or ("waits for a limit" if row["waits_for_quota"] else "")
    needs = row.get("needs")
    if why or not needs or needs["what"] == row["state"].replace("waiting", "waits"):
        return str(why)
    return f"{needs['what']} since {datetime.fromisoformat(needs['since']).astimezone():%H:%M}"


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, each in so many cells, and no two of them alike: the middle of a long one is left out.

    >>> apart(["tmux:build", "tmux:review-of-the-parser-1", "tmux:review-of-the-parser-2"], 16)
    ['tmux:build', 'tmux:re…parser-1', 'tmux:re…parser-2']
    """
    for tail in range(room // 2, room - 2):
        short = [middle_cut(name, room, tail) for name in names]
        if max(Counter(short).values(), default=1) == max(Counter(names).values(), default=1):
            return short
    return list(names)


def middle_cut(name: str, room: int, tail: int) -> str:
    """The name in so many cells, `tail` of them its end: the middle of a long one is left out."""
    if cells(name) <= room:
        return name
    end = name[::-1]
    while cells(end) > tail:
        end = end[:-1]
    return f"{cut(name, room - 1 - cells(end)).rstrip()}…{end[::-1]}"


LATEST = 8  # lines for events below the table
_FACTS = ("keys", "outcome", "signature", "reason", "would")
_MARK = " "  # the head of the column of marks
_COLUMNS = (_MARK, "session", "state", "for", "in front", "signature", "pressed", "")
_SPARED = ("signature", "pressed", "in front")  # left out in this order, where there is no room
_SHORTENED = {"session": 20, "": 16}  # shortened before a column is left out, down to this many cells
_GAP = 2  # between columns
_INDENT = 9  # of the further lines of an event: behind its time


def sessions_table(rows: Iterable[tuple[str, dict[str, Any]]], width: int) -> Table:
    """Sessions by name, each with its `Watched.as_object`, a row each, for a terminal of `width` columns.

    Columns that have no room are left out; long names and notes are shortened, and names stay apart.
    """
    now = time.time()
    cells = [_cells(name, row, now) for name, row in rows]
    named = _that_fit(cells, width)
    taken = sum(_widest(cells, name) + _GAP for name in named if name not in _SHORTENED)
    note = min(_widest(cells, ""), max(_SHORTENED[""], width - taken - _GAP - _widest(cells, "session")))
    room = max(_SHORTENED["session"], width - taken - (note + _GAP if note else 0))
    for row, name in zip(cells, apart([row["session"].plain for row in cells], room), strict=True):
        row["session"] = Text(name, row["session"].style)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in named:  # where the table is too wide, rich narrows just the one that may be
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=None if name == "" else _least(cells, name))
    for row in cells:
        table.add_row(*(row[name] for name in named))
    return table


def _cells(name: str, row: dict[str, Any], now: float) -> dict[str, Text]:
    """One session's row, by column."""
    still = still_s(row, now)
    row_cells = (
        Text(look(row).mark, look(row).colour),
        Text(shown(name), "bold" if look(row).urgency == 0 else ""),
        Text(shown(state_of(row)), look(row).colour),
        Text("" if still is None else in_words(still)),
        Text(shown(row["foreground"] or "")),
        Text(shown(row["signature"] or "")),
        Text(str(row["recoveries"] or "")),
        Text(shown(noted(row, name))),
    )
    return dict(zip(_COLUMNS, row_cells, strict=True))


def _widest(cells: list[dict[str, Text]], name: str) -> int:
    return max([cell_len(name), *(row[name].cell_len for row in cells)])


def _least(cells: list[dict[str, Text]], name: str) -> int:
    """How narrow a column may be."""
    return max(cell_len(name), min(_widest(cells, name), _SHORTENED.get(name, _widest(cells, name))))


def _that_fit(cells: list[dict[str, Text]], width: int) -> list[str]:
    named = list(_COLUMNS)
    for spared in _SPARED:
        if sum(_least(cells, name) + _GAP for name in named) - _GAP <= width:
            break
        named.remove(spared)
    return named


class LiveRows:
    """A table that is drawn again and again while it is entered, with the latest lines below."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or plain_console()
        self._latest: deque[str] = deque(maxlen=LATEST)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._live = Live(console=self.console, get_renderable=self._render, refresh_per_second=2, transient=False)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._live is not None
        self._live.stop()

    def draw(self, room: int) -> tuple[Table, str]:
        """The table, of at most so many rows, and the words below it."""
        raise NotImplementedError

    def add(self, at: datetime, *parts: object) -> None:
        """A line, below the table."""
        self._latest.append(shown(f"{at:%H:%M:%S} ", *parts))

    def _render(self) -> Group:
        table, below = self.draw(max(3, self.console.height - LATEST - 4))
        # The cursor rests on an empty line: a ^C that the terminal prints there is wiped with it.
        return Group(table, Text(below, "dim"), *self._lines(), Text())

    def _lines(self) -> list[Text]:
        """The latest lines, as many as have room, each in full."""
        lines: list[str] = []
        for line in reversed(tuple(self._latest)):  # it is drawn by another thread
            parts = hanging(self.console, line, _INDENT)
            if lines and len(lines) + len(parts) > LATEST:
                break
            lines = [*parts, *lines]
        return [Text.assemble((line[:_INDENT], "dim"), line[_INDENT:], no_wrap=True) for line in lines[:LATEST]]


class LiveTable(LiveRows):
    """The sessions of a supervisor; `event` must be called with each event."""

    def __init__(self, supervisor: Supervisor, console: Console | None = None) -> None:
        super().__init__(console)
        self._supervisor = supervisor

    def event(self, event: Event) -> None:
        """Show an event; what a look found is in the table already, and what nobody heard of needs no end."""
        if event.name != "detection" and event.facts.get("told", True):
            facts = event.facts
            details = [str(facts["why"])] if facts.get("why") else []
            details += [f"{key} {facts[key]}" for key in _FACTS if facts.get(key)]
            head = f" {event.name}{': ' if details else ''}"
            self.add(event.at.astimezone(), event.target or "stallkit", head, ", ".join(details))

    def draw(self, room: int) -> tuple[Table, str]:
        """The table, of at most so many rows, and how many more there are."""
        rows = [(name, watched.as_object()) for name, watched in list(self._supervisor.sessions.items())]
        rows.sort(key=lambda row: (look(row[1]).urgency, row[0]))
        left_out = f"and {len(rows) - room} more" if len(rows) > room else ""
        return sessions_table(rows[:room], self.console.width), left_out
