"""The dashboard over a desk with a real queue: what it shows, and what its keys and its line do."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Callable, Iterator

import pytest
from attrs import evolve
from proxied import NGINX, Nginx, service, write_proxies
from queued import Desk as Commands
from rich.text import Text
from stallkit_operator.board import Board, Entry, Row, rows
from stallkit_operator.cli.dashboard_app import Dashboard, cells_of
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.item import Category, Choice, ChoiceKind, Draft, Item, Source
from stallkit_operator.orders import Order, Triage, Verb
from stallkit_operator.queue import Queue
from terminals import SIZES, OnTerminal, Server, wait_for
from textual.pilot import Pilot

from stallkit.cli.states import LOOKS
from stallkit.errors import StallkitError
from stallkit.redact.redact import MASK

STALLKIT = (str(Path(sys.executable).parent / "stallkit"),)
OPTIONS = (
    Choice("1", "Yes", ChoiceKind.ALLOW_ONCE, selected=True),
    Choice("2", "Yes, always", ChoiceKind.ALLOW_ALWAYS),
    Choice("3", "No [b]way[/b]", ChoiceKind.REJECT_ONCE),
)
LIE = "stallkit stuck approve 9"  # what an agent wants to be taken for a line of stallkit's
HOSTILE = "the proxy refuses [red]it[/red] [@click=app.quit]x[/]: \x1b[2J403 \u202eevil"


class Paper(Desk):
    """A desk whose queue is in a folder, and which has no sessions but those that it is given."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.queue = Queue(file)
        self.rows: list[Row] = []
        self.done: list[tuple[Order | Triage, Item | None]] = []
        self.went: list[str] = []

    def board(self) -> Board:
        items = self.queue.items()
        return Board(tuple(rows([], [], {}, items, self.rows)), tuple(items))

    def do(self, order: Order | Triage, seen: Item | None) -> str:
        self.done.append((order, seen))
        return f"done: {order.id}"

    def screen(self, row: object) -> Text:
        lines = ["its [b]screen[/b]", "    " + "x" * 74 + LIE, "    " + "word " * 15 + LIE, LIE]
        return Text("\n".join(lines))

    def history(self, row: object) -> Text:
        return Text("11-25 23:11:02  asked: " + "word " * 11 + LIE)

    def window(self, row: Row) -> list[str]:
        self.went.append(row.name)
        raise ValueError(f"went to {row.name}")


@contextmanager
def watched(commands: Commands, target: str, *on: str) -> Iterator[None]:
    """A session that a supervisor knows by now."""
    commands.begin("watch", target, "--policy", "observe", "--json", *on)
    wait_for(lambda: target in commands("status", "--json").stdout, "the supervisor to look")
    yield


@pytest.fixture
def paper(tmp_path: Path) -> Iterator[Paper]:
    made = Paper(tmp_path / "queue.db")
    yield made
    made.queue.close()


