"""Names, titles, screens and files that try to colour, move or turn round what stallkit draws, on real terminals."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Callable, Iterator

import pytest
from recordings import write
from started import House
from terminals import HEARD, OnTerminal, Server

from stallkit.cli.output import shown
from stallkit.errors import StallkitError
from stallkit.terminal.text import escaped

CLI = Path(__file__).parents[2] / "stallkit" / "cli"
CORPUS = Path(__file__).parents[1] / "corpus" / "cli.jsonl"
HARM = ("bash", "-c", "read -p 'Delete all? [y/N] '")
MARKUP = "[bold red]x[/] [link=evil] :moai: [/] \\"
CONTROL = "\x1b[31mred\x1b]0;title\x07\x9b2J\r\x08"
TURNED = "a\u202egnp.exe\u2066\u200b\u2060\ufeff\u3164"
ALL = MARKUP + CONTROL + TURNED
HARMLESS = r"\x1b[31mred\x1b]0;title\x07\x9b2J\r\x08a\u202egnp.exe\u2066\u200b\u2060\ufeff\u3164"

Draw = Callable[..., OnTerminal]


@pytest.fixture
def draw(house: House, server: Server) -> Iterator[Draw]:
    """`stallkit` on a terminal that is wide enough for all of it."""
    folder = house.folder / "s"
    folder.mkdir()
    terminals = Server(folder)
    terminals.tmux("start-server", ";", "new-session", "-d", "-s", "first", "sleep", "1000")
    yield lambda *words: OnTerminal(terminals, (190, 40), house.command, *words, **house.environment)
    terminals.end()


def plain(text: str) -> None:
    """Nothing that a terminal takes for more than letters, and nothing that was read as markup or emoji."""
    text = text.replace("\n", "")
    assert escaped(text) == text
    assert "🗿" not in text


def uncoloured(shown: OnTerminal, text: str) -> None:
    """The text stands there in the terminal's own colour, and as no link."""
    cells = shown._server.tmux("capture-pane", "-e", "-p", "-S", "-", "-t", shown._pane)
    lines = [line for line in cells.splitlines() if text in line]
    assert lines, cells
    assert not any("\x1b]8" in line or re.search(r"\x1b\[[^m]*\b31\b[^m]*m" + re.escape("x"), line) for line in lines)


@pytest.mark.parametrize("text", [ALL, "\n", "\x00\x7f\u2028\u2029\u061c\u00ad", "\ud800", "\U000e0041\u115f"])
def test_what_is_shown_changes_nothing_about_a_terminal(text: str) -> None:
    for told in (shown(text), escaped(text)):
        plain(told)
        assert told.isprintable()
    assert str(StallkitError("x", text, text, "look")).isprintable()
    assert shown("漢字 é ⚠\ufe0f ❯ [x]") == "漢字 é ⚠\ufe0f ❯ [x]"


@pytest.mark.e2e
def test_sessions_of_others(draw: Draw, house: House, server: Server) -> None:
    """tmux takes nearly every name, and a program any title."""
    name = "[bold red]x[/]\u202e[/]"
    title = "printf '\\033]2;[bold red]t[/]\\007'; "
    server.start(name, "bash", "-c", title + HARM[2], shows="Delete").close()
    told = re.escape(r"[bold red]x[/]\u202e[/]")
    watch = draw("watch", "--all", "--interval", "0.3", "-S", str(server.socket))
    watch.shows(rf"^● +tmux:{told} +waiting", rf"tmux:{told} escalation")
    uncoloured(watch, "x[/]")
    watch.press("C-c")
    plain(watch.over())
    for word in ("status", "incidents"):
        drawn = draw(word)
        text = drawn.over()
        plain(text)
        assert re.search(told, text), text
        uncoloured(drawn, "x[/]")
    at = (f"tmux:{name}", "-S", str(server.socket))
    for words in (
        ["check", *at],
        ["explain", *at],
        ["policy", "explain", *at],
        ["wait", *at],
        ["stuck", "release", at[0]],
    ):
        done = house.call(*words)
        plain(done.stdout + done.stderr)
        assert "explain" in words or re.search(told, done.stdout + done.stderr), done


