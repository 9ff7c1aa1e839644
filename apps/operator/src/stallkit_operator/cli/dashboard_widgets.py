"""What the dashboard is drawn with: tables and texts that cost nothing where nothing changed."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from stallkit_supervisor.cli.watch_rows import apart
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable, Static

__all__ = ["NAME", "Table", "Told"]

NAME = "session"  # the column that has up to a quarter of a wide terminal, where names are long
_SPARED = ("branch", "age", "kind", "since", "agent")  # left out in this order, where the last column has no room
_LEAST = 16  # columns for the last one
_GAP = 2  # between columns


class Table(DataTable[Text]):
    """Rows by key; the cursor stays on its row when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "app.command", show=False)]

    def __init__(self, columns: dict[str, int], id: str) -> None:
        super().__init__(id=id, cursor_type="row", show_row_labels=False, cell_padding=0)
        self._columns = columns
        self._was: tuple[list[str], list[tuple[str, int]], list[list[str]]] = ([], [], [])  # keys, columns, cells

    def fill(self, rows: list[tuple[str, list[str]]]) -> None:
        """Show these rows, each with a key and its cells."""
        at = [*self._columns].index(NAME)
        names = [row[at] for _, row in rows]
        widest = max(map(cell_len, names), default=0)
        room = max(self._columns[NAME], min(widest, self.size.width // 4))
        for (_, row), name in zip(rows, apart(names, room), strict=True):
            row[at] = name
        columns = {**self._columns, NAME: room}
        named = _that_fit(columns, self.size.width)
        rest = max(8, self.size.width - sum(columns[name] + _GAP for name in named) + _GAP - 1)
        widths = [(name, columns[name] + _GAP if columns[name] else rest) for name in named]
        cells = [[cell for name, cell in zip(self._columns, row, strict=True) if name in named] for _, row in rows]
        keys, before = [key for key, _ in rows], self._was
        self._was = (keys, widths, cells)
        if before[:2] == (keys, widths):
            self._redraw(before[2], cells)
            return
        chosen = self.chosen
        self.clear(columns=True)
        for name, width in widths:
            self.add_column(name, width=width)
        for key, row in zip(keys, cells, strict=True):
            self.add_row(*map(_cell, row), key=key)
        if chosen in keys:
            self.move_cursor(row=self.get_row_index(chosen))

    def _redraw(self, before: list[list[str]], cells: list[list[str]]) -> None:
        """Draw the cells that changed: mostly an age."""
        for y, (old, new) in enumerate(zip(before, cells, strict=True)):
            for x, (was, text) in enumerate(zip(old, new, strict=True)):
                if was != text:
                    self.update_cell_at(Coordinate(y, x), _cell(text))

    @property
    def chosen(self) -> str:
        """The key of the row under the cursor; empty where there is none."""
        rows = self.ordered_rows
        return str(rows[self.cursor_row].key.value) if 0 <= self.cursor_row < len(rows) else ""


def _cell(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


class Told(Static):
    """Text that is laid out only where it is another one."""

    def __init__(self, text: str, id: str, wraps: bool = True) -> None:
        super().__init__(text, id=id, markup=False)
        self._text, self._wraps = text, wraps

    def tell(self, text: str) -> None:
        """Show this text."""
        if text != self._text:
            self._text = text
            self.update(Text(text, no_wrap=not self._wraps))


def _that_fit(columns: dict[str, int], width: int) -> list[str]:
    """The columns of a table that leave the last one room, on a terminal as wide as that."""
    named = list(columns)
    for spared in _SPARED:
        if sum(columns[name] + _GAP for name in named) + _LEAST <= width:
            break
        named = [name for name in named if name != spared]
    return named