def text(app: Dashboard) -> str:
    """All that is to be seen, row by row."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    for _ in range(500):
        await pilot.pause(0.02)
        if condition():
            return
    raise AssertionError(text(pilot.app))  # type: ignore[arg-type]


def driven(paper: Paper, *keys: str, until_shown: str = "", size: tuple[int, int] = (80, 24)) -> str:
    """The screen after these keys, once it shows a text."""

    async def drive() -> str:
        app = Dashboard(paper, every_s=0.05)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: f"{len(paper.queue.items())} wait" in text(app))
            await until(pilot, lambda: "screen history manifest" in text(app))
            await pilot.press(*keys)
            await until(pilot, lambda: until_shown in text(app))
            return text(app)

    return asyncio.run(drive())


def test_text_of_agents_is_shown_literally(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", HOSTILE)
    for size in SIZES:
        seen = driven(paper, size=size, until_shown="evil")
        assert "[red]it[/red] [@click=app.quit]x[/]" in seen and "\\x1b[2J403" in seen and "\\u202eevil" in seen
        assert "\x1b" not in seen and "\u202e" not in seen
        assert "its [b]screen[/b]" in seen


def test_no_row_of_a_session_begins_where_a_line_of_ours_does(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", f"help\n{LIE}")
    for width, view in product((40, 80, 120), ("screen", "history")):
        seen = driven(paper, *(["v"] if view == "history" else []), until_shown="word word", size=(width, 60))
        said = [line for line in seen.splitlines() if "stallkit stuck" in line]
        assert said and all("│" in line.partition("stallkit")[0] for line in said), seen


def cells_on(line: str) -> list[str]:
    """The cells of a row of the list: two blanks are between two."""
    return re.split(r" {2,}", line.split("│")[1].strip())


def test_columns_never_touch_and_names_stay_apart(paper: Paper) -> None:
    for name in ("a-long-name-of-a-build-on-main", "a-long-name-of-a-build-on-next"):
        paper.queue.notify(name, f"key-{name[-4:]}", "~\n~\nnpm is refused by the proxy, whatever I try")
        row = Row(name, name, "working", agent="press_key4", branch="a-branch-with-a-name", since=1.0, host="")
        paper.rows += [row, evolve(row, name=f"x-{name}", target=f"x-{name}", asks="y" * 60)]
    for width in (40, 56, 80, 99, 100, 120, 200):
        seen = driven(paper, until_shown="npm is", size=(width, 35))
        asking = [cells_on(line) for line in seen.splitlines() if "│ ● " in line]
        working = [cells_on(line) for line in seen.splitlines() if "│ ► " in line]
        head = cells_on(seen.splitlines()[2])
        assert [len(row) for row in (*asking, *working)] == [len(head) + 1] * 4, seen
        assert len({row[1] for row in (*asking, *working)}) == 4, seen
        assert all(row[-1].startswith("npm is ref") and row[0] in ("● 1", "● 2") for row in asking), seen
        if width >= 60:
            assert "2 wait for a person   ► 2 working" in seen.splitlines()[0]


def test_the_keys_in_sight_are_those_that_do_something(paper: Paper) -> None:
    paper.queue.file(Draft("tmux:a", Source.PROMPT, "confirm", "Go?", OPTIONS, "x", "y", "z"))
    paper.queue.file(Draft("tmux:b", Source.PROMPT, "secret", "Password:", (), "x", "b", "z", secret=True))
    paper.rows = [Row("idle-one", "tmux:idle-one", "idle")]
    first = "↵ go r reply a approve d decline ? help"
    assert driven(paper, size=(40, 24), until_shown="? help").splitlines()[-1] == f"{first} "
    line = driven(paper, until_shown="a approve").splitlines()[-1].split("  ")[0].strip()
    assert line == f"{first} / filter q quit"
    seen = driven(paper, "down", until_shown="nobody else does")
    assert re.search("│ ↵ +answer it at its own terminal", seen) and "r reply" not in seen
    assert "reply" not in driven(paper, "down", "down", "down", until_shown="─ idle-one").splitlines()[-1]
    seen = driven(paper, "question_mark", until_shown="Keys")
    for what in ("choose the one option that allows it this once", "show the rows with these words", "leave the dash"):
        assert what in seen
    assert "Sessions" in driven(paper, "question_mark", "question_mark", until_shown="Sessions")


def test_each_key_says_in_words_what_it_would_do(paper: Paper) -> None:
    paper.queue.file(Draft("tmux:a", Source.PROMPT, "permission", "word\n" * 40, OPTIONS, "x", "y", "z"))
    paper.queue.notify("web", "key-00001", "may I?")
    for size in ((40, 24), *SIZES):
        seen = driven(paper, until_shown="type your words", size=size)
        for said in (
            r"│ 1 a ❯ Yes +│",
            r"│ 2     Yes, always +│",
            r"│ 3 d   No \[b\]way\[/b\] +│",
            r"│ r     type your",
        ):
            assert re.search(said, seen), seen
        seen = driven(paper, "down", until_shown="send the agent your words", size=size)
        assert "tell the agent: approved" in seen and "tell the agent no, and why" in seen
    driven(paper, "2", "enter", until_shown="done: 1")
    assert paper.done[-1][0] == Order(Verb.REPLY, 1, "2")


def test_a_filter_leaves_the_rows_with_its_words_and_escape_all(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "may I?")
    paper.rows = [Row("docs", "tmux:docs", "working"), Row("docs-old", "tmux:docs-old", "ended")]
    seen = driven(paper, "slash", *"DOCS wor", until_shown="1 of 3")
    assert "│ ► " in seen and "may I" not in seen.partition("│ ►")[0]
    seen = driven(paper, "slash", *"docs", "enter", "down", "enter", until_shown="went to")
    assert paper.went == ["docs-old"] and "2 of 3" in seen
    assert "may I?" in driven(paper, "slash", *"docs", "enter", "escape", until_shown="─ Sessions ─")


def test_ages_tick_and_a_state_has_a_mark_besides_its_colour(paper: Paper) -> None:
    one = Entry(Row("web", "tmux:web", "idle?", since=100.0))
    assert [cells_of(one, now)["age"].plain for now in (101.0, 102.0, 220.0)] == ["1s", "2s", "2min"]
    marks = {state: cells_of(evolve(one, row=evolve(one.row, state=state)), 0.0)[""].plain for state in LOOKS}
    by_mark = {mark: {LOOKS[state].colour for state in LOOKS if marks[state] == mark} for mark in marks.values()}
    assert len(by_mark) == 7 and all(len(colours) == 1 for colours in by_mark.values()), "a mark says no less"
    order = ["waiting", "halted", "quota", "idle", "working", "ended"]
    assert sorted(order, key=lambda state: LOOKS[state].urgency) == order


def test_a_key_that_is_tapped_does_what_it_says(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "may I?")

    async def drive() -> str:
        app = Dashboard(paper, every_s=0.05)
        async with app.run_test(size=(40, 30)) as pilot:
            await until(pilot, lambda: "d decline" in text(app))
            row = next(at for at, line in enumerate(text(app).splitlines()) if "decline" in line)
            await pilot.click(offset=(text(app).splitlines()[row].index("decline") + 1, row))
            await until(pilot, lambda: "d 1" in text(app).replace("decline 1", "d 1"))
            return text(app)

    assert "1 " in asyncio.run(drive())


def test_why_nothing_was_done_can_be_read_on_a_phone(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "npm is refused")
    seen = driven(paper, "colon", *"frobnicate", "enter", size=(90, 24), until_shown="quit")
    assert "frobnicate" in seen and "waivers, quit" in " ".join(seen.split()) and paper.done == []
    seen = driven(paper, "colon", *"triage 1 x", "enter", size=(40, 24), until_shown="capability")
    assert "triage: give one of credential, egress, capability, none" in " ".join(seen.split())


def test_keys_write_a_command_and_enter_does_it(paper: Paper) -> None:
    item = paper.queue.notify("web", "key-00001", "may I?")
    assert "approve 1" in driven(paper, "a", until_shown="approve 1")
    assert paper.done == []  # a key alone answers nothing
    driven(paper, "a", "enter", until_shown="done: 1")
    driven(paper, "d", *"no", "enter", until_shown="done: 1")
    driven(paper, "colon", *"r 1 [b]try  again", "enter", until_shown="done: 1")
    assert paper.done == [
        (Order(Verb.APPROVE, 1), item),
        (Order(Verb.DECLINE, 1, "no"), item),
        (Order(Verb.REPLY, 1, "[b]try  again"), item),
    ]


def test_keys_write_a_waiver_and_a_reload_and_each_question_has_a_row(paper: Paper) -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    paper.queue.notify("web", "key-00001", f"the push of {commit} is refused")
    paper.queue.file(Draft("tmux:web", Source.PROMPT, "confirm", "Deploy? [y/N]", (), "x", "y", "z"))
    assert f"waive {commit} --item 1 --why" in driven(paper, "x", until_shown="--why", size=(100, 24))
    assert "names a commit" in driven(paper, "down", "x", until_shown="names a commit")
    assert "routes reload web" in driven(paper, "c", until_shown="reload web")
    assert "r 2 " in driven(paper, "j", "r", until_shown="r 2")
    driven(paper, "down", "k", "d", "enter", until_shown="done: 1")
    assert paper.done[-1][0] == Order(Verb.DECLINE, 1)


def test_an_answer_is_to_what_was_shown_when_it_was_begun(paper: Paper) -> None:
    before = paper.queue.notify("web", "key-00001", "may I?")

    async def drive() -> None:
        app = Dashboard(paper, every_s=0.05)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "may I?" in text(app))
            await pilot.press("a")
            paper.queue.notify("web", "key-00002", "may I delete it all?")
            await until(pilot, lambda: "delete it all" in app.board.items[0].words)
            await pilot.press("enter")
            await until(pilot, lambda: paper.done)

    asyncio.run(drive())
    assert paper.done == [(Order(Verb.APPROVE, 1), before)]


def test_what_came_since_is_answered_only_once_it_was_looked_at(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path))
    paper.queue.notify("web", "key-00001", "may I?")

    async def drive() -> None:
        app = Dashboard(paper, every_s=1000)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "may I?" in text(app))
            paper.queue.notify("db", "key-00001", "may I delete it all?")
            await pilot.press("colon", *"approve 2", "enter")
            await until(pilot, lambda: paper.done)
            await pilot.press("colon", *"show 2", "enter")
            await until(pilot, lambda: "delete it all" in text(app))
            await pilot.press("colon", *"approve 2", "enter")
            await until(pilot, lambda: len(paper.done) == 2)

    asyncio.run(drive())
    assert [seen for _, seen in paper.done] == [None, paper.queue.item(2)]
    assert "was not shown to you" in Desk.do(paper, Order(Verb.APPROVE, 2), None)
    assert paper.queue.item(2).open


def test_the_edit_is_of_what_blocks_it(paper: Paper) -> None:
    item = paper.queue.notify("web", "key-00001", "403")
    driven(paper, "e", until_shown="routes edit web")
    paper.queue.triage(item.id, Category.EGRESS)
    driven(paper, "e", until_shown="egress edit web")


@pytest.fixture
def commands(server: Server, tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path, server)
    yield made
    made.end()


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Server]:
    """Where a person's terminal is, and no session."""
    (tmp_path / "t").mkdir()
    made = Server(tmp_path / "t")
    yield made
    made.end()


