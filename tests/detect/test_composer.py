"""What stands in a composer: nobody's text, somebody's, or exactly ours, on captured screens and on drawn ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.composer import Composer, said_by_person, written
from stallkit.detect.engine import Engine
from stallkit.packs.screenfile import read_screen
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells, cut

PLUGINS = Path(__file__).parents[2] / "plugins"
HITS = sorted(path for name in ("claude_code", "agent_clis") for path in PLUGINS.glob(f"{name}/src/*/screens/*/hit-*"))
DRAFTS = {  # captured with a text in the composer; in all others nobody had typed
    "hit-commands-above.txt": ("/model",),
    "hit-commands-all-2-1-243-80.txt": ("/",),
    "hit-commands-below.txt": ("/model",),
    "hit-commands-open.txt": ("/effort",),
    "hit-two-lines.txt": ("two", "lines"),
    "hit-opencode-1-18-idle-with-unsent-draft-80x24.txt": ("half-written request",),
}
UNKNOWN = {  # the cursor is not in the composer, or the composer is in another mode
    "hit-bash-mode.txt",
    "hit-gemini-0-38-idle-after-quote-80x24.txt",
    "hit-limits-prompt-too-long-2-0-42-80.txt",
    "hit-permissions-refused-2-0-42-80.txt",
    "hit-trust-idle-after-it-2-1-75-80.txt",
}
BOX = Composer("> ", above="-{8}.*", below="-{8}", placeholder="Ask .*")
WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")) | st.just(" "), min_size=1, max_size=120)


def composer_of(screen: Screen, engine: Engine) -> Composer | None:
    match = engine.detect(screen).match
    return match.signature.composer if match else None


def test_captured_composers_are_told_apart_by_what_stands_in_them(engine: Engine) -> None:
    seen = 0
    for path in HITS:
        screen = read_screen(path).screen
        composer = composer_of(screen, engine)
        if composer is None:
            continue
        seen += 1
        found = written(screen, composer)
        if path.name in UNKNOWN:
            assert found is None, path.name
        else:
            assert found is not None, path.name
            assert found.empty == (path.name not in DRAFTS), path.name
            assert found.empty or found.rows == DRAFTS[path.name]
    assert seen > 30


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1, max_size=20), st.data())
def test_a_captured_composer_with_a_text_left_of_the_cursor_is_never_empty(
    engine: Engine, text: str, data: st.DataObject
) -> None:
    screen = data.draw(st.sampled_from([read_screen(path).screen for path in HITS if "composer" in path.parent.name]))
    composer = composer_of(screen, engine)
    found = written(screen, composer) if composer else None
    if composer is None or found is None or screen.size is None:
        return
    line = (found.lead + text)[: screen.size.columns - 1]
    lines = [*screen.lines[: found.start], line, *screen.lines[found.start + 1 :]]
    typed = Screen.from_text("\n".join(lines), (cells(line), found.start), (screen.size.columns, screen.size.rows))
    again = written(typed, composer)
    assert again is None or not again.empty


def drawn(text: str, width: int, draft: str = "") -> Screen:
    """A composer that shows a text, broken anywhere, with the cursor behind it."""
    shown, rows = text + draft, []
    while shown or not rows:
        row = cut(shown, width).rstrip(" ") if cells(shown) > width else shown
        row = row or shown[:1]
        rows.append(row)
        shown = shown[len(row) :]
    lines = ["agent", "-" * 40, *(("> " if not number else "  ") + row for number, row in enumerate(rows)), "-" * 40]
    return Screen.from_text("\n".join(lines), (2 + cells(rows[-1]), 1 + len(rows)), (40, 60))


@given(WORDS.filter(str.strip), st.integers(5, 36))
def test_a_text_is_known_again_however_it_is_broken(text: str, width: int) -> None:
    found = written(drawn(text.strip(), width), BOX)
    assert found is not None and found.is_exactly(text) and not found.empty


@given(WORDS.filter(str.strip), st.text("abc", min_size=1, max_size=3), st.integers(5, 36))
def test_a_text_with_more_behind_it_or_less_is_another(text: str, more: str, width: int) -> None:
    found = written(drawn(text.strip(), width, more), BOX)
    assert found is not None and not found.is_exactly(text)
    less = written(drawn(text.strip(), width), BOX)
    assert less is not None and not less.is_exactly(text.strip() + more)


def screen(rows: str, cursor: tuple[int, int]) -> Screen:
    return Screen.from_text(rows, cursor, (40, 20))


RULE = "-" * 40


@pytest.mark.parametrize(
    ("rows", "cursor", "empty"),
    [
        (f"{RULE}\n> \n{RULE}", (2, 1), True),
        (f"{RULE}\n> Ask me\n{RULE}", (2, 1), True),
        (f"{RULE}\n> Ask me\n{RULE}", (8, 1), False),  # somebody typed just that
        (f"{RULE}\n> some text\n{RULE}", (2, 1), False),  # with the cursor back at its start
        (f"{RULE}\n>    \n{RULE}", (5, 1), False),  # blanks
        (f"{RULE}\n>\n  below\n{RULE}", (2, 1), False),  # an empty first row
        (f"{RULE}\n> \n{RULE}", (0, 3), None),  # the cursor is below
        (f"{RULE}\n> \n{RULE}", (0, 0), None),
        ("> \n" + RULE, (2, 0), None),  # nothing above
        (f"{RULE}\n> \n", (2, 1), None),  # nothing below
        (f"{RULE}\n$ \n{RULE}", (2, 1), None),
    ],
)
def test_a_composer_is_empty_only_where_nobody_typed(rows: str, cursor: tuple[int, int], empty: bool | None) -> None:
    found = written(screen(rows, cursor), BOX)
    assert (found and found.empty) == empty


def test_what_is_dim_stands_in_place_of_a_text() -> None:
    words = {"dim": "\x1b[2mSay what you want\x1b[0m", "plain": "Say what you want"}
    shown = {name: screen(f"{RULE}\n> {text}\n{RULE}", (2, 1)) for name, text in words.items()}
    assert [name for name, one in shown.items() if (found := written(one, BOX)) and found.empty] == ["dim"]
    behind = written(screen(f"{RULE}\n> {words['dim']}\n{RULE}", (5, 1)), BOX)
    assert behind and not behind.empty, "a suggestion behind what somebody typed"


def test_nothing_is_known_without_a_cursor_or_size() -> None:
    rows = f"{RULE}\n> \n{RULE}"
    assert written(Screen.from_text(rows, None, (40, 20)), BOX) is None
    assert written(Screen.from_text(rows, (2, 1)), BOX) is None


def test_a_runaway_is_no_composer() -> None:
    slow = Composer("(?:a|aa)+!$", below=RULE)
    assert written(screen(f"{RULE}\n{'a' * 36} !\n{RULE}", (2, 1)), slow) is None


def test_each_line_of_a_text_begins_on_a_row_of_its_own() -> None:
    two = written(screen(f"{RULE}\n> two\n  lines\n{RULE}", (7, 2)), BOX)
    assert two is not None
    same = {text: two.is_exactly(text) for text in ("two\nlines", "two lines", "two\n\nlines", "two\nlines more")}
    assert list(same.values()) == [True, True, False, False], same
    instead = written(screen(f"{RULE}\n> Ask me\n{RULE}", (2, 1)), BOX)
    assert instead is not None and not instead.is_exactly("Ask me"), "it stands in place of a text"


def test_a_text_is_taken_back_out_of_a_screen() -> None:
    shown = screen(f"{RULE}\n> two\n  lines\n{RULE}", (7, 2))
    typed = written(shown, BOX)
    assert typed is not None
    before = typed.put_back(shown, "Ask me")
    assert before == screen(f"{RULE}\n> Ask me\n{RULE}", (2, 1))
    assert (found := written(before, BOX)) is not None and found.empty


def test_rows_that_go_on_from_none_are_no_composer_and_no_message() -> None:
    rows = screen("  a\n  b", (3, 1))
    assert written(rows, BOX) is None and not said_by_person(rows, 1)


def test_a_blank_closes_the_list_that_a_last_word_opens() -> None:
    lists = Composer("> ", lists="@")
    assert [lists.typed(text) for text in ("see @a", "@a b", "see a@b", "see @a ")] == [
        "see @a ",
        "@a b",
        "see a@b",
        "see @a ",
    ]
