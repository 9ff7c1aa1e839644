"""The parts of a screen: what is asked, written in, going on and said; and what was, and is no longer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator

from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.engine import Engine
from stallkit.detect.layout import PARTS, Layout, read_layout
from stallkit.detect.matcher import first_row, region
from stallkit.detect.rows import is_prose
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import Region, Screen
from stallkit.terminal.text import cells
from stallkit.word_tables import Patterns, table
from tests.strategies import anything

TESTS = Path(__file__).parents[1]
# Which marks of tests/fixtures/layouts.txt stand before the rows of each part.
MARKS = {"dialog": "dok", "options": "o", "hints": "khb", "composer": "c", "status": "sb"}
MARKS |= {"message": "m", "person": "p"}
BOX = "╭──────────────────────╮\n│ > Type your message  │\n╰──────────────────────╯\n  ? for shortcuts"
MENU = "Run the tests?\n❯ 1. Yes\n  2. No\n\nEnter to select"
LIMIT = "Usage limit reached, resets 3pm"


def drawn() -> Iterator[tuple[str, Screen, dict[str, tuple[int, ...]]]]:
    """The drawn screens: their titles, and the rows that are marked as those of each part."""
    for one in (TESTS / "fixtures" / "layouts.txt").read_text().split("\n== ")[1:]:
        title, *rows = one.rstrip("\n").split("\n")
        cursor, seen = None, None
        for number, row in enumerate(rows):
            for mark in set("‸‡") & set(row):
                cursor, seen = (cells(row[2 : row.index(mark)]), number), mark == "‸"
        text = "\n".join(row[2:].translate({ord("‸"): None, ord("‡"): None}) for row in rows)
        marked = {part: tuple(at for at, row in enumerate(rows) if row[0] in marks) for part, marks in MARKS.items()}
        yield title, Screen.from_text(text, cursor=cursor, cursor_visible=seen), marked


def captured() -> Iterator[Screen]:
    """Some screens of real programs."""
    for name in ("agents", "captured-claude_code", "captured-agent_clis", "unknown-agents", "cli"):
        for line in (TESTS / "corpus" / f"{name}.jsonl").read_text().splitlines()[::20]:
            case = json.loads(line)
            at, size = (case["cursor_x"], case["cursor_y"]), (case["cols"], case["rows"])
            yield Screen.from_text(case["screen"], cursor=at, size=size, cursor_visible=case["cursor_visible"])


def layout(text: str) -> Layout:
    return read_layout(Screen.from_text(text))


def check(screen: Screen) -> None:
    """What holds of the parts of any screen."""
    found = read_layout(screen)
    assert set(found.parts) <= set(PARTS) and all(found.parts.values())
    assert not {"dialog", "composer"} <= set(found.parts)
    assert set(found.parts.get("options", ())) <= set(found.parts.get("dialog", ()))
    assert all(part in found.names(row) for part, rows in found.parts.items() for row in rows)
    typed = screen.cursor.row + 1 if screen.cursor else 0
    assert len(found.rows) <= max(len(screen.lines), typed)
    for part in PARTS:
        rows, where = found.parts.get(part, ()), found.region(part)
        assert list(rows) == sorted(set(rows) & set(range(len(found.rows)))), part
        assert (where is None) == (not rows) and found.text(part) == (where.text if where else "")
        if where is not None:
            lines = where.text.split("\n")
            assert (where.row, where.row + len(lines) - 1) == (rows[0], rows[-1])
            assert [lines[row - where.row] for row in rows] == [found.rows[row].text for row in rows]
            assert region(part, screen) == where.bounded and first_row(part, screen) == rows[0]


def test_drawn_screens() -> None:
    wrong = [
        f"{title}: {part} is {read_layout(screen).parts.get(part, ())}, not {rows}"
        for title, screen, marked in drawn()
        for part, rows in marked.items()
        if (rows or part in ("dialog", "composer")) and read_layout(screen).parts.get(part, ()) != rows
    ]
    assert wrong == []


def test_what_holds_of_every_layout_holds_of_drawn_and_of_captured_screens() -> None:
    for screen in (*(screen for _, screen, _ in drawn()), *captured()):
        check(screen)


PIECES = st.sampled_from([*"\n\n\n\n", "❯ ", "> ", "1. Yes", "  2. No", "(y)es (n)o", "│ ", "● ", "⠋ Going", "Run it?"])
FRAMES = st.sampled_from(["╭──────╮\n", "\n╰──────╯\n", "────────────\n", "Enter to select\n", f"{BOX}\n", f"{MENU}\n"])
MENUS = [MENU, "Allow? (y)es (n)o", "❯ Yes\n  No", f"{BOX}\n{MENU}", "[x] one\n[ ] two", "Esc to close"]


@given(
    st.one_of(anything(), st.lists(st.one_of(PIECES, FRAMES, st.text(max_size=3)), max_size=20).map("".join)),
    st.none() | st.tuples(st.integers(0, 30), st.integers(0, 20)),
    st.none() | st.booleans(),
)
def test_any_screen_has_a_layout(text: str, cursor: tuple[int, int] | None, seen: bool | None) -> None:
    check(Screen.from_text(text, cursor=cursor, cursor_visible=seen))


@given(st.lists(st.one_of(PIECES, FRAMES, st.sampled_from([LIMIT, "Done.", "  ~/proj"])), max_size=12))
def test_a_row_is_read_by_itself(pieces: list[str]) -> None:
    screen = Screen.from_text("\n".join(pieces))
    rows = read_layout(screen).rows
    assert list(rows) == [layout(f"x\n{line}\nx").rows[1] for line in screen.lines[: len(rows)]]


def test_what_a_person_quotes_is_no_dialog() -> None:
    for menu in MENUS:
        words = "> " + menu.replace("\n", "\n  ")
        found = layout(f"● Done.\n\n{BOX}"), layout(f"● Done.\n\n{words}\n\n● I see.\n\n{BOX}")
        assert "dialog" not in found[1].parts and found[0].text("composer") == found[1].text("composer"), menu
        assert found[1].text("person").startswith("> ") and found[1].text("message").endswith("● I see."), menu


def test_what_stands_above_changes_nothing_of_what_is_live() -> None:
    for title, screen, marked in drawn():
        moved = layout("● Hello.\n" * 5 + "────────────\n" + screen.text)
        for part in ("dialog", "options", "composer"):
            rows = tuple(row + 6 for row in marked[part])
            assert screen.cursor or not rows or moved.parts.get(part) == rows, (title, part)


def test_a_place_to_write_in_is_low() -> None:
    forms = {
        "frame": ("╭────────────────╮", "│ {:<14} │", "╰────────────────╯"),
        "rules": ("──────────────────", "{}", "──────────────────"),
        "bar": ("", "┃ {}", ""),
    }
    for name, (top, row, bottom) in forms.items():
        for high, there in ((2, True), (20, False)):
            rows = [row.format(text) for text in ("Ask anything", *[""] * (high - 1))]
            found = layout("\n".join(["I looked.", "● Done.", "", top, *rows, bottom, "  ? for shortcuts"]))
            assert found.parts.get("composer", ()) == (tuple(range(4, 4 + high)) if there else ()), (name, high)


def test_colours_say_what_is_selected_and_what_stands_in_place_of_a_text() -> None:
    menu = "Which one do you want?\n\n  Postgres\n{}  SQLite{}\n  MySQL"
    lit = read_layout(Screen.from_text(menu.format("\x1b[7m", "\x1b[0m"), cursor=(0, 4), cursor_visible=False))
    assert lit.text("options") == "Postgres\nSQLite\nMySQL"
    assert [one.choice.label for one in lit.rows if one.choice and one.choice.marked] == ["SQLite"]
    assert not layout(menu.format("", "")).parts.get("options")
    code = "Answer 1.\n```\n\x1b[7msome code\x1b[0m\n```"
    assert not layout(code).parts.get("options")
    field = "Done.\n\n╭─────────────────╮\n│ {}Anything goes{}   │\n╰─────────────────╯"
    assert layout(field.format("\x1b[2m", "\x1b[0m")).text("composer") == "Anything goes"
    assert not layout(field.format("", "")).parts.get("composer")
    answered = "│\n◇  Delete it?\n│  \x1b[2mYes\x1b[22m\n"
    assert not layout(answered).parts.get("composer"), "what was answered is dim, too"


def test_few_rows_stand_below_what_is_written_but_for_completions() -> None:
    for typed, more, there in (("fix", 3, True), ("fix", 20, False), ("/fix", 20, True), ("@fix", 20, True)):
        below = "\n".join(f"  {number} of them" for number in range(more))
        found = layout(f"● Done.\n──────────\n❯ {typed}\n──────────\n{below}")
        assert ("composer" in found.parts) is there, (typed, more)


def test_a_blank_screen_has_no_parts() -> None:
    assert {text: dict(layout(text).parts) for text in ("", " ", "\n\n  \n")} == {"": {}, " ": {}, "\n\n  \n": {}}


def test_rows_between_that_belong_to_no_part_are_blank_in_its_region() -> None:
    screen = Screen.from_text("● Look.\n────────────\nWhich?\n\n❯ 1. one\n  2. two\n\n\nEnter to select")
    assert read_layout(screen).region("dialog") == Region("Which?\n\n❯ 1. one\n2. two\n\n\nEnter to select", 2)
    assert read_layout(screen).region("composer") is None and read_layout(screen).text("composer") == ""


def test_what_is_told_about_a_message_is_prose_and_the_message_is_none() -> None:
    told = {
        f"When it is used up it says\n{LIMIT}.": 1,
        f"The docs show this: {LIMIT}": 0,
        f"This is what appears then:\n\n{LIMIT}": 2,
        f"I looked at the log. {LIMIT} was in it": 0,
        f'It has "{LIMIT}" in a row': 0,
        f"Hello.\n\nWe saw this one\n{LIMIT}": 3,
        f"For example\nthis one, {LIMIT}\nand others": 1,
    }
    real = {
        LIMIT: 0,
        f"● {LIMIT}": 0,
        f"I looked at the log.\n● {LIMIT}": 1,  # said anew
        f"I looked at the log.\n\n{LIMIT}": 2,  # a paragraph of its own
        f"{LIMIT}\n\nI read it": 0,
        f"{LIMIT}\n> show me": 0,  # a person asks about it below
        f"API error:\n{LIMIT}": 1,
        f"API error:\n\n{LIMIT}": 2,  # what failed is not shown, it happened
    }
    prose = {text: is_prose(layout(text).rows, row) for text, row in (told | real).items()}
    assert prose == dict.fromkeys(told, True) | dict.fromkeys(real, False)
    assert not is_prose(layout(LIMIT).rows, 7)


def test_a_limit_that_is_told_is_none_and_one_that_is_reached_is_one() -> None:
    engine = Engine([Pack("acme", signatures=[Signature("limit", "", "quota", [Clause(text="limit reached")])])])
    found = [engine.detect(text).match is not None for text in (LIMIT, f"It says\n{LIMIT}", f"> {LIMIT}")]
    assert found == [True, False, False]


def test_a_clause_looks_at_a_part() -> None:
    answers = [Clause(text="No", where="options"), Clause(text="Enter", where="hints")]
    idle, busy = Clause(pattern=r"\A", where="composer"), Clause(text="Thinking", where="status")
    pack = Pack("acme", signatures=[
        Signature("asks", "", "waiting", answers),
        Signature("busy", "", "working", [busy], none_of=[answers[0]]),
        Signature("idle", "", "idle", [idle], none_of=[busy]),
    ])  # fmt: skip
    screens = {
        MENU: "asks",
        f"● Is it No or Enter?\n\n{BOX}": "idle",
        f"⠋ Thinking\n\n{BOX}": "busy",
        "Thinking of No and Enter.": None,
    }
    found = {text: Engine([pack]).detect(text).match for text in screens}
    assert {text: one and one.signature.id for text, one in found.items()} == screens
    asked = found[MENU]
    assert asked is not None
    assert [(one.line, one.start, one.text) for one in asked.spans] == [(2, 3, "No"), (4, 0, "Enter")]


def test_phrases_are_pieces_of_the_patterns_of_packs_and_no_patterns_of_a_table() -> None:
    assert not hasattr(Patterns("layout"), "press_enter")
    assert Patterns("phrases").filled("^(?&cancel)|(?&other)") == f"^{table('phrases')['pieces']['cancel']}|(?&other)"