@pytest.mark.e2e
def test_sessions_of_ours(draw: Draw, house: House) -> None:
    script = f"printf '%b' {json.dumps(MARKUP)}; printf '\\n\\033]2;{MARKUP[:13]}\\007'; {HEARD}; exit 3"
    house.begin("worker", "sh", "-c", script + " # " + TURNED, MARKUP)
    house.end_of("worker")
    for words in (["list"], ["output", "--postmortem", "worker"]):
        drawn = draw(*words)
        text = drawn.over()
        plain(text)
        assert "[bold red]x[/]" in text or words == ["list"]
        uncoloured(drawn, "[bold" if words != ["list"] else "worker")


@pytest.mark.e2e
def test_runs(draw: Draw, house: House) -> None:
    go = house.folder / "go"
    script = f"printf '%s\\n' \"$1\"; while [ ! -e {go} ]; do sleep 0.1; done"
    run = draw("run", "--window", "1000", "--", "sh", "-c", script, "sh", "[bold red]x[/]\\")
    run.shows(r"sh \d+ s +\[bold red\]x\[/\]\\$")
    uncoloured(run, "x[/]")
    run.press("C-z")
    run.over(5)
    table = draw("attach")
    text = table.over()
    assert "[bold red]x[/]\\" in text
    uncoloured(table, "x[/]")
    attach = draw("attach", "last", "--wait", "--window", "1000")
    attach.shows(r"r\w+ \d+ s +\[bold red\]x\[/\]\\$")
    go.touch()
    assert attach.over().startswith("[bold red]x[/]\\\n")


@pytest.mark.e2e
def test_files_and_what_is_in_them(draw: Draw, house: House) -> None:
    case = json.loads(CORPUS.read_text().splitlines()[0])
    corpus = house.folder / "one.jsonl"
    corpus.write_text(json.dumps({**case, "id": "i" + ALL, "program": "p" + ALL, "screen": "Proceed? [y/N] "}) + "\n")
    evaluation = draw("eval", "--by", "program", str(corpus))
    text = evaluation.over()
    plain(text)
    joined = re.sub(r"\s+", "", text)
    assert re.sub(r"\s", "", "p" + MARKUP + HARMLESS)[:60] in joined, text

    turned = write(house.folder / "b.cast", (0.1, "o", f"{MARKUP}{TURNED}\r\n"), (3.0, "m", "working"), title=ALL)
    plain(draw("record", "replay", str(turned), "--speed", "9").over())

    screen = house.folder / ("[red]x[" + CONTROL.replace("\r", "") + TURNED + ".txt")
    screen.write_text("Proceed? [y/N] ")
    for words in (["check", f"file:{screen}"], ["pack", "lint", str(screen)], ["check", "\x1b[31mx:y"], ["\x1b[31mx"]):
        done = house.call(*words)
        plain(done.stdout + done.stderr)
        assert r"\x1b[31m" in done.stdout + done.stderr


@pytest.mark.e2e
def test_to_show_the_logs_changes_no_terminal(house: House, server: Server) -> None:
    """All that a session with a hostile command, title and screen leaves, shown by cat."""
    house.begin("worker", "sh", "-c", f"printf '%b' '{CONTROL.encode('unicode_escape').decode()}'; exit 3", ALL)
    house.end_of("worker")
    command = [house.command, "run", "--", "sh", "-c", "printf '\\033[31m'; exit 1", ALL]
    subprocess.run(command, env={**server._environment, **house.environment}, check=False, capture_output=True)
    logs = [path for path in (*house.folder.rglob("*.log"), *house.folder.rglob("*.jsonl")) if path.is_file()]
    assert {"monitor.log", "keeper.log", "runtime.log", "events.jsonl"} <= {path.name for path in logs}
    for log in logs:
        plain(log.read_text("ascii"))


def test_every_console_takes_text_as_it_is() -> None:
    """Only `plain_console` makes one, and nothing is made from markup: a title of rich's Panel is, if it is a str."""
    for path in sorted(CLI.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called.rpartition(".")[2] not in ("from_markup", "get_console"), path
                assert called != "Console" or path.name == "output.py", path
                titles = [word.value for word in node.keywords if word.arg in ("title", "caption", "subtitle")]
                made = (ast.Call, ast.Name)  # a name: of what is made before
                assert all(isinstance(title, made) for title in titles if called in ("Panel", "Table")), path


def test_a_command_that_fails_says_so_without_control_characters(house: House) -> None:
    done = house.call("check", f"file:{house.folder}/{CONTROL}")
    assert (done.returncode, done.stdout) == (64, "") and done.stderr.count("\n") == 1
    plain(done.stderr)
