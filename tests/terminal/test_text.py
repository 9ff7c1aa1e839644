"""Terminal text to plain text: what goes, what stays, and that nothing makes it fail."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.text import cells, cut, fold, strip

# Text in which control sequences, broken ones too, are as likely as letters.
SEQUENCES = ["\x1b", "\x1b[", "\x1b[1m", "\x1b[2K", "\x1b[K", "\x1b]0;t", "\x1bP", "\x1b\\", "\x9b", "\x9d", "\x9c"]
OTHERS = [
    "\x07",
    "\r",
    "\n",
    "\r\n",
    "\t",
    "\b",
    "\0",
    "m",
    "38;5;1m",
    "Proceed? ",
    "❯",
    "日",
    "e\u0301",
    "\ufe0f",
    "\u00a0",
]
PIECES = st.sampled_from(SEQUENCES + OTHERS)
TERMINAL = st.lists(PIECES | st.text(max_size=4), max_size=20).map("".join)
examples = settings(max_examples=120, deadline=None)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        pytest.param("\x1b[1;31mProceed?\x1b[0m [y/N] ", "Proceed? [y/N] ", id="CSI"),
        pytest.param("a\x1b[?25lb\x1b[>0qc\x1b[1 qd", "abcd", id="CSI with private and intermediate bytes"),
        pytest.param("\x1b[38:2::1:2:3mx", "x", id="CSI with colons"),
        pytest.param("a\x1b]0;a title\x07b", "ab", id="OSC ended by BEL"),
        pytest.param("a\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\b", "alinkb", id="OSC 8 ended by ST"),
        pytest.param("a\x1b]133;A\x9cb", "ab", id="OSC ended by the 8-bit ST"),
        pytest.param("a\x1b]0;no end\nProceed?", "a\nProceed?", id="OSC that nobody ends stops at its line"),
        pytest.param("a\x1bPq#0;2;0\x1b\\b", "ab", id="DCS"),
        pytest.param("a\x1b_Gf=24;AAAA\x1b\\b", "ab", id="APC"),
        pytest.param("a\x1bXsos\x1b\\b\x1b^pm\x1b\\c", "abc", id="SOS and PM"),
        pytest.param("a\x1b]0;cancelled\x18b", "ab", id="OSC ended by CAN"),
        pytest.param("\x9b1mbold\x9b0m", "bold", id="8-bit CSI"),
        pytest.param("a\x9d0;title\x9cb\x90q\x9cc", "abc", id="8-bit OSC and DCS"),
        pytest.param("a\x1b(Bb\x1b=c\x1b7d\x1b8", "abcd", id="short escapes"),
        pytest.param("a\x1b", "a", id="lone ESC at the end"),
        pytest.param("a\x1b\nb", "a\nb", id="lone ESC before a newline"),
        pytest.param("a\x1b[31", "a31", id="CSI that is cut off loses its introducer"),
        pytest.param("\x07a\0b\x0ec\x7fd\x85", "abcd", id="other controls"),
        pytest.param("a\tb\nc", "a\tb\nc", id="tab and newline stay"),
    ],
)
def test_strip_takes_control_sequences_out(raw: str, plain: str) -> None:
    assert strip(raw) == plain


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        pytest.param("10%\r20%", "20%", id="redrawn"),
        pytest.param("Downloading\rDone", "Doneloading", id="shorter text lies over longer"),
        pytest.param("10%\r\x1b[KDone", "Done", id="erased, then drawn"),
        pytest.param("Downloading\x1b[2K\rDone", "Done", id="whole line erased"),
        pytest.param("Downloading 50%\rDone\x1b[K", "Done", id="drawn, then the rest erased"),
        pytest.param("a\rb\rc", "c", id="twice"),
        pytest.param("abc\r", "abc", id="a return alone erases nothing"),
        pytest.param("a\r\nb\r\n", "a\nb\n", id="CRLF is a newline"),
        pytest.param("one\rtwo\nthree\rf", "two\nfhree", id="each line for itself"),
        pytest.param("\x1b[31mred\x1b[0m\rgo", "god", id="colours take no room"),
    ],
)
def test_strip_redraws(raw: str, plain: str) -> None:
    assert strip(raw) == plain


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        pytest.param("❯\u00a01. Yes", "❯ 1. Yes", id="no-break space"),
        pytest.param("a\u2009b\u202fc\u2003d", "a b c d", id="other blanks"),
        pytest.param("⚠\ufe0f Allow", "⚠ Allow", id="variation selector"),
        pytest.param("Al\u200blow\u00ad?", "Allow?", id="zero-width space and soft hyphen"),
        pytest.param("\u202eevil\u202c\u2066x\u2069", "evilx", id="bidirectional controls"),
        pytest.param("a\U000e0061\U000e0100b", "ab", id="tags"),
        pytest.param("a\tb", "a       b", id="tab"),
        pytest.param("plain [y/N] ", "plain [y/N] ", id="ASCII as it is"),
        pytest.param("e\u0301日❯", "e\u0301日❯", id="combining and wide characters stay"),
    ],
)
def test_fold(raw: str, folded: str) -> None:
    assert fold(raw) == folded


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("❯ ", 2), ("ｱ", 1), ("Ａ", 2), ("🚀", 2), ("a\u200db", 2)],
)
def test_cells(text: str, count: int) -> None:
    assert cells(text) == count


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("abc", 2, "ab"),
        ("abc", 5, "abc  "),
        ("abc", 0, ""),
        ("", 3, "   "),
        ("日本", 2, "日"),
        ("日本", 3, "日 "),  # the wide character straddles the cut: its half is a blank
        ("日本", 6, "日本  "),
        ("e\u0301x", 1, "e\u0301"),
    ],
)
def test_cut(text: str, column: int, part: str) -> None:
    assert cut(text, column) == part


@examples
@given(TERMINAL)
def test_strip_leaves_no_control_character(text: str) -> None:
    left = {char for char in strip(text) if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0}
    assert left <= {"\n", "\t"}


@examples
@given(TERMINAL)
def test_strip_and_fold_are_idempotent(text: str) -> None:
    once = fold(strip(text))
    assert strip(once) == once
    assert fold(once) == once


@examples
@given(st.text(st.characters(blacklist_categories=["Cc"])))
def test_strip_keeps_plain_text(text: str) -> None:
    assert strip(text) == text


@examples
@given(st.lists(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)), min_size=1), st.integers(0, 107))
def test_colour_changes_nothing(words: list[str], colour: int) -> None:
    assert strip(f"\x1b[{colour}m".join(words) + "\x1b[0m") == "".join(words)


@examples
@given(st.text(), st.integers(0, 40))
def test_cut_gives_just_so_many_cells(text: str, column: int) -> None:
    part = cut(text, column)
    assert cells(part) == column
    assert text.startswith(part.rstrip(" "))


@examples
@given(st.text(st.characters()), st.integers(0, 40))
def test_nothing_makes_it_raise(text: str, column: int) -> None:
    assert isinstance(cut(fold(strip(text)), column), str)  # lone surrogates and unassigned characters among it