@pytest.fixture
def given(commands: Commands) -> dict[str, str]:
    return {name: commands.environment[name] for name in ("STALLKIT_STATE_DIR", "XDG_CONFIG_HOME")}


@pytest.mark.e2e
def test_a_prompt_is_answered_on_a_real_terminal(
    commands: Commands, server: Server, terminals: Server, given: dict[str, str]
) -> None:
    asks = "read -p 'Overwrite notes.txt? [y/N] ' it; echo \"got <$it>\"; exec sleep 1000"
    session = server.start("one", "bash", "-c", asks, shows="[y/N]")
    commands.watch("tmux:one")
    item = commands.item(state="input_required")
    shown = OnTerminal(terminals, (80, 24), *STALLKIT, "dashboard", **given, NO_COLOR="1")
    shown.shows(
        "1 wait for a person", r"^│ ● 1  one .* Overwrite notes.txt\? \[y/N\]"
    )  # of no server: the sessions of each
    shown.press("ry", "Enter")
    shown.shows("answered")
    server.wait(session, "got <y>")
    wait_for(lambda: commands.item(state="answered")["id"] == item["id"], "the answer in the queue")
    shown.press(":rebuild web", "Enter")  # a command of another program has the terminal, and gives it back
    shown.shows("no sandbox web", "exit code 64; Enter goes back")
    shown.press("Enter")
    shown.shows("0 wait for a person")
    shown.press("q")
    shown.over(0)
    done = commands("dashboard")
    assert done.returncode == 64 and "needs a terminal" in done.stderr


