"""A screen as a value: its regions, its limits, and when two are the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.screen import MAX_COLUMNS, MAX_LINES, MAX_TEXT, Cursor, Region, Screen, Size, join_wraps
from stallkit.terminal.text import cells

examples = settings(max_examples=120, deadline=None)


@pytest.mark.parametrize(
    ("text", "cursor", "region"),
    [
        pytest.param("a\nProceed? ", None, Region("Proceed? ", 1), id="no cursor: the last line"),
        pytest.param("Proceed?\n\n  \n", None, Region("Proceed?", 0), id="no cursor: the last line that is not blank"),
        pytest.param("", None, Region("", 0), id="nothing at all"),
        pytest.param("Continue?", (10, 0), Region("Continue? ", 0), id="the capture lost the blank"),
        pytest.param("name: Ada", (6, 0), Region("name: ", 0), id="what stands right of the cursor is not in it"),
        pytest.param("one\ntwo\nthree", (3, 1), Region("two", 1), id="the cursor's row, not the last"),
        pytest.param("日本? ", (6, 0), Region("日本? ", 0), id="the column counts cells"),
        pytest.param("日本", (3, 0), Region("日 ", 0), id="the cursor on half a character"),
        pytest.param("a", (2, 5), Region("  ", 5), id="under the text"),
        pytest.param("abc", (0, 0), Region("", 0), id="at the line's start"),
        pytest.param("\x1b[1mGo? \x1b[0m", (4, 0), Region("Go? ", 0), id="escapes take no column"),
    ],
)
def test_prompt_line(text: str, cursor: tuple[int, int] | None, region: Region) -> None:
    assert Screen.from_text(text, cursor=cursor).prompt_line == region


@pytest.mark.parametrize(
    ("text", "count", "region"),
    [
        ("a\nb\nc", 2, Region("b\nc", 1)),
        ("a\nb\nc\n\n\n", 2, Region("b\nc", 1)),
        ("a  \n\nb", 3, Region("a\n\nb", 0)),
        ("a", 9, Region("a", 0)),
        ("", 1, Region("", 0)),
    ],
)
def test_tail_counts_from_the_last_line_that_is_not_blank(text: str, count: int, region: Region) -> None:
    assert Screen.from_text(text).tail(count) == region


@pytest.mark.parametrize(
    ("text", "cursor", "region"),
    [
        ("────\n> ", (2, 1), Region("────", 0)),
        ("────\n\n  \n> ", (2, 3), Region("────", 0)),
        ("one\ntwo  \nthree", None, Region("two", 1)),
        ("only", (4, 0), Region("", 0)),
        ("one\ntwo", (0, 9), Region("two", 1)),
    ],
)
def test_above(text: str, cursor: tuple[int, int] | None, region: Region) -> None:
    assert Screen.from_text(text, cursor=cursor).above == region


@pytest.mark.parametrize(
    ("text", "cursor", "count", "region"),
    [
        pytest.param("a\nb\nc", (1, 1), 2, Region("a\nb", 0), id="nothing below the cursor"),
        pytest.param("a\nb\nc", (1, 2), 2, Region("b\nc", 1), id="no more rows than asked for"),
        pytest.param("a\nb? left", (2, 1), 5, Region("a\nb?", 0), id="nothing right of it"),
        pytest.param("a\nb", (0, 2), 3, Region("a\nb\n", 0), id="a blank row where the cursor is"),
        pytest.param("a", (0, 3), 9, Region("a\n\n\n", 0), id="rows that are not drawn yet"),
        pytest.param("a", (0, 3), 2, Region("\n", 2), id="below all that is drawn"),
        pytest.param("a\nb", None, 2, None, id="nobody knows the cursor"),
    ],
)
def test_down_to_cursor(text: str, cursor: tuple[int, int] | None, count: int, region: Region | None) -> None:
    assert Screen.from_text(text, cursor=cursor).down_to_cursor(count) == region


@pytest.mark.parametrize(
    ("text", "cursor", "region"),
    [
        pytest.param("Pick:\n❯ a\n  b\n\nfoot", None, Region("Pick:\n❯ a\n  b", 0), id="up and down to a blank line"),
        pytest.param("no menu\n1. a\n2. b", None, Region("", 0), id="no selected row"),
        pytest.param("❯ old\n\n❯ new", None, Region("❯ new", 2), id="the lowest selected row"),
        pytest.param("❯ here\n\n❯ there", (0, 0), Region("❯ here", 0), id="the cursor's own before the lowest"),
        pytest.param("│ ● Yes\n│ ○ No", None, Region("│ ● Yes\n│ ○ No", 0), id="behind a border"),
        pytest.param("a ❯ b", None, Region("", 0), id="a glyph inside a line selects nothing"),
        pytest.param("❯", None, Region("❯", 0), id="a bare glyph"),
    ],
)
def test_block(text: str, cursor: tuple[int, int] | None, region: Region) -> None:
    assert Screen.from_text(text, cursor=cursor).block == region


@pytest.mark.parametrize(
    ("text", "cursor", "region"),
    [
        pytest.param("a\n\nb\nc? left\nd\n\ne", (2, 3), Region("b\nc? left\nd", 2), id="up and down to a blank line"),
        pytest.param("a\n\nb? ", None, Region("b?", 2), id="the last line where nobody knows the cursor"),
        pytest.param("a\nb\n", (0, 2), Region("", 2), id="a blank row"),
        pytest.param("a", (0, 9), Region("", 9), id="below all that is drawn"),
        pytest.param("", None, Region("", 0), id="nothing at all"),
    ],
)
def test_paragraph(text: str, cursor: tuple[int, int] | None, region: Region) -> None:
    assert Screen.from_text(text, cursor=cursor).paragraph == region


def test_whole_is_right_stripped_and_lines_keep_their_blanks() -> None:
    screen = Screen.from_text("a  \n  b ")
    assert screen.whole == Region("a\n  b", 0)
    assert screen.lines == ("a  ", "  b ")


def test_text_taller_than_the_screen_is_cut_to_its_last_rows() -> None:
    assert Screen.from_text("old\n1\n2\n3", size=(80, 3)).lines == ("1", "2", "3")
    assert len(Screen.from_text("x\n" * 999).lines) == MAX_LINES


def test_in_a_very_tall_terminal_the_cursor_stays_on_its_line() -> None:
    text = "\n".join(["busy"] * 299 + ["Proceed? [y/N]"])
    screen = Screen.from_text(text, cursor=(15, 299), size=(80, 500))
    assert screen.prompt_line.text == "Proceed? [y/N] "


def test_a_megabyte_in_one_line_keeps_its_end() -> None:
    screen = Screen.from_text("x" * (2 * MAX_TEXT) + "Proceed? no", cursor=(2 * MAX_TEXT + 9, 0))
    assert len(screen.lines[0]) == MAX_COLUMNS
    assert screen.prompt_line.text.endswith("Proceed? ")


def test_titles_are_plain_text() -> None:
    assert Screen.from_text("", title="\x1b[1m✳\u00a0Claude\x07").title == "✳ Claude"
    assert Screen.from_text("").title is None


@pytest.mark.parametrize("wrong", [{"cursor": (-1, 0)}, {"cursor": (0, -1)}, {"size": (-80, 24)}, {"size": (80, -1)}])
def test_negative_numbers_are_the_callers_mistake(wrong: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="count from 0"):
        Screen.from_text("x", **wrong)  # type: ignore[arg-type]


BASE = {"text": "Proceed? [y/N]", "cursor": (15, 0), "size": (80, 24), "cursor_visible": True, "alternate": False}


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Proceed? [y/N]   \n\n"},
        {"text": "\x1b[1mProceed?\x1b[0m [y/N]"},
        {"title": "⠋ busy"},
        {"size": (90, 24)},
    ],
)
def test_fingerprints_are_equal_where_a_key_means_the_same(change: dict[str, object]) -> None:
    assert Screen.from_text(**BASE | change).fingerprint == Screen.from_text(**BASE).fingerprint  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Proceed? [Y/n]"},
        {"text": "\nProceed? [y/N]"},
        {"cursor": (16, 0)},
        {"cursor": (15, 1)},
        {"cursor": None},
        {"cursor_visible": False},
        {"alternate": True},
        {"alternate": None},
    ],
)
def test_fingerprints_differ_where_a_key_may_mean_another_thing(change: dict[str, object]) -> None:
    assert Screen.from_text(**BASE | change).fingerprint != Screen.from_text(**BASE).fingerprint  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "wrapped", "cursor", "lines", "moved"),
    [
        pytest.param(["a", "b"], [False, False], (1, 1), ["a", "b"], (1, 1), id="nothing wraps"),
        pytest.param(["abcd", "ef"], [True, False], (2, 1), ["abcdef"], (6, 0), id="two rows of one line"),
        pytest.param(["abcd", "efgh", "i"], [True, True, False], (1, 2), ["abcdefghi"], (9, 0), id="three rows"),
        pytest.param(["日本", "x"], [True, False], (1, 1), ["日本x"], (5, 0), id="the column counts cells"),
        pytest.param(["abcd", "e", "$ "], [True, False, False], (2, 2), ["abcde", "$ "], (2, 1), id="a line below it"),
        pytest.param(["abcd"], [True], (4, 0), ["abcd"], (4, 0), id="the last row wraps into nothing"),
        pytest.param([], [], (0, 0), [], (0, 0), id="no rows"),
    ],
)
def test_join_wraps(
    rows: list[str], wrapped: list[bool], cursor: tuple[int, int], lines: list[str], moved: tuple[int, int]
) -> None:
    assert join_wraps(rows, wrapped, cursor) == (lines, moved)


def test_join_wraps_wants_a_flag_for_each_row() -> None:
    with pytest.raises(ValueError):
        join_wraps(["a", "b"], [False], (0, 0))


def test_a_screen_can_be_made_without_from_text() -> None:
    screen = Screen(lines=())
    assert (screen.text, screen.prompt_line, screen.tail(3)) == ("", Region("", 0), Region("", 0))
    assert Screen(lines=("a",), cursor=Cursor(1, 0), size=Size(80, 24)) == Screen.from_text("a", (1, 0), (80, 24))


@examples
@given(st.text(), st.none() | st.tuples(st.integers(0, 90), st.integers(0, 30)), st.integers(1, 9))
def test_regions_are_total_and_whole_lines_of_the_screen(text: str, cursor: tuple[int, int] | None, count: int) -> None:
    screen = Screen.from_text(text, cursor=cursor)
    for region in (screen.tail(count), screen.above, screen.block):
        shown = [line.rstrip() for line in screen.lines[region.row :]]
        assert region.text == "" or region.text.split("\n") == shown[: region.text.count("\n") + 1]
    if cursor is not None:
        assert cells(screen.prompt_line.text) == cursor[0]


def test_rows_that_are_not_what_they_look_like_are_told() -> None:
    rows = ["plain", "no\u00a0blank", "", "zero\u200bwidth", "ünïcode 日本", "filler\u3164", "\tx"]
    assert Screen.from_text("\n".join(rows)).hiding == {1, 3, 5}
    assert Screen.from_text("\n".join(rows), size=(80, 5)).hiding == {1, 3}, "only the last five rows are live"
    assert Screen.from_text("\n".join(rows[:4]) + "\n\u200b").hiding == {1, 3, 4}
    assert Screen.from_text("plain").hiding == frozenset()
