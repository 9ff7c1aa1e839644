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
from proxied import NGINX, Nginx, service, write_proxies
from queued import Desk as Commands
from stallkit_operator.board import Row, rows
from stallkit_operator.cli.dashboard_app import Dashboard
from stallkit_operator.cli.dashboard_desk import Board, Desk
from stallkit_operator.item import Category, Choice, ChoiceKind, Draft, Item, Source
from stallkit_operator.orders import Order, Triage, Verb
from stallkit_operator.queue import Queue
from terminals import SIZES, OnTerminal, Server, wait_for
from textual.pilot import Pilot

from stallkit.errors import StallkitError

STALLKIT = (str(Path(sys.executable).parent / "stallkit"),)
LIE = "stallkit stuck approve 9"  # what an agent wants to be taken for a line of stallkit's
HOSTILE = "the proxy refuses [red]it[/red] [@click=app.quit]x[/]: \x1b[2J403 \u202eevil"


class Paper(Desk):
    """A desk whose queue is in a folder, and which has no sessions."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.queue = Queue(file)
        self.done: list[tuple[Order | Triage, Item | None]] = []

    def board(self) -> Board:
        items = self.queue.items()
        return Board(tuple(rows([], [], {}, items)), tuple(items))

    def do(self, order: Order | Triage, seen: Item | None) -> str:
        self.done.append((order, seen))
        return f"done: {order.id}"

    def screen(self, row: object) -> list[str]:
        return ["its [b]screen[/b]", "    " + "x" * 74 + LIE, "    " + "word " * 15 + LIE]

    def history(self, row: object) -> list[str]:
        return ["11-25 23:11:02  asked: " + "word " * 11 + LIE]


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
            await until(pilot, lambda: "screen (v:" in text(app))
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


def test_what_is_left_of_a_long_row_begins_where_no_line_of_ours_does(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "help")
    for width, view in product((40, 80, 120), ("screen", "history")):
        seen = driven(paper, *(["v"] if view == "history" else []), until_shown="word word", size=(width, 60))
        forged = [line for line in seen.splitlines() if line.startswith("stallkit") and "approve 9" in line]
        assert "stuck approve 9" in " ".join(seen.split()) and forged == [], seen


def test_on_a_phone_what_is_asked_stays_in_sight(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "npm is refused")
    rows = [line for line in driven(paper, size=(40, 24), until_shown="screen").splitlines() if "web" in line]
    assert rows[0].split() == ["1", "web", "npm", "is", "refused"]
    assert rows[1].split()[:2] == ["web", "unknown"] and "notice: n" in rows[1]


def test_long_names_stay_apart_and_every_key_is_in_sight(paper: Paper) -> None:
    for name in ("a-long-name-of-a-build-on-main", "a-long-name-of-a-build-on-next"):
        paper.queue.notify(name, f"key-{name[-4:]}", "~\n~\nnpm is refused")
    for size, column in (((80, 24), 2), ((40, 30), 1)):
        seen = driven(paper, size=size, until_shown="on-next")
        names = [line.split()[column] for line in seen.splitlines() if "npm is refused" in line][:2]
        assert len(set(names)) == 2 and all("…" in name for name in names), seen
        assert "~" not in seen.partition("screen (v:")[0], "an empty row of an editor says nothing"
        for key in ("reply", "approve", "decline", "option", "triage", "edit", "rebuild", "tmux", "quit"):
            assert key in seen.splitlines()[-1] + seen.splitlines()[-2], key
        assert "sessions" in seen.splitlines()[0] and "(v: history" in seen


def test_a_key_that_is_tapped_does_what_it_says(paper: Paper) -> None:
    paper.queue.notify("web", "key-00001", "may I?")

    async def drive() -> str:
        app = Dashboard(paper, every_s=0.05)
        async with app.run_test(size=(40, 30)) as pilot:
            await until(pilot, lambda: "may I?" in text(app))
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


def test_keys_write_a_waiver_a_reload_and_go_through_what_one_session_asks(paper: Paper) -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    paper.queue.notify("web", "key-00001", f"the push of {commit} is refused")
    paper.queue.file(Draft("tmux:web", Source.PROMPT, "confirm", "Deploy? [y/N]", (), "x", "y", "z"))
    paper.queue.notify("db", "key-00002", "may I?")
    assert f"waive {commit} --item 1 --why" in driven(paper, "x", until_shown="--why", size=(100, 24))
    assert "names a commit" in driven(paper, "down", "down", "x", until_shown="names a commit")
    assert "routes reload web" in driven(paper, "c", until_shown="reload web")
    assert "web 1 of 2 (n)   screen" in driven(paper, "tab", until_shown="1 of 2")
    assert "reply 2 " in driven(paper, "tab", "n", "r", until_shown="r 2").replace("r 2", "reply 2")
    driven(paper, "tab", "n", "n", "d", "enter", until_shown="done: 1")
    assert paper.done[-1][0] == Order(Verb.DECLINE, 1)


def test_the_options_of_a_long_dialog_are_in_sight_where_one_is_chosen(paper: Paper) -> None:
    options = (Choice("1", "Yes", ChoiceKind.ALLOW_ONCE), Choice("3", "No [b]way[/b]", ChoiceKind.REJECT_ONCE))
    paper.queue.file(Draft("tmux:a", Source.PROMPT, "permission", "word\n" * 40, options, "x", "y", "z"))
    seen = driven(paper, "a", until_shown="1 Yes   3 No [b]way[/b]")
    assert "approve 1" in seen and paper.done == []


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
    shown.shows("1 wait for a person", r"^ +Overwrite notes.txt\? \[y/N\]")  # of no server: the sessions of each
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
def test_no_row_of_a_sessions_screen_begins_where_our_own_lines_do(server: Server) -> None:
    lie = "stallkit stuck reply 3 1 Yes"
    server.start("liar", "sh", "-c", f"echo {lie}; exec sleep 1000", shows=lie)
    shown = Desk(None, str(server.socket)).screen(Row("liar", "tmux:liar", "working"))
    assert f"    {lie}" in shown and all(line.startswith("    ") for line in shown)


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
        client.shows("1 sessions", r"^one ")
        client.press("w")
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
            shown.press("v")
            history = shown.shows("escalation: policy observe leaves it to a person", "1 asked: Delete all")
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
            shown.shows("^routes edit web")
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
