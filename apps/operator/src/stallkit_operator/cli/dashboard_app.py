"""The screen of ``stallkit dashboard``: what waits above, all sessions below it, the chosen one, a line for commands.

It decides nothing: a key writes a command, Enter hands it to `Desk`.  Text from elsewhere is shown as it is, without
control characters, and never read as markup.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import CancelledError
from typing import Callable, ClassVar, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from stallkit_supervisor.cli.watch_table import apart, middle_cut
from textual import work
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.widgets import DataTable, Input, Static

from stallkit.cli.output import hanging, plain_console, shown
from stallkit.errors import StallkitError
from stallkit_operator.board import Board, FarItem, Row, host_of, key_of, name_of, ref_of
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.cli.stuck_commands import age, item_lines
from stallkit_operator.item import Item
from stallkit_operator.orders import BY_ITSELF, Elsewhere, Look, Order, Quit, Triage, by_itself, read_line, ref

# --- what the dashboard is drawn with ---

_SHARES = {"session": 4, "no": 6, "host": 11}  # columns of names: where these are long, up to that part of a terminal
_SPARED = ("branch", "age", "kind", "since", "agent", "host")  # left out in this order, where the last has no room
_LEAST = 16  # columns for the last one
_GAP = 2  # between columns


class Table(DataTable[Text]):
    """Rows by key; the cursor stays on its row when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "app.command", show=False)]

    def __init__(self, id: str) -> None:
        super().__init__(id=id, cursor_type="row", show_row_labels=False, cell_padding=0)
        self._was: tuple[list[str], list[tuple[str, int]], list[list[str]]] = ([], [], [])  # keys, columns, cells

    def fill(self, columns: dict[str, int], rows: list[tuple[str, list[str]]]) -> None:
        """Show these rows, each with a key and its cells, in columns of at least that width."""
        columns, cells = dict(columns), [dict(zip(columns, row, strict=True)) for _, row in rows]
        for name in _SHARES.keys() & columns:
            names = [row[name] for row in cells]
            widest = max(map(cell_len, names), default=0)
            columns[name] = max(columns[name], min(widest, self.size.width // _SHARES[name]))
            for row, short in zip(cells, apart(names, columns[name]), strict=True):
                row[name] = short
        named = _that_fit(columns, self.size.width)
        rest = max(8, self.size.width - sum(columns[name] + _GAP for name in named) + _GAP - 1)
        widths = [(name, columns[name] + _GAP if columns[name] else rest) for name in named]
        drawn = [[_fitted(row[name], columns[name] or rest) for name in named] for row in cells]
        keys, before = [key for key, _ in rows], self._was
        self._was = (keys, widths, drawn)
        if before[:2] == (keys, widths):
            self._redraw(before[2], drawn)
            return
        chosen = self.chosen
        self.clear(columns=True)
        for name, width in widths:
            self.add_column(name, width=width)
        for key, texts in zip(keys, drawn, strict=True):
            self.add_row(*map(_cell, texts), key=key)
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


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _cell(text: str) -> Text:
    return Text(text, no_wrap=True)


def _that_fit(columns: dict[str, int], width: int) -> list[str]:
    """The columns of a table that leave the last one room, on a terminal as wide as that."""
    named = list(columns)
    for spared in _SPARED:
        if sum(columns[name] + _GAP for name in named) + _LEAST <= width:
            break
        named = [name for name in named if name != spared]
    return named


_T = TypeVar("_T")
EVERY_S = 1.0  # between two looks
_QUEUE = {"no": 4, "age": 5, "session": 14, "kind": 13, "asks": 0}  # columns and their cells; 0: the rest
_SESSIONS = {"session": 14, "is": 10, "since": 5, "agent": 9, "branch": 10, "asks": 0}
_QUEUE_OF_FLEET = {"host": 4, **_QUEUE}
_SESSIONS_OF_FLEET = {"host": 4, **_SESSIONS, "is": 11}  # unreachable
_WIDE, _NAMED = 60, 8  # columns of a terminal with room for every word; of a name in the title of its details
_SET_IN = 4  # columns before what is left of a long line: it begins where none of our own lines does
_VIEWS = ("screen", "history", "manifest")
_BY_LETTER = ("write", "edit", "reload", "waive", "next", "rebuild", "window", "view", "command", "quit")
_COMMIT = re.compile(r"(?<![0-9a-f])(?:sha256:)?(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_REMEDIES = {"credential": "routes", "egress": "egress"}


class Dashboard(App[None]):
    """The dashboard, over one desk."""

    TITLE = "stallkit"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    #title { height: 1; text-style: bold; }
    DataTable { background: ansi_default; color: ansi_default; scrollbar-size: 1 1; overflow-x: hidden; }
    #queue { height: 25%; min-height: 5; }
    #sessions { height: 25%; min-height: 5; }
    DataTable > .datatable--header { text-style: bold underline; background: ansi_default; color: ansi_default; }
    DataTable > .datatable--cursor { text-style: none; background: ansi_default; color: ansi_default; }
    DataTable:focus > .datatable--cursor { text-style: reverse; }
    #about { height: 1; text-style: bold underline; }
    #detail { height: 1fr; scrollbar-size: 1 1; background: ansi_default; }
    #said { height: auto; min-height: 1; max-height: 3; }
    Input, Input:focus { height: 1; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    Input > .input--placeholder { color: ansi_default; text-style: dim; }
    Input > .input--cursor { text-style: reverse; }
    #keys { dock: bottom; height: auto; link-style: none; link-color: ansi_default; link-background: ansi_default; }
    """
    # By priority: the key after it, however soon, then finds the focus where this one put it.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "write('r')", "reply", priority=True),
        Binding("a", "write('approve')", "approve", priority=True),
        Binding("d", "write('decline')", "decline", priority=True),
        Binding("o", "write('answer')", "option", priority=True),
        Binding("i", "write('triage')", "triage", priority=True),
        Binding("e", "edit", "edit", priority=True),
        Binding("c", "reload", show=False, priority=True),
        Binding("x", "waive", show=False, priority=True),
        Binding("b", "rebuild", "rebuild", priority=True),
        Binding("w", "window", "tmux", priority=True),
        Binding("n", "next", show=False, priority=True),
        Binding("v", "view", show=False, priority=True),
        Binding("colon", "command", show=False, priority=True),
        Binding("q", "quit", "quit", priority=True),
        Binding("escape", "leave", show=False),
    ]

    def __init__(self, desk: Desk, every_s: float = EVERY_S) -> None:
        super().__init__(ansi_color=True)
        self.desk, self.board, self._every_s = desk, Board(at=0), every_s
        self._view = _VIEWS[0]
        self._asked: Board | None = None  # while a command is written: what was shown when it was begun
        self._nth = 0  # of what waits of the session under the cursor
        self._over: Item | None = None  # what `show` was asked for, until the cursor goes elsewhere

    def compose(self) -> ComposeResult:
        yield Static("stallkit", id="title")
        yield Table("queue")
        yield Table("sessions")
        yield Static(id="about")
        with VerticalScroll(id="detail"):
            yield Static(id="text")
        yield Static(id="said")
        yield Input(placeholder=": r 3 try again, approve 3, routes edit web", select_on_focus=False)
        keys = [one for one in self.BINDINGS if isinstance(one, Binding) and one.show]
        told = [f"[@click=app.{one.action}][b]{one.key}[/b]\N{NO-BREAK SPACE}{one.description}[/]" for one in keys]
        yield Static(" ".join(told), id="keys")  # on two rows, where one has no room

    def on_mount(self) -> None:
        self.query_one("#queue").focus()
        self.look()
        self.set_interval(self._every_s, self.look)

    @work(thread=True, exclusive=True, group="look")
    def look(self) -> None:
        """Read what is there now, and show it."""
        try:
            board = self.desk.board()
        except StallkitError as error:
            why = str(error)
            self._drawn(lambda: self.say(why))
            return
        self._drawn(lambda: self._show(board))

    def _show(self, board: Board) -> None:
        if board.at < self.board.at:
            return  # a slow read
        self.board = board
        now = time.time()
        told = f"{len(board.items)} wait for a person   {len(board.rows)} sessions"
        told += f"   {shown(board.trouble)}" if board.trouble else ""
        self._tell("#title", told if self.size.width < _WIDE else f"stallkit   {told}")
        queue, sessions = (_QUEUE_OF_FLEET, _SESSIONS_OF_FLEET) if board.host else (_QUEUE, _SESSIONS)
        items = [(ref_of(one), _item_cells(one, now, board.host)) for one in board.items]
        self.query_one("#queue", Table).fill(queue, items)
        rows = [(row.key, _row_cells(row, now, board.host)) for row in board.rows]
        self.query_one("#sessions", Table).fill(sessions, rows)
        self.detail()

    def on_data_table_row_highlighted(self) -> None:
        self._over, self._nth = None, 0
        self.detail()

    def on_descendant_focus(self) -> None:
        self.detail()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self._show(self.board))

    @property
    def chosen(self) -> tuple[Row | None, Item | None]:
        """The session and the item that the cursor is on."""
        if self._over is not None:
            return self.board.row(key_of(self._over)), self._over
        sessions, queue = self.query_one("#sessions", Table), self.query_one("#queue", Table)
        asked = self._asked or self.board
        if sessions.has_focus or not queue.chosen:
            row = self.board.row(sessions.chosen)
            items = asked.of(row) if row else []
            return row, items[self._nth % len(items)] if items else None
        item = asked.item(queue.chosen)
        return (self.board.row(key_of(item)) if item else None), item

    @work(thread=True, exclusive=True, group="detail")
    def detail(self) -> None:
        """Read and show what the cursor is on."""
        row, item = chosen = self._drawn(lambda: self.chosen) or (None, None)
        lines, view, width = [], self._view, max(20, self.size.width - 2)
        try:
            if item is not None and (view == _VIEWS[0] or host_of(item)):
                lines += [*item_lines(item, width, host_of(item)), ""]
            if row is not None:
                read = {"screen": self.desk.screen, "history": self.desk.history, "manifest": self.desk.manifest}
                told = row.facts if row.host else read[view](row)
                on = plain_console(width=width)
                lines += [part for line in told for part in hanging(on, line, _SET_IN)]
        except StallkitError as error:
            lines.append(shown(error))
        name = row.key.removeprefix("/") if row else item.session if item else ""
        mine = self.board.of(row) if row else []
        several = f" {mine.index(item) + 1} of {len(mine)} (n)" if item in mine and len(mine) > 1 else ""
        about = self._about(shown(name), several, "" if row and row.host else view) if name else ""
        self._drawn(lambda: self._show_detail(chosen, about, "\n".join(lines)))

    def _about(self, name: str, which: str, view: str) -> str:
        """Whose details these are, which of them, and that `v` shows the others, if there are any."""
        others = [one for one in _VIEWS if one != view]
        rest = which
        if view:
            rest += f"   {view} (v: {', '.join(others if self.size.width >= _WIDE else others[:1])})"
        room = max(_NAMED, self.size.width - len(rest))
        return middle_cut(name, room, room // 2) + rest

    def _show_detail(self, of: tuple[Row | None, Item | None], about: str, text: str) -> None:
        if _names(of) != _names(self.chosen):
            return  # a slow read: the cursor is elsewhere by now
        self._tell("#about", about)
        self._tell("#text", text, wraps=False)

    def _drawn(self, call: Callable[[], _T]) -> _T | None:
        """Call it, from another thread, where the screen is drawn; None where the dashboard was left meanwhile."""
        try:
            return self.call_from_thread(call)
        except (CancelledError, NoMatches, RuntimeError, ScreenStackError):
            return None

    def say(self, what: str) -> None:
        """Show the outcome of the last command."""
        self._tell("#said", shown(what))

    def _tell(self, place: str, text: str, wraps: bool = True) -> None:
        self.query_one(place, Static).update(Text(text, no_wrap=not wraps))

    # --- keys: each writes a command ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a command is written, a letter is a letter."""
        return None if action in _BY_LETTER and isinstance(self.focused, Input) else True

    def action_write(self, verb: str) -> None:
        _, item = self.chosen
        if item is None:
            self.say("nothing of it waits for a person")
            return
        self.say("   ".join(f"{one.id} {one.name}" for one in item.options))  # they may be out of sight below
        self._write(f"{verb} {ref_of(item)}" + ("" if verb == "approve" else " "))

    def action_edit(self) -> None:
        row, item = self.chosen
        if row is not None:
            remedy = _REMEDIES.get((item and item.category) or "", "routes")
            self._write(f"{remedy} edit {row.name}")

    def action_reload(self) -> None:
        row, _ = self.chosen
        if row is not None:
            self._write(f"routes reload {row.name}")

    def action_waive(self) -> None:
        _, item = self.chosen
        commit = _COMMIT.search(item.words) if item is not None else None
        if item is None or commit is None:
            self.say("nothing that it asks names a commit or a hash: write waive SUBJECT --why WHY")
            return
        self._write(f"waive {commit[0]} --item {item.id} --why ")

    def action_next(self) -> None:
        self._nth += 1
        self.detail()

    def action_rebuild(self) -> None:
        row, item = self.chosen
        if row is not None:
            self._write(f"rebuild {item.id if item is not None else row.name}")

    def action_command(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        row, item = self.chosen
        verb, host = text.partition(" ")[0], host_of(item) if item else row.host if row else ""
        if host and verb in BY_ITSELF:
            self.say(by_itself(verb, host))
            return
        line = self.query_one(Input)
        line.value = text
        self._asked = self.board  # an answer is to what was shown when it was begun
        line.cursor_position = len(text)
        self.screen.set_focus(line)  # at once: what is typed next belongs there

    def action_leave(self) -> None:
        self._asked = None
        self.query_one(Input).value = ""
        self.screen.set_focus(self.query_one("#queue" if self.board.items else "#sessions"))

    def action_view(self) -> None:
        self._view = _VIEWS[(_VIEWS.index(self._view) + 1) % len(_VIEWS)]
        self.query_one("#detail").scroll_home(animate=False)
        self.detail()

    @work(thread=True, group="window")
    def action_window(self) -> None:
        row, _ = self._drawn(lambda: self.chosen) or (None, None)
        if row is None:
            return
        try:
            words = self.desk.window(row)
        except (StallkitError, ValueError) as error:
            why = str(error)
            self._drawn(lambda: self.say(why))
            return
        self._drawn(lambda: self._call(words, False))

    # --- the line ---

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line, asked, looked_at = event.value, self._asked or self.board, self._over
        if not line.strip():
            self.action_leave()
            return
        try:
            order = read_line(line, asked.host)
        except ValueError as error:
            self.say(str(error))
            return
        self.action_leave()
        match order:
            case Quit():
                self.exit()
            case Elsewhere(words):
                self._elsewhere(words, asked)
            case Look():
                self._look_at(order)
            case _:
                self.say(f"{line} ...")
                name = ref(order.host if isinstance(order, Order) else "", order.id)
                shown_whole = looked_at is not None and ref_of(looked_at) == name
                self._do(order, looked_at if shown_whole else asked.item(name))

    @work(thread=True, group="do")
    def _do(self, order: Order | Triage, seen: Item | None) -> None:
        try:
            told = self.desk.do(order, seen)
        except (StallkitError, ValueError) as error:
            told = str(error)
        self._drawn(lambda: self.say(told))
        self._drawn(self.look)

    def _elsewhere(self, words: tuple[str, ...], asked: Board) -> None:
        try:
            self.desk.shown(asked.items)
        except StallkitError as error:
            self.say(str(error))
            return
        self._call(self.desk.itself(words), True)

    def _look_at(self, look: Look) -> None:
        try:
            self._over = self.board.item(ref(look.host, look.id)) or self.desk.item(look)
        except (StallkitError, ValueError) as error:
            self.say(str(error))
            return
        self._view = _VIEWS[0]
        self.detail()

    def _call(self, words: list[str], wait: bool) -> None:
        """Give the terminal to a program, and take it back."""
        with self.suspend():
            self.desk.call(words, wait)
        self.refresh(layout=True)
        self.look()


def _names(chosen: tuple[Row | None, Item | None]) -> tuple[str | None, str | None]:
    row, item = chosen
    return row.key if row else None, ref_of(item) if item else None


def _item_cells(item: Item, now: float, own: str = "") -> list[str]:
    """Of its columns; `own` is what this machine is called in its fleet, if there is a column for that."""
    host = [host_of(item) or own] if own else []
    kind = f"{item.kind or 'notice'}{f' [{item.category}]' if item.category else ''}"
    kind = kind if item.state == "input_required" else str(item.state)
    if isinstance(item, FarItem) and not item.alive:
        kind = "unreachable"
    return [*host, ref_of(item), age(now - item.created), shown(name_of(item.session)), kind, shown(item.line)]


def _row_cells(row: Row, now: float, own: str = "") -> list[str]:
    host = [row.host or own] if own else []
    since = age(now - row.since) if row.since is not None else ""
    asks = shown(f"{row.kind}: " if row.kind else "", row.asks)
    return [*host, *map(shown, (row.name, row.state, since, row.agent, row.branch)), asks]