@pytest.mark.e2e
def test_a_screen_is_in_its_own_colours_without_its_secrets(server: Server) -> None:
    says = r"\033[1;31mred\033[0m password: \033[32mhunt\033[33mer22\033[0m \033]8;;file:///x\alink\033]8;;\a"
    server.start("one", "sh", "-c", f"printf '%s\n{says} end'; exec sleep 1000" % ("w" * 100), shows="end")
    shown = Desk(None, str(server.socket)).screen(Row("one", "tmux:one", "working"))
    first, second, third = shown.plain.split("\n")[:3]
    assert (first, second) == ("w" * 80, "w" * 20) and third.startswith(f"red password: {MASK}")
    assert "hunt" not in shown.plain and "er22" not in shown.plain and third.endswith(" link end")
    at = shown.plain.index("red")
    assert any(span.start == at and "color(1)" in str(span.style) for span in shown.spans), shown.spans


@pytest.mark.e2e
def test_the_row_of_the_cursor_is_seen_with_colours_and_without(
    commands: Commands, server: Server, terminals: Server, given: dict[str, str]
) -> None:
    server.start("one", "bash", "-c", "read -p 'Overwrite notes.txt? [y/N] ' it; exec sleep 1000", shows="[y/N]")
    on = ("-S", str(server.socket))
    with watched(commands, "tmux:one", *on):
        for no_color, marked in (("1", "\x1b[7m"), ("", "\x1b[44m")):
            extra = {"NO_COLOR": no_color} if no_color else {}
            shown = OnTerminal(terminals, (80, 24), *STALLKIT, "dashboard", *on, **given, **extra)
            shown.shows("● 1  one", "one · bash")
            [row] = [line for line in shown.styled.splitlines() if "● 1" in line and "wait" not in line]
            assert marked in row or marked[:-1] + ";" in row or f";{marked[2:]}" in row, row
            assert bool(no_color) == (not re.search(r"\x1b\[(?:\d+;)*[34][0-7]m", shown.styled))
            shown.press("q")
            shown.over(0)


