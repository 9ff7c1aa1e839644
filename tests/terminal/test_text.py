"""Terminal text to plain text: what goes, what stays, and that nothing makes it fail."""

from __future__ import annotations

import re
from itertools import accumulate, chain

from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.text import cells, coloured, cut, escaped, fold, painted, replaced, strip

# Text in which control sequences, broken ones too, are as likely as letters.
SEQUENCES = ["\x1b", "\x1b[", "\x1b[1m", "\x1b[2K", "\x1b[K", "\x1b]0;t", "\x1bP", "\x1b\\", "\x9b", "\x9d", "\x9c"]
OTHERS = ["\x07", "\r", "\n", "\r\n", "\t", "\x08", "\x00", "m", "38;5;1m", "Proceed? ", "❯", "日", "é", "️", "\xa0"]
TERMINAL = st.lists(st.sampled_from(SEQUENCES + OTHERS) | st.text(max_size=4), max_size=20).map("".join)
examples = settings(max_examples=120, deadline=None)

STRIPPED = {
    # control sequences go: CSI, OSC, DCS, APC, SOS and PM, of 7 and of 8 bits, ended or not
    "\x1b[1;31mProceed?\x1b[0m [y/N] ": "Proceed? [y/N] ",
    "a\x1b[?25lb\x1b[>0qc\x1b[1 qd": "abcd",  # private and intermediate bytes
    "\x1b[38:2::1:2:3mx": "x",
    "a\x1b]0;a title\x07b": "ab",
    "a\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\b": "alinkb",
    "a\x1b]133;A\x9cb": "ab",
    "a\x1b]0;no end\nProceed?": "a\nProceed?",  # what nobody ends stops at its line
    "a\x1bPq#0;2;0\x1b\\b": "ab",
    "a\x1b_Gf=24;AAAA\x1b\\b": "ab",
    "a\x1bXsos\x1b\\b\x1b^pm\x1b\\c": "abc",
    "a\x1b]0;cancelled\x18b": "ab",
    "\x9b1mbold\x9b0m": "bold",
    "a\x9d0;title\x9cb\x90q\x9cc": "abc",
    "a\x1b(Bb\x1b=c\x1b7d\x1b8": "abcd",
    "a\x1b": "a",
    "a\x1b\nb": "a\nb",
    "a\x1b[31": "a31",  # cut off, it loses its introducer
    "\x07a\0b\x0ec\x7fd\x85": "abcd",
    "a\tb\nc": "a\tb\nc",
    # what is drawn over something lies over it
    "10%\r20%": "20%",
    "Downloading\rDone": "Doneloading",
    "10%\r\x1b[KDone": "Done",
    "Downloading\x1b[2K\rDone": "Done",
    "Downloading 50%\rDone\x1b[K": "Done",
    "a\rb\rc": "c",
    "abc\r": "abc",  # a return alone erases nothing
    "a\r\nb\r\n": "a\nb\n",
    "one\rtwo\nthree\rf": "two\nfhree",
    "\x1b[31mred\x1b[0m\rgo": "god",  # colours take no room
}
FOLDED = {
    "❯\u00a01. Yes": "❯ 1. Yes",
    "a\u2009b\u202fc\u2003d": "a b c d",
    "⚠\ufe0f Allow": "⚠ Allow",
    "Al\u200blow\u00ad?": "Allow?",
    "\u202eevil\u202c\u2066x\u2069": "evilx",
    "a\U000e0061\U000e0100b": "ab",
    "a\tb": "a       b",
    "plain [y/N] ": "plain [y/N] ",
    "e\u0301日❯": "e\u0301日❯",
}
CELLS = {"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "❯ ": 2, "ｱ": 1, "Ａ": 2, "🚀": 2, "a\u200db": 2}
CUT = {
    ("abc", 2): "ab",
    ("abc", 5): "abc  ",
    ("abc", 0): "",
    ("", 3): "   ",
    ("日本", 2): "日",
    ("日本", 3): "日 ",  # the wide character straddles the cut: its half is a blank
    ("日本", 6): "日本  ",
    ("e\u0301x", 1): "e\u0301",
}


def test_what_is_left_of_a_text() -> None:
    assert {raw: strip(raw) for raw in STRIPPED} == STRIPPED
    assert {raw: fold(raw) for raw in FOLDED} == FOLDED
    assert {text: cells(text) for text in CELLS} == CELLS
    assert {(text, column): cut(text, column) for text, column in CUT} == CUT


def test_only_what_stands_between_shifts_is_painted() -> None:
    frame = "\x0elq\x1b[1mk\x1b[0m\nx\x0f mail \x0ex\x0f"
    assert painted(frame) == "┌─\x1b[1m┐\x1b[0m\n│ mail │", "colours have letters, too; a row may end before its shift"
    assert painted("lqk \x1b[1m mqj") == "lqk \x1b[1m mqj"
    assert painted("\x0eq") == "─", "what has no end is painted to the end"


@examples
@given(TERMINAL)
def test_what_is_coloured_has_no_sequence_but_colours(text: str) -> None:
    shown = coloured(text).split("\n")
    assert all(re.sub(r"\x1b\[[0-9;:]*m", "", line).isprintable() for line in shown)
    assert len(shown) == len(text.split("\n")), "each row stays a row"


@examples
@given(TERMINAL)
def test_what_is_escaped_is_printable_and_keeps_what_was(text: str) -> None:
    assert escaped(text).isprintable()
    assert not text.isprintable() or not text.isascii() or escaped(text) == text


@examples
@given(TERMINAL)
def test_strip_leaves_no_control_character_and_nothing_for_a_second_time(text: str) -> None:
    left = {char for char in strip(text) if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0}
    assert left <= {"\n", "\t"}
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
@given(st.lists(st.tuples(st.text(max_size=4), st.text(min_size=1, max_size=4), st.text(max_size=4)), max_size=5))
def test_spans_are_replaced_and_the_rest_stays(parts: list[tuple[str, str, str]]) -> None:
    """Of each part its middle."""
    ends = list(accumulate(map(len, chain.from_iterable((kept, old) for kept, old, _ in parts))))
    changes = [(start, end, new) for start, end, (_, _, new) in zip(ends[::2], ends[1::2], parts, strict=True)]
    before = "".join(kept + old for kept, old, _ in parts) + "."
    assert replaced(before, changes) == "".join(kept + new for kept, _, new in parts) + "."


@examples
@given(st.text(st.characters()), st.integers(0, 40))
def test_cut_gives_just_so_many_cells_of_any_text(text: str, column: int) -> None:
    part = cut(text, column)  # lone surrogates and unassigned characters among it
    assert cells(part) == column and text.startswith(part.rstrip(" "))
    assert isinstance(cut(fold(strip(text)), column), str)
