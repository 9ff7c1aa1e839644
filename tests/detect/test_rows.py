"""What a row of a screen is by itself, and which rows a frame encloses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.rows import Box, Choice, Sort, boxes, read_row
from stallkit.terminal.text import cells
from tests.strategies import anything

SORTS = {
    Sort.BLANK: ["", "   ", " " * 20, "│", "┃   "],
    Sort.RULE: ["────────────", "=========", "── Plan ─────────────", "─────────── 1/3 ──", "▔▔▔▔▔▔▔▔▔▔"],
    Sort.EDGE: ["╭──────────╮", "└──────────┘", "├──────────┤", "▛▀▀▀▀▀▀▜", "│ ╭────╮ │"],
    Sort.OPTION: ["1. Yes", "❯ 1. Yes", "│ ❯ Yes │", "[x] one", "☐ one", "a) one", "(y)es", "> Type here", '> "so"'],
    Sort.HINT: ["Enter to select · Esc to cancel", "? for shortcuts", "↑/↓ to move", f"{'at ' * 20}↵ open · Esc exit"],
    Sort.GAUGE: ["context left: 12%", "12.4k tokens", "model-x  $0.02", "↑ 1.2k ↓ 300"],
    Sort.SPINNER: ["⠋ Thinking", "✻ Thinking… (5s)", "* Going...", "✶ Writing it (12s)", "( ●  ) Going...", "/ Going…"],
    Sort.QUOTE: ['"Do you want to go on?"', "| He said so", "| one | two"],
    Sort.CODE: ["```python", "@@ -1,2 +1,2 @@", "+ 12 def one():", "12 + def one():", "$ make all", "diff --git a b"],
    Sort.TEXT: [
        "I renamed it.",
        "• one of the points",
        "- another one",
        "Press Enter to send it.",  # a sentence about a key
        "Shall I press Enter to go on?",
        f"{'what stands here ' * 4}and Enter to open",  # one key in many words
        "This costs 12.4k tokens.",
        f"what was used of the context: {'so much ' * 20} 12 tokens",
        "❯",
        "允许执行",
    ],
}  # fmt: skip
CHOICES = {
    "1. Yes": Choice(False, "1", "", "Yes", 3),
    "❯ 2. No, and say why": Choice(True, "2", "", "No, and say why", 5),
    "  ❯ one": Choice(True, "", "", "one", 4),
    "│ ● [x] one │": Choice(True, "", "[x]", "one", 8),
    "[ ] one": Choice(False, "", "[ ]", "one", 4),
    "☑ 3. three": Choice(False, "3", "☑", "three", 5),
    "2 (●) two": Choice(False, "2", "(●)", "two", 6),
    "[x] ❯ one": Choice(True, "", "[x]", "one", 6),
    "2. [ ] two": Choice(False, "2", "[ ]", "two", 7),
    "[y] allow": Choice(False, "y", "", "allow", 4),
    "b) bring it": Choice(False, "b", "", "bring it", 3),
    ">> one": Choice(True, "", "", "one", 3),
    "• one": Choice(False, "", "", "one", 2),  # a point is no mark of a selection
    "允许 ❯ 一": Choice(False, "", "", "允许 ❯ 一", 0),
    "❯ 1.5 seconds": Choice(True, "", "", "1.5 seconds", 2),  # a number is a key only with a blank behind it
}
FRAMES = {
    "a plain one": ("╭─ Title ─╮\n│ a       │\n╰─────────╯", [Box(0, 2, 0, 11, "Title")]),
    "one in another": ("┌──────┐\n│ ┌──┐ │\n│ │a │ │\n│ └──┘ │\n└──────┘", [Box(0, 4, 0, 8), Box(1, 3, 2, 6)]),
    "two side by side": ("╭───╮ ╭───╮\n│ a │ │ b │\n╰───╯ ╰───╯", [Box(0, 2, 0, 5), Box(0, 2, 6, 11)]),
    "a word of two columns": ("╭──────╮\n│ 允许 │ 是\n╰──────╯", [Box(0, 2, 0, 8)]),
    "half blocks": ("▗▄▄▄▄▖\n▐ a  ▌\n▝▀▀▀▀▘", [Box(0, 2, 0, 6)]),
    "a column over its right side": ("╭───────╮\n│ a     Help\n╰───────╯", [Box(0, 2, 0, 9)]),
    "nothing inside": ("╭───╮\n╰───╯", []),
    "no side": ("╭───╮\n  a\n╰───╯", []),
    "a side that ends": ("╭─────╮\n│ a   │\n\n╰─────╯", []),
    "no lower edge": ("╭─────╮\n│ a   │", []),
    "no upper edge": ("│ a   │\n╰─────╯", []),
}


def test_each_sort_of_row() -> None:
    wrong = [(line, read_row(line).sort, sort) for sort, lines in SORTS.items() for line in lines]
    assert [one for one in wrong if one[1] is not one[2]] == []
    assert set(SORTS) == set(Sort)


def test_what_a_row_would_be_as_one_to_choose_from() -> None:
    assert {line: read_row(line).choice for line in CHOICES} == CHOICES
    assert read_row("───────────").choice is read_row("").choice is None
    assert read_row("two\nrows").choice is None


def test_a_choice_is_drawn_where_a_sign_says_so() -> None:
    drawn = [line for line, one in CHOICES.items() if one.drawn]
    assert set(CHOICES) - set(drawn) == {"• one", "允许 ❯ 一"}


def test_the_sides_of_a_frame_are_no_text() -> None:
    for line in ("│ Yes │", "┃ Yes", "║ Yes ║", "▌ Yes", "  │ Yes      ▐"):
        row = read_row(line)
        assert (row.text, row.framed, row.column) == ("Yes", True, line.index("Y")), line
    assert not read_row("Yes │").framed and not read_row("| He said so").framed


def test_what_is_only_drawn_has_no_words_and_a_hint_counts_its_keys() -> None:
    assert not any(read_row(line).written for sort in (Sort.BLANK, Sort.RULE, Sort.EDGE) for line in SORTS[sort])
    assert all(read_row(line).written for sort in (Sort.OPTION, Sort.HINT, Sort.TEXT) for line in SORTS[sort])
    assert [read_row(line).keys for line in ("I did it", "? for shortcuts", "Tab, Esc or Enter")] == [0, 1, 3]


def test_frames() -> None:
    assert {name: list(boxes(text.split("\n"))) for name, (text, _) in FRAMES.items()} == {
        name: found for name, (_, found) in FRAMES.items()
    }


def test_what_stands_in_a_frame() -> None:
    lines = ["╭──────╮", "│ 允许 │ 是", "╰──────╯"]
    (box,) = boxes(lines)
    assert [box.inside(lines[row]) for row in box.rows] == ["允许"]
    outer, inner = boxes(FRAMES["one in another"][0].split("\n"))
    assert outer.holds(inner) and not inner.holds(outer) and not outer.holds(outer)
    others = [Box(0, 3, 2, 6), Box(1, 4, 2, 6), Box(5, 7, 0, 8)]  # at its upper edge, at its lower one, below
    assert not any(map(outer.holds, others)) and not Box(0, 4, 3, 8).holds(inner)


@given(anything())
def test_any_row_is_of_one_sort_and_its_text_stands_in_it(line: str) -> None:
    row = read_row(line)
    assert row.text in line and row.text == row.text.strip()
    assert (row.sort is Sort.BLANK) <= (row.text == "")
    if row.text and "\n" not in line:
        assert row.column == cells(line[: line.index(row.text)])
        assert row.choice is None or row.text.endswith(row.choice.label)


DRAWN = st.text("╭─╮│╰╯ a允", max_size=9)


@given(DRAWN, DRAWN, st.lists(DRAWN, max_size=6))
def test_a_frame_is_found_whatever_stands_around_it(title: str, inside: str, lines: list[str]) -> None:
    wide = max(cells(title), cells(inside))
    upper, row = f"╭─{title}{'─' * (wide - cells(title))}─╮", f"│ {inside}{' ' * (wide - cells(inside))} │"
    found = list(boxes([*lines, upper, row, f"╰─{'─' * wide}─╯", *lines]))
    for box in found:
        assert 0 <= box.top < box.bottom - 1 < len(lines) * 2 + 2 and 0 <= box.left < box.right
    if not set(title) & set("╭╮"):
        assert any((box.top, box.bottom, box.left) == (len(lines), len(lines) + 2, 0) for box in found)
