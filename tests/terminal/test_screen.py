"""A screen as a value: its regions, its limits, and when two are the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.screen import (
    MAX_COLUMNS,
    MAX_LINE,
    MAX_LINES,
    MAX_TEXT,
    Cursor,
    Region,
    Screen,
    Size,
    as_screen,
    join_wraps,
)
from stallkit.terminal.text import cells
from stallkit.transports.memory import MemoryTransport

examples = settings(max_examples=120, deadline=None)


# A screen's text, where its cursor is (None: nobody knows), and a region of it.
Rows = list[tuple[str, tuple[int, int] | None, Region]]
PROMPT_LINES: Rows = [
    ("a\nProceed? ", None, Region("Proceed? ", 1)),
    ("Proceed?\n\n  \n", None, Region("Proceed?", 0)),  # the last line that is not blank
    ("", None, Region("", 0)),
    ("Continue?", (10, 0), Region("Continue? ", 0)),  # the capture lost the blank
    ("name: Ada", (6, 0), Region("name: ", 0)),  # what stands right of the cursor is not in it
    ("one\ntwo\nthree", (3, 1), Region("two", 1)),
    ("日本? ", (6, 0), Region("日本? ", 0)),  # the column counts cells
    ("日本", (3, 0), Region("日 ", 0)),
    ("a", (2, 5), Region("  ", 5)),
    ("abc", (0, 0), Region("", 0)),
    ("\x1b[1mGo? \x1b[0m", (4, 0), Region("Go? ", 0)),
]
ABOVE: Rows = [
    ("────\n> ", (2, 1), Region("────", 0)),
    ("────\n\n  \n> ", (2, 3), Region("────", 0)),
    ("one\ntwo  \nthree", None, Region("two", 1)),
    ("only", (4, 0), Region("", 0)),
    ("one\ntwo", (0, 9), Region("two", 1)),
]
BLOCKS: Rows = [
    ("Pick:\n❯ a\n  b\n\nfoot", None, Region("Pick:\n❯ a\n  b", 0)),  # up and down to a blank line
    ("no menu\n1. a\n2. b", None, Region("", 0)),
    ("❯ old\n\n❯ new", None, Region("❯ new", 2)),
    ("❯ here\n\n❯ there", (0, 0), Region("❯ here", 0)),  # the cursor's own before the lowest
    ("│ ● Yes\n│ ○ No", None, Region("│ ● Yes\n│ ○ No", 0)),
    ("a ❯ b", None, Region("", 0)),
    ("❯", None, Region("❯", 0)),
]
PARAGRAPHS: Rows = [
    ("a\n\nb\nc? left\nd\n\ne", (2, 3), Region("b\nc? left\nd", 2)),
    ("a\n\nb? ", None, Region("b?", 2)),
    ("a\nb\n", (0, 2), Region("", 2)),
    ("a", (0, 9), Region("", 9)),
    ("", None, Region("", 0)),
]
REGIONS = {"prompt_line": PROMPT_LINES, "above": ABOVE, "block": BLOCKS, "paragraph": PARAGRAPHS}
DOWN_TO_CURSOR = [
    ("a\nb\nc", (1, 1), 2, Region("a\nb", 0)),
    ("a\nb\nc", (1, 2), 2, Region("b\nc", 1)),
    ("a\nb? left", (2, 1), 5, Region("a\nb?", 0)),
    ("a\nb", (0, 2), 3, Region("a\nb\n", 0)),  # a blank row where the cursor is
    ("a", (0, 3), 9, Region("a\n\n\n", 0)),  # rows that are not drawn yet
    ("a", (0, 3), 2, Region("\n", 2)),
    ("a\nb", None, 2, None),
]
TAILS = [
    ("a\nb\nc", 2, Region("b\nc", 1)),
    ("a\nb\nc\n\n\n", 2, Region("b\nc", 1)),  # counted from the last line that is not blank
    ("a  \n\nb", 3, Region("a\n\nb", 0)),
    ("a", 9, Region("a", 0)),
    ("", 1, Region("", 0)),
]


def test_regions() -> None:
    wrong: list[object] = [
        (name, text, cursor, found)
        for name, rows in REGIONS.items()
        for text, cursor, region in rows
        if (found := getattr(Screen.from_text(text, cursor=cursor), name)) != region
    ]
    for text, cursor, count, region in DOWN_TO_CURSOR:
        if (below := Screen.from_text(text, cursor=cursor).down_to_cursor(count)) != region:
            wrong.append((text, cursor, count, below))
    wrong += [row for row in TAILS if Screen.from_text(row[0]).tail(row[1]) != row[2]]
    assert not wrong, wrong


def test_whole_is_right_stripped_and_lines_keep_their_blanks() -> None:
    screen = Screen.from_text("a  \n  b ")
    assert screen.whole == Region("a\n  b", 0)
    assert screen.lines == ("a  ", "  b ")


def test_more_than_a_terminal_shows_keeps_its_end_and_the_cursor_its_line() -> None:
    assert Screen.from_text("old\n1\n2\n3", size=(80, 3)).lines == ("1", "2", "3")
    assert len(Screen.from_text("x\n" * 999).lines) == MAX_LINES
    tall = Screen.from_text("\n".join(["busy"] * 299 + ["Proceed? [y/N]"]), cursor=(15, 299), size=(80, 500))
    assert tall.prompt_line.text == "Proceed? [y/N] "
    wide = Screen.from_text("x" * (2 * MAX_TEXT) + "Proceed? no", cursor=(2 * MAX_TEXT + 9, 0))
    assert len(wide.lines[0]) == MAX_COLUMNS and wide.prompt_line.text.endswith("Proceed? ")


def test_the_end_of_a_long_capture_is_the_last_row_that_shows_something() -> None:
    text = "x" * (MAX_LINE + 9) + "\nProceed? \n\x1b[0m"
    for size in (None, (80, 2)):
        screen = Screen.from_text(text, cursor=(9, 1), size=size)
        assert screen.lines == ("x" * MAX_COLUMNS, "Proceed? ") and screen.prompt_line.text == "Proceed? "
    assert Screen.from_text(text, cursor=(MAX_LINE + 9, 0)).prompt_line.text == "x" * MAX_COLUMNS


def test_what_is_kept_of_a_screen_that_asks() -> None:
    """The paragraph at the prompt, or the menu, else the last rows; of a short one also what is above it."""
    menu = "\n".join(["Pick:", "❯ a", "  b"])
    above = [f"row {number}" for number in range(9)]
    kept = [
        (Screen.from_text(menu, cursor=(0, 9)), ["Pick:", "❯ a", "  b"]),
        (Screen.from_text("\n".join([*above, "", "Go? "]), cursor=(4, 10)), [*above[-5:], "Go?"]),
        (Screen.from_text("\n".join([*above, ""]), cursor=(0, 10)), above[-6:]),
        (Screen.from_text("\n".join(above * 3), cursor=(2, 3)), above[:8]),
    ]
    assert [(screen.live, rows) for screen, rows in kept if screen.live != rows] == []


def test_what_is_no_text_is_the_callers_mistake() -> None:
    screen = Screen.from_text("$ ")
    wrong: list[Any] = [None, b"$ ", screen.lines, MemoryTransport("$ "), MemoryTransport("$ ").capture()]
    for given_ in wrong:
        for make in (as_screen, Screen.from_text):
            with pytest.raises(TypeError, match=r"a text, not \w+"):
                make(given_)
    assert as_screen(screen) is screen and as_screen("$ ") == screen
    for numbers in ({"cursor": 5}, {"size": "80x24"}):
        with pytest.raises(TypeError, match="whole numbers"):
            Screen.from_text("", **numbers)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a row each"):
        Screen("$ ")  # type: ignore[arg-type]


def test_titles_are_plain_text() -> None:
    assert Screen.from_text("", title="\x1b[1m✳\u00a0Claude\x07").title == "✳ Claude"
    assert Screen.from_text("").title is None


def test_negative_numbers_are_the_callers_mistake() -> None:
    wrong: list[dict[str, Any]] = [{"cursor": (-1, 0)}, {"cursor": (0, -1)}, {"size": (-80, 24)}, {"size": (80, -1)}]
    for numbers in wrong:
        with pytest.raises(ValueError, match="count from 0"):
            Screen.from_text("x", **numbers)


BASE = {"text": "Proceed? [y/N]", "cursor": (15, 0), "size": (80, 24), "cursor_visible": True, "alternate": False}
ALIKE: list[dict[str, Any]] = [
    {"text": "Proceed? [y/N]   \n\n"},
    {"text": "\x1b[1mProceed?\x1b[0m [y/N]"},
    {"title": "⠋ busy"},
    {"size": (90, 24)},
]
OTHERS: list[dict[str, Any]] = [
    {"text": "Proceed? [Y/n]"},
    {"text": "\nProceed? [y/N]"},
    {"cursor": (16, 0)},
    {"cursor": (15, 1)},
    {"cursor": None},
    {"cursor_visible": False},
    {"alternate": True},
    {"alternate": None},
]


def test_fingerprints_are_equal_only_where_a_key_means_the_same() -> None:
    def same(change: dict[str, Any]) -> bool:
        made: dict[str, Any] = BASE | change
        return Screen.from_text(**made).fingerprint == Screen.from_text(**BASE).fingerprint  # type: ignore[arg-type]

    assert [change for change in ALIKE if not same(change)] == []
    assert [change for change in OTHERS if same(change)] == []


WRAPS = [  # rows, whether each wraps into the next, the cursor; the lines, and where the cursor is then
    (["a", "b"], [False, False], (1, 1), ["a", "b"], (1, 1)),
    (["abcd", "ef"], [True, False], (2, 1), ["abcdef"], (6, 0)),
    (["abcd", "efgh", "i"], [True, True, False], (1, 2), ["abcdefghi"], (9, 0)),
    (["日本", "x"], [True, False], (1, 1), ["日本x"], (5, 0)),  # the column counts cells
    (["abcd", "e", "$ "], [True, False, False], (2, 2), ["abcde", "$ "], (2, 1)),
    (["abcd"], [True], (4, 0), ["abcd"], (4, 0)),
    ([], [], (0, 0), [], (0, 0)),
]


def test_rows_that_wrap_are_one_line() -> None:
    assert [row for row in WRAPS if join_wraps(*row[:3]) != row[3:]] == []
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