def test_the_window_of_a_session_opens_unless_it_is_sealed(server: Server) -> None:
    server.start("one", "sleep", "1000")
    desk = Desk(None, str(server.socket))
    row = Row("one", "tmux:one", "working")
    assert desk.window(row) == ["tmux", "-S", str(server.socket), "attach-session", "-t", "one"]
    server.tmux("set-option", "-p", "-t", "=one:", "@stallkit_sealed", "1")
    with pytest.raises(StallkitError, match="it is sealed"):
        desk.window(row)


@pytest.mark.e2e
@pytest.mark.alone
def test_its_window_comes_into_the_client_that_shows_the_dashboard(
    commands: Commands, server: Server, terminals: Server, given: dict[str, str]
) -> None:
    server.start("one", "bash", "-c", "echo this is one; exec sleep 1000", shows="this is one")
    words = [f"{name}={value}" for name, value in given.items()]
    on = ("-S", str(server.socket))
    with watched(commands, "tmux:one", *on):
        size = ("-x", "80", "-y", "23")  # of the client below, without its status line: textual may miss a change of it
        server.tmux("new-session", "-d", "-s", "board", *size, "env", *words, *STALLKIT, "dashboard", *on)
        client = OnTerminal(terminals, (80, 24), "env", "-u", "TMUX", "tmux", *on, "attach", "-t", "board")
        client.shows(r"^│ . +one ", "─ one")
        client.press("Enter")
        client.shows("this is one", r"^\[one\]")


@pytest.mark.e2e
def test_what_happened_is_told_in_words(
    commands: Commands, server: Server, terminals: Server, given: dict[str, str]
) -> None:
    server.start("one", "bash", "-c", "read -p 'Delete all? [y/N] ' it; exec sleep 1000", shows="Delete")
    on = ("-S", str(server.socket))
    with watched(commands, "tmux:one", *on):
        for size in SIZES:
            shown = OnTerminal(terminals, size, *STALLKIT, "dashboard", *on, **given)
            shown.shows("1 wait for a person")
            shown.press("Tab")
            history = shown.shows("escalation: policy observe leaves it to a", "1 asked: Delete all")
            assert not re.search(r"[][{}]", history.replace("[y/N]", "")), history


