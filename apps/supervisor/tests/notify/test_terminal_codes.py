"""What a terminal is sent: one sequence that it knows, and no text in it can end it or say more."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.notify.notice import Notice
from stallkit_supervisor.notify.terminal import BELL, CODES, Code, codes, in_tmux, osc_of, taken_away

from stallkit.terminal.osc_stream import OscReader

NOTICES = st.builds(Notice, st.text(), st.text(max_size=100), st.text(max_size=400))


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"TERM": "xterm-kitty"}, "osc99"),
        ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, "osc777"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "osc777"),
        ({"TERM": "foot-extra"}, "osc777"),
        ({"TERM": "rxvt-unicode-256color"}, "osc777"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "osc9"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WarpTerminal"}, "osc9"),
        ({"TERM": "xterm-256color"}, "bell"),
        ({"TERM": "alacritty"}, "bell"),
        ({}, "bell"),
    ],
)
def test_a_terminal_is_known_by_its_name(environment: dict[str, str], code: Code) -> None:
    assert osc_of(environment) == code


def test_inside_tmux_its_client_counts() -> None:
    assert osc_of({"TERM": "xterm-kitty"}, "xterm-256color iTerm2 3.6.9") == "osc9"
    assert osc_of({"TERM": "xterm-kitty"}, "xterm-256color XTerm(379)") == "bell"


@given(NOTICES, st.sampled_from([code for code in CODES if code != "bell"]))
def test_each_is_whole_sequences_and_nothing_else(notice: Notice, code: Code) -> None:
    data = codes(notice, code)
    assert b"".join(OscReader().feed(data)) == data, "all of it is OSC strings that end"
    assert all(one.startswith(f"\x1b]{code.removeprefix('osc')};".encode()) for one in OscReader().feed(data))


@given(NOTICES)
def test_what_each_says(notice: Notice) -> None:
    title, body = ("".join(char for char in text if char.isprintable()) for text in (notice.title, notice.body))
    [nine] = OscReader().feed(codes(notice, "osc9"))
    assert not re.match(rb"\x1b\]9;\d", nine), "that would be a command of another kind"
    [seven] = OscReader().feed(codes(notice, "osc777"))
    parts = seven[: -len(b"\x1b\\")].split(b";", 3)
    assert parts[1] == b"notify" and parts[2].decode() == title.replace(";", ",")
    parts99 = re.findall(rb";([^;]*)\x1b\\", codes(notice, "osc99"))
    assert [base64.b64decode(one).decode() for one in parts99] == [title, body]
    assert all(len(one) < 2048 for one in parts99)


@given(NOTICES)
def test_only_osc_99_takes_a_notice_away(notice: Notice) -> None:
    shown = re.findall(rb"i=([^:;]+)", codes(notice, "osc99"))
    gone = re.findall(rb"i=([^:;]+)", taken_away(notice, "osc99"))
    assert {*shown} == {*gone} and len({*shown}) == 1
    assert all(taken_away(notice, code) == b"" for code in CODES if code != "osc99")


def test_a_bell_is_a_bell_also_in_tmux() -> None:
    assert codes(Notice("", "a", "b"), "bell") == in_tmux(BELL) == b"\a"
