"""Patterns whose time grows faster than the text are found, and the others are not."""

from __future__ import annotations

from stallkit_lab.lint.runaways import Attack, Room
from stallkit_lab.lint.runner import lint

from stallkit.detect.matcher import region
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT, Screen


def codes(pattern: str, where: str = "screen") -> set[str]:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern, where=where)])
    return {one.code for one in lint(Pack("p", signatures=[signature]), thorough=False).findings} & {"SK103", "SK104"}


def test_a_runaway_is_found_without_recheck() -> None:
    wrong = [
        (pattern, where)
        for pattern in ["^(?:a|a)*b$", r"(?:\w+\s?)+;", "(?:a|ab|b)*?c"]
        for where in ["prompt_line", "screen"]
        if codes(pattern, where) != {"SK103"}
    ]
    assert wrong == []


def test_one_that_takes_too_long_on_a_screen_alone_is_found() -> None:
    wrong = [
        pattern
        for pattern in [r"Allow[^?]*\?", r"\s+Deploy\?", r"\w+x", r"^.*;.*;.*;.*;.*;.*x$"]
        if codes(pattern) not in ({"SK104"}, {"SK103"})
    ]
    assert wrong == []


def test_a_linear_one_is_not() -> None:
    wrong = [
        (pattern, where)
        for pattern in [r"\b\w++x", r"^[└╰]─[^│|?\n]*[$#]$", r"\d-hour", "^.*press.*$", "Allow[^?]{0,20}"]
        for where in ["prompt_line", "screen"]
        if codes(pattern, where) != set()
    ]
    assert wrong == []


def test_texts_are_no_longer_than_what_a_clause_is_shown() -> None:
    for where in ["screen", "block", "tail(3)", "tail(999)", "down_to_cursor(5)", "prompt_line", "title"]:
        for pump in ["a", "y/n ", "│ a\n", "\n"]:
            room = Room.of(where)
            texts = list(Attack((("? ", pump),), "?").texts(room))
            assert texts, (where, pump)
            for text in texts:
                assert len(text) <= room.characters, (where, pump)
                assert text.count("\n") < room.rows, (where, pump)
                assert max(map(len, text.split("\n"))) <= REGION_COLUMNS, (where, pump)
            full = Screen.from_text("\n".join(["x" * 900] * 300), cursor=(900, 299), title="x" * 900)
            shown = region(where, full)
            assert shown is None or len(shown.text) <= room.characters <= REGION_TEXT, (where, pump)
            assert room.rows <= MAX_LINES, (where, pump)
