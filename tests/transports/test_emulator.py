"""The emulator makes the screens that tmux made of the same bytes, whatever the bytes and however they are cut."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.errors import TransportUnavailable
from stallkit.terminal.screen import Cursor, Size
from stallkit.transports.emulator import GhosttyEmulator


def shown(*data: bytes | str, size: tuple[int, int] = (20, 4)) -> GhosttyEmulator:
    emulator = GhosttyEmulator(*size)
    for part in data:
        emulator.feed(part.encode() if isinstance(part, str) else part)
    return emulator


def test_a_prompt_keeps_its_blank_before_the_cursor() -> None:
    screen = shown("one\r\nProceed? [y/N] ").screen()
    assert screen.prompt_line.text == "Proceed? [y/N] "
    assert (screen.cursor, screen.size) == (Cursor(15, 1, True), Size(20, 4))
    assert (screen.alternate, screen.title) == (False, None)
    wide = shown("你好 e\u0301? 👍 [y/N] ", size=(40, 4)).screen()
    assert wide.prompt_line.text == "你好 e\u0301? 👍 [y/N] "


def test_wrapped_rows_are_one_line_and_the_cursor_goes_along() -> None:
    screen = shown("a" * 25 + " tail? ").screen()
    assert screen.text.rstrip() == "a" * 25 + " tail?"
    assert screen.prompt_line.text == "a" * 25 + " tail? "
    assert shown("a" * 20 + "\r\nb").screen().text.split("\n")[:2] == ["a" * 20, "b"], "a full row that did not wrap"
    assert shown("a" * 19 + "?").screen().prompt_line.text == "a" * 19 + "?", "the cursor is behind it"


def test_the_alternate_screen_and_the_arrow_keys_follow_the_programs_wish() -> None:
    emulator = shown("before\x1b[?1049h\x1b[2J\x1b[Hfull\x1b[?25l\x1b[?1h")
    for alternate, text, visible in ((True, "full", False), (False, "before", True)):
        screen = emulator.screen()
        assert (screen.alternate, screen.text.strip(), emulator.application_cursor) == (alternate, text, alternate)
        assert screen.cursor is not None and screen.cursor.visible is visible
        emulator.feed(b"\x1b[?1049l\x1b[?25h\x1b[?1l")


def test_the_title_is_the_last_that_was_set() -> None:
    for number, end in product("02", ("\x07", "\x1b\\")):
        emulator = shown(f"\x1b]{number};first{end}a\x1b]{number};zweiter ü{end}b\x1b]9;no title{end}")
        assert (emulator.screen().title, emulator.screen().text.strip()) == ("zweiter ü", "ab")


STREAM = "x\x1b]2;ein Titel\x1b\\\x1b[2;3H\x1b[1;31mätsch 你好\x1b[0m\x1b[?25l\x1b[Kend? \x1b(0q\x1b(B".encode()


def test_bytes_may_be_cut_anywhere() -> None:
    whole = shown(STREAM).screen()
    assert whole == shown(*(STREAM[i : i + 1] for i in range(len(STREAM)))).screen()
    for cut in range(len(STREAM)):
        assert shown(STREAM[:cut], STREAM[cut:]).screen() == whole, cut


def test_odd_bytes_scrollback_and_sizes() -> None:
    assert shown(b"a\xff\xfeb? ").screen().prompt_line.text == "a\ufffd\ufffdb? ", "one cell each"
    scrolled = shown(b"".join(b"line %d\r\n" % i for i in range(1_000)))
    assert scrolled.screen().text.split() == ["line", "997", "line", "998", "line", "999"], "there is no scrollback"
    emulator = shown("Name? ")
    emulator.resize(10, 2)
    assert (emulator.screen().size, emulator.screen().prompt_line.text) == (Size(10, 2), "Name? ")
    for size in ((0, 24), (80, 0), (-1, 3), (80, 2_001), (70_000, 24)):
        with pytest.raises(ValueError, match="1 to 2000"):
            GhosttyEmulator(*size)
        with pytest.raises(ValueError, match="1 to 2000"):
            GhosttyEmulator(80, 24).resize(*size)


def test_replies_are_given_once_and_are_bounded() -> None:
    emulator = shown("abc\x1b[6n")
    assert emulator.replies() == b"\x1b[1;4R"
    assert emulator.replies() == b""
    emulator.feed(b"\x1b[6n" * 50_000)
    assert len(emulator.replies()) < 100_000


def test_where_the_library_is_missing_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyghostty.core", None)
    with pytest.raises(TransportUnavailable) as raised:
        GhosttyEmulator(80, 24)
    assert raised.value.needs == "pyghostty"


# Than tmux makes it: an OSC 133;A within a line begins a new one; on emoji sequences no two emulators agree.
OTHERWISE = {"osc", "vim-wide"}
RECORDED = Path(__file__).parent / "recorded"
BY_TMUX = json.loads((RECORDED / "tmux.json").read_text("utf-8"))


def test_real_programs_look_as_in_tmux() -> None:
    wrong = {}
    for file in RECORDED.glob("*.bin"):
        name, size, _ = file.name.rsplit(".", 2)
        columns, rows = map(int, size.split("x"))
        screen = shown(file.read_bytes(), size=(columns, rows)).screen()
        assert screen.cursor is not None
        found = {
            "lines": screen.text.rstrip().split("\n"),
            "cursor": [screen.cursor.column, screen.cursor.row, screen.cursor.visible],
            "alternate": screen.alternate,
        }
        if (found == BY_TMUX[name]) is (name in OTHERWISE):
            wrong[name] = found
    assert not wrong, wrong


NUMBERS = st.sampled_from([b"", b"0", b"1", b"2", b"5", b"80", b"255", b"65535", b"99999", b"4294967296", b"9" * 30])
CSI = st.builds(
    lambda mark, numbers, middle, final: b"\x1b[" + mark + b";".join(numbers) + middle + bytes([final]),
    st.sampled_from([b"", b"?", b">", b"="]),
    st.lists(NUMBERS, max_size=3),
    st.sampled_from([b"", b" ", b"$", b"!"]),
    st.integers(0x40, 0x7E),
)
OTHERS = [b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b\\", b"\x07", b"\x1b(0", b"\x1b7", b"\x1b8", b"\x1bc", b"\x1bM"]
OTHERS += [b"\r\n", b"\t"]
WIDE = ["你", "e\u0301", "👨\u200d👩\u200d👧", "❤\ufe0f", "\u200b"]
BYTES = st.one_of(st.binary(max_size=30), CSI, st.sampled_from(OTHERS), st.sampled_from(WIDE).map(str.encode))
SIZES = st.sampled_from([(1, 1), (2, 2), (7, 3), (80, 24), (200, 50)])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(BYTES, SIZES), max_size=40), SIZES)
def test_nothing_that_is_fed_raises(parts: list[bytes | tuple[int, int]], size: tuple[int, int]) -> None:
    emulator = GhosttyEmulator(*size)
    for part in parts:
        if isinstance(part, bytes):
            emulator.feed(part)
        else:
            emulator.resize(*part)
            size = part
        screen = emulator.screen()
        assert screen.size == Size(*size) and len(screen.lines) <= size[1]
        assert screen.cursor is not None and screen.cursor.row < size[1]


# What a file that is shown can ask a terminal, and what some terminal was once made to type by it.
QUERIES = {
    "title": b"\x1b]2;rm -rf\x07\x1b[21t",
    "icon name": b"\x1b]1;rm -rf\x07\x1b[20t",
    "answerback": b"\x05",
    "setting, valid": b"\x1bP$qm\x1b\\",
    "setting, invalid": b"\x1bP$qrm -rf\x1b\\",
    "terminfo": b"\x1bP+q544e\x1b\\",
    "colour": b"\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x07\x1b]21;foreground=?\x1b\\",
    "clipboard": b"\x1b]52;c;?\x07",
    "font, window": b"\x1b]50;?\x07\x1b[11t\x1b[13t\x1b[19t",
    "checksum of the screen": b"\x1b[1;1;1;1;4;20*y",
    "a file, by an image": b"\x1b_Gi=31,s=1,v=1,a=q,t=f,f=24;L2V0Yy9wYXNzd2Q=\x1b\\",
    "notification": b"\x1b]99;i=rm:p=?;\x1b\\",
    "version": b"\x1b[>q\x1b[=c",
    "OSC 7501": b"\x1b]7501;?\x1b\\",
}


def test_no_query_that_could_be_abused_is_answered() -> None:
    assert {name: replies for name, query in QUERIES.items() if (replies := shown(query).replies())} == {}


def test_queries_that_programs_wait_for_are_answered_with_numbers_alone() -> None:
    replies = shown("\x1b[5n\x1b[6n\x1b[c\x1b[>c\x1b[?2026$p\x1b[?u").replies()
    assert replies.count(b"\x1b") == 6
    assert set(replies) <= set(b"\x1b[?>0123456789;nRcu$y")
