"""The screen of ``stallkit dashboard``: one list, who waits for a person first, and beside it what that session shows.

It decides nothing: a key writes a command, Enter hands it to `Desk`.  Text from elsewhere is shown as it is, without
control characters, and never read as markup.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import CancelledError
from typing import Callable, ClassVar, TypeVar

from rich.cells import cell_len
from rich.text import Text
from stallkit_supervisor.cli.watch_table import apart
from textual import work
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.widgets import DataTable, Footer, HelpPanel, Input, Static

from stallkit.cli.output import shown
from stallkit.cli.states import look_of
from stallkit.errors import StallkitError
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped
from stallkit_operator.board import Board, Entry, Row, host_of, key_of, name_of, ref_of
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.cli.stuck_commands import age
from stallkit_operator.item import Delivery, Item, Source
from stallkit_operator.orders import (
    BY_ITSELF,
    Elsewhere,
    Look,
    Order,
    Quit,
    Triage,
    by_itself,
    read_line,
    ref,
    ways,
)

# --- the list ---

_SPARED = ("branch", "agent", "state", "age", "host")  # left out in this order, where the last column has no room
_NAMES = {"session": 4, "host": 8, "": 6}  # columns of names: where these are long, up to that part of the width
_LEAST = 18  # columns for the last one
_GAP = 2  # columns between two


class Sessions(DataTable[Text]):
    """The list; the cursor stays on its row when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.window", "go there", key_display="↵"),
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
    ]

    def fill(self, rows: dict[str, dict[str, Text]]) -> None:
        """Show these rows by key, each with its cells by column, as far as there is room."""
        widths = self._fitted(list(rows.values()))
        if ([*rows], widths) != ([row.key.value for row in self.ordered_rows], self._widths):
            chosen, at = self.chosen, self.cursor_row
            self.clear(columns=True)
            for name, width in widths.items():
                self.add_column(Text(name), width=width, key=name)
            for key, row in rows.items():
                self.add_row(*(row[name] for name in widths), key=key)
            self.move_cursor(row=self.get_row_index(chosen) if chosen in rows else at)
        for y, row in enumerate(rows.values()):
            for x, name in enumerate(widths):
                if self.get_cell_at(Coordinate(y, x)) != row[name]:  # mostly an age
                    self.update_cell_at(Coordinate(y, x), row[name])

    def _fitted(self, rows: list[dict[str, Text]]) -> dict[str, int]:
        """The columns that have room, and how wide each is; names that are too long lose their middle."""
        room = self.size.width - 1  # for a scrollbar
        widths = {name: max(len(name), *(row[name].cell_len for row in rows)) for name in rows[0]} if rows else {}
        for name in _NAMES.keys() & widths:
            widths[name] = min(widths[name], max(6, room // _NAMES[name]))
            for row, short in zip(rows, apart([row[name].plain for row in rows], widths[name]), strict=True):
                row[name] = Text(short, row[name].style)
        for spared in _SPARED:
            if self._left(widths, room) >= _LEAST:
                break
            widths.pop(spared, None)
        return {**widths, "asks": max(1, self._left(widths, room))} if widths else {}

    @staticmethod
    def _left(widths: dict[str, int], room: int) -> int:
        """Columns for the last one."""
        return room - sum(width + _GAP for name, width in widths.items() if name != "asks") - _GAP

    @property
    def _widths(self) -> dict[str, int]:
        return {str(column.key.value): column.width for column in self.ordered_columns}

    @property
    def chosen(self) -> str:
        """The key of the row under the cursor; empty where there is none."""
        rows = self.ordered_rows
        return str(rows[self.cursor_row].key.value) if 0 <= self.cursor_row < len(rows) else ""


def cells_of(one: Entry, now: float, own: str = "") -> dict[str, Text]:
    """A row of the list, by column; `own` is what this machine is called in its fleet, if it is in one."""
    look, item = look_of(one.state), one.item
    kind = one.state if not item or one.state != "waiting" else item.category or item.kind or "notice"
    texts = {
        "": f"{look.mark} {ref_of(item) if item else ''}".rstrip(),
        **({"host": one.row.host or own} if own else {}),
        "session": shown(one.row.name),
        "state": shown(kind),
        "age": "" if one.since is None else age(now - one.since),
        "agent": shown(one.row.agent),
        "branch": shown(one.row.branch),
        "asks": shown(one.asks) or ("" if item else shown(one.state)),
    }
    styles = {"": f"bold {look.colour}", "state": look.colour, "session": "bold" if item else "", "age": "dim"}
    return {name: Text(text, styles.get(name, ""), no_wrap=True, overflow="ellipsis") for name, text in texts.items()}


# --- what the cursor is on ---

_KEYS = {  # what each key writes or does
    "a": "approve",
    "d": "decline",
    "r": "reply",
    "o": "answer",
    "i": "triage",
    "e": "edit",
    "c": "reload",
    "b": "rebuild",
    "↵": "window",
}


def asked(item: Item) -> Text:
    """What is asked, the options, and what each key does about it, safe to show."""
    whole = item.source is Source.AGENT or not item.open or host_of(item)
    text = Text("\n".join(map(escaped, redact(item.words if whole else item.line).strip().split("\n"))), "bold")
    text = Text().append_text(text).append("\n")
    for option in item.options if item.open else ():
        about = f": {option.about}" if option.about else ""
        row = shown(f"{'❯' if option.selected else ' '} {option.id} ", option.name, about)
        text.append(f"\n{row}", "cyan" if option.selected else "")
    text.append("\n" if item.options and item.open else "")
    told = ways(item)
    for key, what in _KEYS.items():
        if what in told:
            text.append(f"\n{key}", "bold cyan").append(shown("  ", told[what]))
    if item.open and item.delivery is Delivery.LATER:
        text.append("\nnobody waits for the reply: it is typed into its composer, or kept for its next stuck", "dim")
    if not item.open:
        text.append(shown(f"\n{item.state}{item.how}", f": {item.text}" if item.text else ""), "dim")
    return text


_T = TypeVar("_T")
EVERY_S = 1.0  # between two looks
_VIEWS = ("screen", "history", "manifest")
_BY_LETTER = ("option", "edit", "reload", "waive", "rebuild", "window", "view", "filter", "command", "help", "quit")
_SHORT = {"reply": "r"}
_COMMIT = re.compile(r"(?<![0-9a-f])(?:sha256:)?(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_REMEDIES = {"credential": "routes", "egress": "egress"}


class Line(Input):
    """A line that is written below all else, while it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "do it", key_display="↵")]


class Dashboard(App[None]):
    """The dashboard, over one desk."""

    TITLE = "stallkit"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-narrow"), (100, "-wide")]
    CSS = """
    Screen, DataTable, Footer, FooterKey, Input { background: ansi_default; color: ansi_default; }
    #title { height: 1; padding: 0 1; }
    #all, #left { layout: vertical; }
    .-wide #all { layout: horizontal; }
    .-wide #left { width: 2fr; }
    .-wide #view { width: 3fr; height: 1fr; }
    .-narrow #left { height: auto; max-height: 65%; }
    #list, #asks, #view { border: round ansi_bright_black; border-title-style: bold; scrollbar-size: 1 1; }
    #list:focus, #view:focus { border: round ansi_green; border-title-color: ansi_green; }
    #list { height: auto; max-height: 50%; min-height: 4; overflow-x: hidden; }
    .-wide #list { height: 1fr; max-height: 100%; }
    .-narrow #list { max-height: 9; }
    #asks { height: auto; max-height: 60%; border: round ansi_yellow; border-title-color: ansi_yellow; padding: 0 1; }
    .-narrow #asks { max-height: 12; }
    #view { height: 1fr; padding: 0 1; border-subtitle-color: ansi_bright_black; }
    #said { height: auto; max-height: 3; padding: 0 1; }
    DataTable > .datatable--header { background: ansi_default; color: ansi_bright_black; text-style: none; }
    DataTable > .datatable--cursor { background: ansi_blue; color: ansi_bright_white; text-style: none; }
    DataTable:focus > .datatable--cursor { text-style: bold; }
    .plain DataTable > .datatable--cursor { text-style: reverse; }
    Input, Input:focus { height: 1; border: none; padding: 0 1; display: none; }
    Input > .input--cursor { text-style: reverse; }
    FooterKey .footer-key--key { color: ansi_cyan; background: ansi_default; text-style: bold; }
    FooterKey .footer-key--description { color: ansi_default; background: ansi_default; }
    """
    # By priority: the key after it, however soon, then finds the focus where this one put it.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "write('reply')", "reply", priority=True),
        Binding("a", "write('approve')", "approve", priority=True),
        Binding("d", "write('decline')", "decline", priority=True),
        Binding("o", "write('answer')", "option", priority=True),
        *(Binding(str(n), f"option({n})", show=False, priority=True) for n in range(1, 10)),
        Binding("i", "write('triage')", "triage", priority=True),
        Binding("e", "edit", "edit its routes", show=False, priority=True),
        Binding("c", "reload", "reload its token", show=False, priority=True),
        Binding("x", "waive", "waive a gate", show=False, priority=True),
        Binding("b", "rebuild", "rebuild it", show=False, priority=True),
        Binding("w", "window", "go there", show=False, priority=True),
        Binding("tab,v", "view", "next view", key_display="tab", show=False, priority=True),
        Binding("shift+down,J", "scroll(3)", "scroll down", show=False, priority=True),
        Binding("shift+up,K", "scroll(-3)", "scroll up", show=False, priority=True),
        Binding("slash", "filter", "filter", priority=True),
        Binding("colon", "command", "command", show=False, priority=True),
        Binding("question_mark", "help", "help", priority=True),
        Binding("q", "quit", "quit", priority=True),
        Binding("escape", "leave", "back", key_display="esc"),
    ]

    def __init__(self, desk: Desk, every_s: float = EVERY_S) -> None:
        super().__init__(ansi_color=True)
        self.desk, self.board, self._every_s = desk, Board(at=0), every_s
        self._view = _VIEWS[0]
        self._asked: Board | None = None  # while a command is written: what was shown when it was begun
        self._over: Item | None = None  # what `show` was asked for, until the cursor goes elsewhere
        self.set_class(self.no_color, "plain")

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Container(id="all"):
            with Vertical(id="left"):
                yield Sessions(id="list", cursor_type="row", show_row_labels=False)
                with VerticalScroll(id="asks", can_focus=False):
                    yield Static(id="asked")
            with VerticalScroll(id="view", can_focus=False):
                yield Static(id="text")
        yield Static(id="said")
        yield Line(id="line", placeholder="r 3 try again, approve 3, routes edit web", select_on_focus=False)
        yield Line(id="filter", placeholder="words of the rows to show", select_on_focus=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self._list.focus()
        self.look()
        self.set_interval(self._every_s, self.look)

    @property
    def _list(self) -> Sessions:
        return self.query_one(Sessions)

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
        now, words = time.time(), self.query_one("#filter", Input).value.casefold().split()
        rows = {one.key: cells_of(one, now, board.host) for one in board.entries}
        found = {
            key: row for key, row in rows.items() if all(word in f"{[*row.values()]}".casefold() for word in words)
        }
        self._list.fill(found)
        self._list.border_title = Text(f"{len(found)} of {len(rows)}" if words else f"{len(rows)} in all")
        title = Text("stallkit", "bold").append(f"   ● {len(board.items)} wait for a person", "bold yellow")
        title.append(f"   {len(board.rows)} sessions").append(f"   {shown(board.trouble)}", "red")
        self._tell("#title", title)
        self.detail()

    def on_data_table_row_highlighted(self) -> None:
        self._over = None
        self.detail()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self._show(self.board))

    @property
    def chosen(self) -> Entry | None:
        """What the cursor is on, as it was shown when a command was begun."""
        board = self._asked or self.board
        if self._over is not None:
            return Entry(self.board.row(key_of(self._over)) or Row(self._over.session, self._over.session, "unknown"), self._over)
        return next((one for one in board.entries if one.key == self._list.chosen), None)

    @work(thread=True, exclusive=True, group="detail")
    def detail(self) -> None:
        """Read and show what the cursor is on."""
        one, view = self._drawn(lambda: self.chosen), self._view
        read = {"screen": self.desk.screen, "history": self.desk.history, "manifest": self.desk.manifest}
        try:
            found = Text("\n".join(one.row.facts)) if one and one.row.host else read[view](one.row) if one else Text()
        except (StallkitError, ValueError) as error:
            found = Text(shown(error), "dim")
        self._drawn(lambda: self._show_detail(one, view, found))

    def _show_detail(self, one: Entry | None, view: str, text: Text) -> None:
        if (one and one.key) != (self.chosen and self.chosen.key):
            return  # a slow read: the cursor is elsewhere by now
        item, asks, frame = one and one.item, self.query_one("#asks"), self.query_one("#view")
        asks.display = item is not None
        if one and item:
            kind = item.category or item.kind or "notice"
            asks.border_title = Text(shown(f"{ref_of(item)} ", name_of(item.session), f" asks: {kind}"))
            self._tell("#asked", asked(item))
        named = [one.row.host, one.row.name, one.row.agent, one.row.branch] if one else []
        frame.border_title = Text(shown(" · ".join(filter(None, named))))
        frame.border_subtitle = Text(" ").join(Text(name, "bold" if name == view else "dim") for name in _VIEWS)
        text.no_wrap = view == _VIEWS[0]
        self._tell("#text", text)
        if view == _VIEWS[0]:
            frame.scroll_end(animate=False)

    def _drawn(self, call: Callable[[], _T]) -> _T | None:
        """Call it, from another thread, where the screen is drawn; None where the dashboard was left meanwhile."""
        try:
            return self.call_from_thread(call)
        except (CancelledError, NoMatches, RuntimeError, ScreenStackError):
            return None

    def say(self, what: str) -> None:
        """Show the outcome of the last command."""
        self._tell("#said", Text(shown(what)))

    def _tell(self, place: str, text: Text) -> None:
        self.query_one(place, Static).update(text)

    # --- keys: each writes a command ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A letter is a letter while a line is written, and a key that answers nothing is left out."""
        writes, one = isinstance(self.focused, Line), self.chosen
        if action == "leave":
            return writes or bool(self.query_one("#filter", Line).value)
        if action == "write":
            return not writes and bool(one and one.item and parameters[0] in ways(one.item))
        return not (writes and action in _BY_LETTER)

    def action_write(self, verb: str, rest: str = " ") -> None:
        one = self.chosen
        if one is None or one.item is None:
            self.say("nothing of it waits for a person")
            return
        self._write(f"{_SHORT.get(verb, verb)} {ref_of(one.item)}" + ("" if verb == "approve" else rest))

    def action_option(self, number: int) -> None:
        self.action_write("answer", f" {number}")

    def action_edit(self) -> None:
        if (one := self.chosen) is not None:
            remedy = _REMEDIES.get((one.item and one.item.category) or "", "routes")
            self._write(f"{remedy} edit {one.row.name}")

    def action_reload(self) -> None:
        if (one := self.chosen) is not None:
            self._write(f"routes reload {one.row.name}")

    def action_waive(self) -> None:
        item = self.chosen and self.chosen.item
        commit = _COMMIT.search(item.words) if item else None
        if not item or commit is None:
            self.say("nothing that it asks names a commit or a hash: write waive SUBJECT --why WHY")
            return
        self._write(f"waive {commit[0]} --item {item.id} --why ")

    def action_rebuild(self) -> None:
        if (one := self.chosen) is not None:
            self._write(f"rebuild {one.item.id if one.item else one.row.name}")

    def action_command(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        one = self.chosen
        verb, host = text.partition(" ")[0], one.row.host if one else ""
        if host and verb in BY_ITSELF:
            self.say(by_itself(verb, host))
            return
        line = self.query_one("#line", Line)
        line.display, line.value = True, text
        self._asked = self.board  # an answer is to what was shown when it was begun
        line.cursor_position = len(text)
        self.screen.set_focus(line)  # at once: what is typed next belongs there

    def action_filter(self) -> None:
        line = self.query_one("#filter", Line)
        line.display = True
        self.screen.set_focus(line)

    def action_leave(self) -> None:
        if isinstance(self.focused, Line) and self.focused.id == "line":
            self._asked = None
        else:
            self.query_one("#filter", Line).value = ""
        self._back()

    def _back(self) -> None:
        """To the list, from a line."""
        line, words = self.query_one("#line", Line), self.query_one("#filter", Line)
        line.value, line.display, words.display = "", False, bool(words.value)
        self.screen.set_focus(self._list)

    def action_help(self) -> None:
        panels = self.screen.query(HelpPanel)
        panels.remove() if panels else self.action_show_help_panel()

    def action_view(self) -> None:
        self._view = _VIEWS[(_VIEWS.index(self._view) + 1) % len(_VIEWS)]
        self.query_one("#view").scroll_home(animate=False)
        self.detail()

    def action_scroll(self, rows: int) -> None:
        self.query_one("#view").scroll_relative(y=rows, animate=False)

    @work(thread=True, group="window")
    def action_window(self) -> None:
        one = self._drawn(lambda: self.chosen)
        if one is None:
            return
        try:
            words = self.desk.window(one.row)
        except (StallkitError, ValueError) as error:
            why = str(error)
            self._drawn(lambda: self.say(why))
            return
        self._drawn(lambda: self._call(words, False))

    # --- the lines ---

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter":
            self._show(self.board)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line, asked, looked_at = event.value, self._asked or self.board, self._over
        if event.input.id == "filter" or not line.strip():
            self._asked = None
            self._back()
            return
        try:
            order = read_line(line, asked.host)
        except ValueError as error:
            self.say(str(error))
            return
        self._asked = None
        self._back()
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
