"""`explain --layout`: the parts of a screen beside its rows, for persons, narrow terminals and programs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from started import House
from terminals import OnTerminal, Server

from stallkit.cli.check_commands import drawn, lines, plain_parts
from stallkit.detect.layout import read_layout
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells, escaped

DIALOG = """\
> fix the helper

● I renamed it.

╭──────────────────────────────────╮
│ Run this command?                │
│   npm test                       │
│                                  │
│ ❯ 1. Yes                         │
│   2. No, and say why             │
│                                  │
│ Enter to confirm · Esc to cancel │
╰──────────────────────────────────╯
"""
DRAWN = """\
row  part            sort    screen
  0  person          option  > fix the helper
  1                  blank
  2  message         option  ● I renamed it.
  3                  blank
  4                  edge    ╭──────────────────────────────────╮
  5  dialog          text    │ Run this command?                │
  6  dialog          text    │   npm test                       │
  7                  edge    │                                  │
  8  dialog options  option  │ ❯ 1. Yes                         │
  9  dialog options  option  │   2. No, and say why             │
 10                  edge    │                                  │
 11  dialog hints    hint    │ Enter to confirm · Esc to cancel │
 12                  edge    ╰──────────────────────────────────╯
"""
NARROW = """\
 0 per     opt > fix the helper
 1         bla
 2 mes     opt ● I renamed it.
 3         bla
 4         edg ╭────────────────────────
 5 dia     tex │ Run this command?
 6 dia     tex │   npm test
 7         edg │
 8 dia opt opt │ ❯ 1. Yes
 9 dia opt opt │   2. No, and say why
10         edg │
11 dia hin hin │ Enter to confirm · Esc
               to cancel │
12         edg ╰────────────────────────
"""
TASKS = "❯ 1. Yes\n  2. No\n\n\n\n  2 tasks\n  ◻ one\n  ◻ two"


@pytest.mark.e2e
def test_each_row_has_its_parts_and_its_sort(house: House) -> None:
    (house.folder / "asks.txt").write_text(DIALOG)
    for words in (["asks.txt"], ["file:asks.txt"]):
        done = house.call("explain", "--layout", *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, DRAWN, "")


@pytest.mark.e2e
def test_a_narrow_terminal_gets_short_words_and_all_of_the_text(house: House, terminal: Server) -> None:
    (house.folder / "asks.txt").write_text(DIALOG)
    at = str(house.folder / "asks.txt")
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        given = {**house.environment, **environment}
        shown = OnTerminal(terminal, (40, 24), house.command, "explain", "--layout", at, **given)
        assert shown.over() + "\n" == NARROW
        assert shown.wrapped == [] and ("\x1b[33m" in shown.styled) is coloured


@pytest.mark.e2e
def test_programs_get_an_object(house: House) -> None:
    (house.folder / "asks.txt").write_text(DIALOG)
    told = json.loads(house.call("explain", "--layout", "--json", "asks.txt").stdout)
    assert told["parts"] == {
        "dialog": [5, 6, 8, 9, 11], "options": [8, 9], "hints": [11], "message": [2], "person": [0],
    }  # fmt: skip
    assert [row["text"] for row in told["rows"]] == DIALOG.splitlines()
    assert told["rows"][8] == {
        "sort": "option", "parts": ["dialog", "options"], "text": "│ ❯ 1. Yes                         │",
    }  # fmt: skip


@pytest.mark.e2e
def test_a_live_session_is_looked_at(house: House, server: Server) -> None:
    server.start("harm", "bash", "-c", "read -p 'Where to? '", shows="Where").close()
    done = house.call("explain", "--layout", "tmux:harm", "-S", str(server.socket))
    assert done.stdout.splitlines()[1].split(maxsplit=3)[1:] == ["message", "text", "Where to?"]


@pytest.mark.e2e
def test_signatures_are_of_the_other_view(house: House) -> None:
    done = house.call("explain", "--layout", "--all", "-")
    assert done.returncode == 64 and "leave out --all" in done.stderr


HOSTILE = "[bold red]x[/] \\\x1b[31mred\x1b]0;title\x07a\u202egnp.exe\u2066\u3164"


@given(
    st.lists(st.text(max_size=60) | st.sampled_from([HOSTILE, *DIALOG.splitlines()]), max_size=30),
    st.none() | st.integers(20, 200),
)
def test_whatever_stands_there_changes_nothing_about_a_terminal(texts: list[str], width: int | None) -> None:
    screen = Screen.from_text("\n".join(texts))
    rows = drawn(screen)
    told = list(lines(rows, width))
    assert all(escaped(line) == line for line in told)
    assert all(cells(line) <= width for line in told if width is not None and width >= 40)
    assert len(rows) == len(screen.text.rstrip("\n").split("\n")) or not (screen.text.strip("\n") or rows)
    assert plain_parts(rows) == {part: list(rows) for part, rows in read_layout(screen).parts.items()}


def test_a_row_below_what_takes_keys_is_of_no_part() -> None:
    rows = drawn(Screen.from_text(TASKS))
    assert rows[0].parts == ("dialog", "options")
    assert (rows[5].sort, rows[5].parts, rows[5].text) == (None, (), "  2 tasks")
    assert list(lines(rows, None))[-1].split(maxsplit=2) == ["7", "unread", "◻ two"]


def test_a_secret_that_goes_on_in_the_next_row_is_masked() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nProceed?"
    rows = drawn(Screen.from_text(key))
    assert "MIIE" not in "".join(row.text for row in rows) and rows[4].text == "Proceed?"


def test_a_screen_of_nothing_has_a_head_alone() -> None:
    for text in ("", "\n\n  \n"):
        assert list(lines(drawn(Screen.from_text(text)), None)) == ["row  part  sort  screen"]
