"""The screen of ``stallkit dashboard``: one list, who waits for a person first, and beside it what that session shows.

It decides nothing: a key writes a command, Enter hands it to `Desk`.  Text from elsewhere is shown as it is, without
control characters, and never read as markup.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from concurrent.futures import CancelledError
from typing import Callable, ClassVar, TypeVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from stallkit_supervisor.cli.watch_table import apart
from textual import work
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.widgets import DataTable, Footer, Input, Static

from stallkit.cli.output import shown
from stallkit.cli.states import look_of
from stallkit.errors import StallkitError
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped
from stallkit_operator.board import Board, Entry, Row, key_of, ref_of
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.cli.stuck_commands import age
from stallkit_operator.item import Choice, Delivery, Item, Source
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
_AGE = 5  # columns for an age, which ticks: 59s, 10min
_GAP = 2  # columns between two


class Sessions(DataTable[Text]):
    """The list; the cursor stays on its row when others come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
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
        heads = {name: max(len(name), _AGE * (name == "age")) for name in rows[0]} if rows else {}
        widths = {name: max(head, *(row[name].cell_len for row in rows)) for name, head in heads.items()}
        for name in _NAMES.keys() & widths:
            widths[name] = min(widths[name], max(6, room // _NAMES[name]))
            for row, short in zip(rows, apart([row[name].plain for row in rows], widths[name]), strict=True):
                row[name] = Text(short, row[name].style)
        for spared in _SPARED:
            if self._left(widths, room) >= _LEAST:
                break
            widths.pop(spared, None)
        for row in rows if "state" not in widths else ():
            row["asks"] = row["asks"] or row["state"]
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
        """The key of the row under the cursor; empty if there is none."""
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
        "asks": shown(one.asks),
    }
    styles = {"": f"bold {look.colour}", "state": look.colour, "session": "bold" if item else "", "age": "dim"}
    return {name: Text(text, styles.get(name, ""), no_wrap=True, overflow="ellipsis") for name, text in texts.items()}


def summary(board: Board, wide: bool) -> Text:
    """How many sessions there are of each state, who waits first."""
    count = Counter(re.sub(r"[()?]", "", one.state) for one in board.entries)
    waits, text = count.pop("waiting", 0), Text("stallkit", "bold")
    text.append(f"   ● {waits} wait{' for a person' if wide else ''}", "bold yellow" if waits else "dim")
    for state, number in count.items():
        look = look_of(state)
        text.append(f"   {look.mark} {number}{f' {shown(state)}' if wide else ''}", look.colour)
    return text.append(f"   {shown(board.trouble)}" if board.trouble else "", "bold red")


# --- what the cursor is on ---

_KEYS = {
    "↵": "window",
    "r": "reply",
    "a": "approve",
    "d": "decline",
    "i": "triage",
    "e": "edit",
    "c": "reload",
    "b": "rebuild",
}


def asked(item: Item, short: bool) -> Group:
    """What is asked, the options, and what each key does about it, safe to show; `short`: each on one row."""
    rows, found = Table.grid(padding=(0, 1)), ways(item)
    told = {key: found[what] for key, what in _KEYS.items() if what in found}
    keys = {what: key for key, what in told.items() if isinstance(what, Choice)}
    for option in item.options if item.open else ():
        name = Text(shown(option.name, f": {option.about}" if option.about else ""), "cyan" * option.selected)
        name.no_wrap, name.overflow = short, "ellipsis" if short else None
        key = Text(keys.get(option, ""), "bold cyan")
        rows.add_row(Text(shown(option.id), "bold cyan"), key, "❯" * option.selected, name)
    for letter, what in told.items():
        if isinstance(what, str):
            rows.add_row(Text(letter, "bold cyan"), "", "", Text(shown(what)))
    notes = [f"{item.state}{item.how}{': ' if item.text else ''}", item.text or ""] if not item.open else []
    if item.open and item.delivery is Delivery.LATER:
        notes = ["nobody waits for the reply: it is typed into its composer, or kept for its next stuck"]
    line = item.line if item.asked else item.line.partition(" · ")[0]  # the rest is beside it
    question, between = Text(shown(line), "bold"), [] if short else [Text()]
    question.no_wrap, question.overflow = short, "ellipsis" if short else None
    return Group(question, *between, rows, *([*between, Text(shown(*notes), "dim")] if notes else []))


def whole(item: Item) -> Text:
    """All that it says, safe to show."""
    return Text("\n".join(map(escaped, redact(item.words).strip().split("\n"))))


_T = TypeVar("_T")
EVERY_S = 1.0  # between two looks
_WIDE, _BESIDE = 60, 100  # columns of a terminal with room for every word; for a screen beside the list
_EMPTY = "no session yet: stallkit start NAME -- COMMAND starts one, stallkit watch --all watches those of tmux"
_TALL = 28  # its rows, with room for the head of the list
_VIEWS = ("screen", "history", "manifest")
_BY_LETTER = ("option", "edit", "reload", "waive", "rebuild", "window", "view", "filter", "command", "help", "quit")
_SHORT = {"reply": "r"}
_COMMIT = re.compile(r"(?<![0-9a-f])(?:sha256:)?(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_REMEDIES = {"credential": "routes", "egress": "egress"}


class Line(Input):
    """A line that is written below all else, while it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "do it", key_display="↵")]


def _key(key: str, action: str, name: str = "", meaning: str = "", display: str | None = None) -> Binding:
    return Binding(key, action, name, show=bool(name), tooltip=meaning, key_display=display, priority=True)


class Dashboard(App[None]):
    """The dashboard, over one desk."""

    TITLE = "stallkit"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-narrow"), (_BESIDE, "-wide")]  # type: ignore[misc]
    CSS = """
    Screen, DataTable, Footer, FooterKey, Input { background: ansi_default; color: ansi_default; }
    #title { height: 1; padding: 0 1; }
    #said { height: auto; max-height: 3; padding: 0 1; display: none; }
    #list, #asks, #view, #help {
        border: round ansi_bright_black; border-title-style: bold;
        scrollbar-size: 1 1; scrollbar-color: ansi_bright_black; scrollbar-background: ansi_default;
    }
    #list:focus { border: round ansi_green; border-title-color: ansi_green; }
    #list { height: auto; min-height: 4; max-height: 34vh; overflow-x: hidden; }
    #asks { height: auto; max-height: 38vh; border: round ansi_yellow; border-title-color: ansi_yellow; padding: 0 1; }
    #view, #help { height: 1fr; padding: 0 1; }
    #help { display: none; }
    #left { height: auto; }
    .-wide #all { layout: horizontal; }
    .-wide #left { width: 2fr; height: 1fr; }
    .-wide #view { width: 3fr; }
    .-wide #list { height: 1fr; max-height: 100%; }
    .-wide #asks { max-height: 60%; }
    .-wide FooterKey.-compact { margin-right: 2; }
    Line, Line:focus { height: 3; border: round ansi_cyan; border-title-color: ansi_cyan; padding: 0 1; display: none; }
    Input > .input--cursor { text-style: reverse; }
    DataTable > .datatable--header { background: ansi_default; color: ansi_bright_black; text-style: none; }
    DataTable > .datatable--hover { background: ansi_default; }
    DataTable > .datatable--cursor { background: ansi_blue; color: ansi_bright_white; text-style: bold; }
    .plain DataTable > .datatable--cursor { text-style: reverse; }
    FooterKey .footer-key--key { color: ansi_cyan; background: ansi_default; text-style: bold; }
    FooterKey .footer-key--description { color: ansi_default; background: ansi_default; }
    """
    # By priority: the key after it, however soon, then finds the focus where this one put it.
    BINDINGS: ClassVar[list[BindingType]] = [
        _key("r", "write('reply')", "reply", "write what is typed there, or what the agent gets"),
        _key("a", "write('approve')", "approve", "choose the one option that allows it this once"),
        _key("d", "write('decline')", "decline", "choose the one option that rejects it; add a reason for an agent"),
        _key("enter,w", "window", "go", "go to its own terminal; detach to come back", "↵"),
        _key("question_mark", "help", "help", "show or hide this page", "?"),
        _key("slash", "filter", "filter", "show the rows with these words alone", "/"),
        _key("1", "option(1)", "", "choose the option of that number, 1 to 9"),
        *(_key(str(number), f"option({number})") for number in range(2, 10)),
        _key("tab,v", "view", "", "go from its screen to its history and its manifest", "tab"),
        _key("J,shift+down", "scroll(3)", "", "scroll what is shown of it down, with K up", "J"),
        _key("K,shift+up", "scroll(-3)"),
        _key("i", "write('triage')", "triage", "say what blocks an agent: credential, egress, capability or none"),
        _key("e", "edit", "", "edit the routes of its proxy, or the hosts that it reaches"),
        _key("c", "reload", "", "have its proxy read a renewed token, and try the routes"),
        _key("x", "waive", "", "let through the commit or content whose id stands in what it asks"),
        _key("b", "rebuild", "", "edit the manifest of its sandbox, and start that anew"),
        _key("colon", "command", "", "write any of these commands, or show 3, waivers, unwaive 1", ":"),
        _key("q", "quit", "quit", "leave the dashboard; the sessions go on"),
        Binding("escape", "leave", "back", key_display="esc"),
    ]

    def __init__(self, desk: Desk, every_s: float = EVERY_S) -> None:
        super().__init__(ansi_color=True)
        self.desk, self.board, self._every_s = desk, Board(at=0), every_s
        self._view = _VIEWS[0]
        self._asked: Board | None = None  # while a command is written: what was shown when it was begun
        self._drawn_of = ("", "")  # the key and the view of what is shown
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
        with VerticalScroll(id="help"):
            yield Static(self._help(), id="keys")
        yield Static(id="said")
        yield Line(id="line", placeholder="r 3 try again, approve 3, routes edit web", select_on_focus=False)
        yield Line(id="filter", placeholder="words of the rows to show", select_on_focus=False)
        yield Footer(compact=True)

    def _help(self) -> Table:
        """Each key, and what it does."""
        rows = Table.grid(padding=(0, 2))
        for one in self.BINDINGS:
            if isinstance(one, Binding) and one.tooltip:
                rows.add_row(Text(one.key_display or one.key, "bold cyan"), one.tooltip)
        return rows

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Keys: ? or esc goes back"
        self._list.focus()
        self.look()
        self.set_interval(self._every_s, self.look)

    @property
    def _list(self) -> Sessions:
        return self.query_one(Sessions)

    @work(thread=True, exclusive=True, group="look")
    def look(self) -> None:
        """Read the board, and show it."""
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
        text = {key: " ".join(cell.plain for cell in row.values()).casefold() for key, row in rows.items()}
        found = {key: row for key, row in rows.items() if all(word in text[key] for word in words)}
        if self.query_one("#all").display:
            self._list.fill(found)
        self._list.border_title = Text(f"Sessions ({len(found)} of {len(rows)})" if words else "Sessions")
        self._tell("#title", summary(board, self.size.width >= _WIDE))
        self.detail()

    def on_data_table_row_highlighted(self) -> None:
        self._over = None
        self.detail()

    def on_resize(self) -> None:
        self._list.show_header, self._drawn_of = self.size.height >= _TALL, ("", "")
        self.call_after_refresh(lambda: self._show(self.board))

    @property
    def chosen(self) -> Entry | None:
        """What the cursor is on, as it was shown when a command was begun."""
        board = self._asked or self.board
        if (over := self._over) is not None:
            return Entry(self.board.row(key_of(over)) or Row(over.session, over.session, "unknown"), over)
        return next((one for one in board.entries if one.key == self._list.chosen), None)

    @work(thread=True, exclusive=True, group="detail")
    def detail(self) -> None:
        """Read and show what the cursor is on."""
        one, view = self._drawn(lambda: self.chosen), self._view
        parts = self._read(one, view) if one else [Text("" if self.board.entries else _EMPTY)]
        self._drawn(lambda: self._show_detail(one, view, parts))

    def _read(self, one: Entry, view: str) -> list[Text]:
        """The view of its session; above its screen all that it says, if that is not on the screen itself."""
        item, found = one.item, Text()
        says = item is not None and (item.source is Source.AGENT or not item.open)
        read = {"screen": self.desk.screen, "history": self.desk.history, "manifest": self.desk.manifest}
        try:
            found = Text("\n".join(one.row.facts)) if one.row.host else read[view](one.row)
        except (StallkitError, ValueError) as error:
            found, says = Text(shown(error), "dim"), True
        found.no_wrap, found.overflow = view == _VIEWS[0], "crop"
        return [whole(item), Text(), found] if item and view == _VIEWS[0] and (says or one.row.host) else [found]

    def _show_detail(self, one: Entry | None, view: str, parts: list[Text]) -> None:
        now, item, key = self.chosen, one and one.item, one.key if one else ""
        if (now.key if now else "") != key:
            return  # a slow read: the cursor is elsewhere by now
        asks, frame = self.query_one("#asks"), self.query_one("#view")
        asks.display = item is not None
        if one and item:
            kind = item.category or item.kind or "notice"
            asks.border_title = Text(shown(f"{ref_of(item)} ", one.row.name, f" asks: {kind}"))
            self.query_one("#asked", Static).update(asked(item, self.size.width < _BESIDE))
        named = [one.row.host, one.row.name, one.row.agent, one.row.branch] if one else []
        frame.border_title = Text(shown(" · ".join(filter(None, named))))
        frame.border_subtitle = Text(" ").join(Text(name, "bold" if name == view else "dim") for name in _VIEWS)
        self.query_one("#text", Static).update(Group(*parts))
        if self._drawn_of != (key, view):  # else a person may have scrolled
            self._drawn_of = (key, view)
            self.refresh_bindings()
            ends = view == _VIEWS[0] and len(parts) == 1
            frame.scroll_end(animate=False) if ends else frame.scroll_home(animate=False)

    def _drawn(self, call: Callable[[], _T]) -> _T | None:
        """Call it, from another thread, where the screen is drawn; None if the dashboard was left meanwhile."""
        try:
            return self.call_from_thread(call)
        except (CancelledError, NoMatches, RuntimeError, ScreenStackError):
            return None

    def say(self, what: str) -> None:
        """Show the outcome of the last command."""
        self.query_one("#said").display = bool(what)
        self._tell("#said", Text(shown(what)))

    def _tell(self, place: str, text: Text) -> None:
        self.query_one(place, Static).update(text)

    # --- keys: each writes a command ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A letter is a letter while a line is written, and a key that answers nothing is left out."""
        if not self.query(Footer):
            return False  # a key that is pressed before all is there
        writes, one = isinstance(self.focused, Line), self.chosen
        if action == "leave":
            return writes or self.query_one("#help").display or bool(self.query_one("#filter", Line).value)
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
        if (one := self.chosen) and one.item and one.item.option(str(number)):
            self.action_write("reply", f" {number}")

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
        line.display, line.value, line.border_title = True, text, "Command"
        self._asked = self.board  # an answer is to what was shown when it was begun
        line.cursor_position = len(text)
        self.screen.set_focus(line)  # at once: what is typed next belongs there

    def action_filter(self) -> None:
        line = self.query_one("#filter", Line)
        line.display, line.border_title = True, "Filter"
        self.screen.set_focus(line)

    def action_leave(self) -> None:
        if isinstance(self.focused, Line) and self.focused.id == "line":
            self._asked = None
        else:
            self.query_one("#filter", Line).value = ""
        self._back()

    def _back(self) -> None:
        """To the list, from a line or the page of keys."""
        self._show_help(False)
        line, words = self.query_one("#line", Line), self.query_one("#filter", Line)
        line.value, line.display, words.display = "", False, bool(words.value)
        self.screen.set_focus(self._list)

    def action_help(self) -> None:
        self._show_help(not self.query_one("#help").display)

    def _show_help(self, shows: bool) -> None:
        page, rest = self.query_one("#help"), self.query_one("#all")
        page.display, rest.display = shows, not shows
        self.screen.set_focus(page if shows else self._list)

    def action_view(self) -> None:
        self._view = _VIEWS[(_VIEWS.index(self._view) + 1) % len(_VIEWS)]
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