@pytest.mark.e2e
def test_a_route_is_edited_from_it_in_an_editor(terminals: Server, given: dict[str, str], tmp_path: Path) -> None:
    """The editor has the terminal meanwhile; the proxy serves what was written, and the agent has its reply."""
    if not NGINX.exists():
        pytest.skip("no nginx here: scripts/test fetches it")
    with service() as behind, closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        nginx = Nginx(tmp_path / "nginx", tmp_path / "state" / "stuck" / "web" / "notify.sock")
        try:
            write_proxies(tmp_path / "config", nginx.toml)
            item = queue.notify("web", "key-00001", "there is no route to /github/")
            route = {"path": "/github/", "upstream": f"http://127.0.0.1:{behind.port}/", "auth": "github"}
            (tmp_path / "wanted").write_text(json.dumps({"routes": [route]}))
            by_hand = tmp_path / "by_hand"
            by_hand.write_text(f'#!/bin/sh\nprintf "editing, Enter saves "; read x; cat {tmp_path}/wanted >"$1"\n')
            by_hand.chmod(0o755)
            shown = OnTerminal(terminals, (80, 24), *STALLKIT, "dashboard", **given, EDITOR=str(by_hand))
            shown.shows("1 wait for a person")
            shown.press("e")
            shown.shows("│ routes edit web")
            shown.press(" --reply 1 'try again'", "Enter")
            shown.shows("editing, Enter saves")
            shown.press("Enter")
            shown.shows("web: applied", "exit code 0; Enter goes back")
            shown.press("Enter")
            shown.shows("0 wait for a person")
            assert queue.item(item.id).text == "try again"
            assert (tmp_path / "nginx" / "routes.json").read_text() == (tmp_path / "wanted").read_text()
            shown.press("q")
            shown.over(0)
        finally:
            nginx.end()


@pytest.mark.e2e
def test_without_textual_it_says_what_to_install(terminals: Server) -> None:
    without = "import sys; sys.modules['textual'] = None; from stallkit.cli.main import main; main()"
    shown = OnTerminal(terminals, (120, 24), sys.executable, "-c", without, "dashboard")
    shown.shows(r"textual is not installed; pip install 'stallkit-operator\[dashboard\]'$", "over 1$")


@pytest.mark.e2e
def test_a_supervisor_of_all_panes_leaves_out_those_that_show_other_sessions(
    commands: Commands, server: Server, given: dict[str, str]
) -> None:
    server.start("one", "bash", "-c", "read -p 'Overwrite notes.txt? [y/N] ' it; exec sleep 1000", shows="[y/N]")
    on = ("-S", str(server.socket))
    watching = OnTerminal(server, (80, 24), *STALLKIT, "watch", "tmux:one", "--policy", "observe", *on, **given)
    watching.shows("one", "waiting")
    shown = OnTerminal(server, (80, 24), *STALLKIT, "dashboard", *on, **given)
    shown.shows("Overwrite notes.txt")
    asking = OnTerminal(server, (80, 24), *STALLKIT, "wrap", "--", "bash", "-c", "read -p 'Go on? [y/N] ' it", **given)
    asking.shows("Go on")
    commands.begin("watch", "--all", "--policy", "observe", "--json", *on)
    looks = commands.folder / "out"

    def looked_at() -> set[str]:
        lines = [line for line in looks.read_text().splitlines() if line.startswith("{")]
        return {json.loads(line)["target"] for line in lines} - {None, ""}

    names = server.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_current_command}").splitlines()
    assert len(names) == 4, names
    wait_for(lambda: any("Go on" in item["words"] for item in commands.items()), "what asks inside wrap")
    assert {item["words"].split("?")[0] for item in commands.items()} == {"Overwrite notes.txt", "Go on"}
    assert len(looked_at()) == 2, (looked_at(), names)
