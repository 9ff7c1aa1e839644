"""Patterns whose time grows faster than the text are found, and the others are not."""

from __future__ import annotations

import pytest
from stallkit_lab.lint.runaways import Attack, Room
from stallkit_lab.lint.runner import lint

from stallkit.detect.matcher import region
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT, Screen


def codes(pattern: str, where: str = "screen") -> set[str]:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern, where=where)])
    return {one.code for one in lint(Pack("p", signatures=[signature]), thorough=False).findings} & {"SK103", "SK104"}


@pytest.mark.parametrize("pattern", ["^(?:a|a)*b$", r"(?:\w+\s?)+;", "(?:a|ab|b)*?c"])
@pytest.mark.parametrize("where", ["prompt_line", "screen"])
def test_a_runaway_is_found_without_recheck(pattern: str, where: str) -> None:
    assert codes(pattern, where) == {"SK103"}


@pytest.mark.parametrize("pattern", [r"Allow[^?]*\?", r"\s+Deploy\?", r"\w+x", r"^.*;.*;.*;.*;.*;.*x$"])
def test_one_that_takes_too_long_on_a_screen_alone_is_found(pattern: str) -> None:
    assert codes(pattern) in ({"SK104"}, {"SK103"})


@pytest.mark.parametrize("pattern", [r"\b\w++x", r"^[└╰]─[^│|?\n]*[$#]$", r"\d-hour", "^.*press.*$", "Allow[^?]{0,20}"])
@pytest.mark.parametrize("where", ["prompt_line", "screen"])
def test_a_linear_one_is_not(pattern: str, where: str) -> None:
    assert codes(pattern, where) == set()


@pytest.mark.parametrize(
    "where", ["screen", "block", "tail(3)", "tail(999)", "down_to_cursor(5)", "prompt_line", "title"]
)
@pytest.mark.parametrize("pump", ["a", "y/n ", "│ a\n", "\n"])
def test_texts_are_no_longer_than_what_a_clause_is_shown(where: str, pump: str) -> None:
    room = Room.of(where)
    texts = list(Attack((("? ", pump),), "?").texts(room))
    assert texts
    for text in texts:
        assert len(text) <= room.characters
        assert text.count("\n") < room.rows
        assert max(map(len, text.split("\n"))) <= REGION_COLUMNS
    full = Screen.from_text("\n".join(["x" * 900] * 300), cursor=(900, 299), title="x" * 900)
    shown = region(where, full)
    assert shown is None or len(shown.text) <= room.characters <= REGION_TEXT
    assert room.rows <= MAX_LINES
