"""One clause on one screen: where it holds, and what happens when a pattern runs away."""

from __future__ import annotations

from typing import Sequence

import pytest

from stallkit.detect.matcher import MAX_RUNAWAYS, Budget, Found, Search, fastest, find, one_by_one, region
from stallkit.detect.signature import Clause
from stallkit.terminal.screen import Region, Screen

RUNAWAY = Clause(pattern="(a|aa)+$")
TRAP = Screen.from_text("a" * 60 + "!")


@pytest.mark.parametrize(
    ("literal", "text", "place"),
    [
        pytest.param("Allow?", "Allow? yes", (0, 0), id="as it stands"),
        pytest.param("Allow? ", "Allow? yes", (0, 0), id="a blank"),
        pytest.param("Allow? ", "Allow?", (0, 0), id="or the end of the text"),
        pytest.param("Allow? ", "Allow?\nno", (0, 0), id="or the end of a line"),
        pytest.param("Allow? ", "Allow?!", None, id="but nothing else"),
        pytest.param("❯  ", "❯ 1", None, id="two blanks are two"),
        pytest.param("❯ ", "❯\n❯x", (0, 0), id="the lowest that fits, past one that does not"),
        pytest.param("aa ", "aaa", (0, 1), id="overlapping"),
        pytest.param("\n? ", "x\n? Pick", (1, 0), id="a newline in front anchors"),
        pytest.param("\n? ", "? Pick", None, id="and wants a line above"),
        pytest.param("a\nb", "a\nb\na\nb", (2, 0), id="over two lines"),
        pytest.param("a", "a\nxa", (1, 1), id="the lowest occurrence"),
        pytest.param("ab", "ab ab", (0, 3), id="the last in its line"),
    ],
)
@pytest.mark.parametrize("ignore_case", [False, True])
def test_literals(literal: str, text: str, place: tuple[int, int] | None, ignore_case: bool) -> None:
    span = find(Clause(text=literal, ignore_case=ignore_case), Screen.from_text(text), Budget()).span
    assert (span and (span.line, span.start)) == place


@pytest.mark.parametrize(
    ("clause", "line", "start", "end", "found"),
    [
        (Clause(pattern=r"\d"), 2, 2, 3, "3"),
        (Clause(pattern="^b.*$"), 1, 0, 2, "b2"),
        (Clause(pattern="B", ignore_case=True), 1, 0, 1, "b"),
        (Clause(text="A", ignore_case=True), 0, 0, 1, "a"),
        (Clause(pattern=r"\nb"), 1, 0, 1, "b"),
        (Clause(pattern=r"(?s)a1.*c"), 0, 0, 8, "a1\nb2\n c"),
        (Clause(text="c", where="prompt_line"), 2, 1, 2, "c"),
        (Clause(text="b2", where="above"), 1, 0, 2, "b2"),
        (Clause(text="c", where="tail(1)"), 2, 1, 2, "c"),
    ],
    ids=str,
)
def test_spans(clause: Clause, line: int, start: int, end: int, found: str) -> None:
    span = find(clause, Screen.from_text("a1\nb2\n c3", cursor=(3, 2)), Budget()).span
    assert span is not None
    assert (span.line, span.start, span.end, span.text) == (line, start, end, found)
    assert span.last_line == line + found.count("\n")


def test_every_region() -> None:
    screen = Screen.from_text("top\n❯ pick\n\n$ x", cursor=(2, 3), title="name")
    regions = ["screen", "block", "prompt_line", "above", "tail(2)", "title"]
    assert [region(where, screen) for where in regions] == [
        Region("top\n❯ pick\n\n$ x", 0),
        Region("top\n❯ pick", 0),
        Region("$ ", 3),
        Region("❯ pick", 1),
        Region("\n$ x", 2),
        Region("name", 0),
    ]


def shown(where: str, text: str, cursor: tuple[int, int] | None = None, title: str | None = None) -> Region:
    found = region(where, Screen.from_text(text, cursor=cursor, title=title))
    assert found is not None
    return found


@pytest.mark.parametrize("where", ["screen", "tail(2)", "block", "prompt_line", "down_to_cursor(1)"])
def test_of_a_long_line_a_clause_is_shown_the_end(where: str) -> None:
    text = f"❯ {'a' * 700}Go? [y/N]"
    found = shown(where, text, cursor=(len(text) + 1, 0))
    assert found.text.rstrip() == ("a" * 700 + "Go? [y/N]")[-500 + (where == "prompt_line") :]
    assert shown("above", f"{text}\n> ").text == text[-500:]
    assert shown("title", "", title=text).text == text[-500:]


def test_a_prompt_line_ends_at_the_cursor_however_long_the_line_is() -> None:
    """A line editor with the cursor moved back: what was typed to its right does not push the prompt out."""
    assert shown("prompt_line", "$ " + "a" * 2_000, cursor=(2, 0)) == Region("$ ", 0)
    assert shown("prompt_line", "a" * 600, cursor=(610, 0)).text == "a" * 490 + " " * 10


def test_of_a_long_text_a_clause_is_shown_the_lowest_lines() -> None:
    lines = [f"{row:0400}" for row in range(60)]
    assert shown("screen", "\n".join(lines)) == Region("\n".join(lines[11:]), 11)
    assert shown("tail(49)", "\n".join(lines)) == Region("\n".join(lines[11:]), 11)
    assert shown("tail(50)", "\n".join(lines)) == Region("\n".join(lines[11:]), 11)
    assert shown("block", "\n".join(["❯", *lines[:59]])).row == 11
    drawn = "\n".join(lines[:49])
    assert shown("down_to_cursor(400)", drawn, cursor=(0, 150)).text.count("\n") < 151


def test_a_row_is_that_of_the_screen_even_where_a_region_is_cut() -> None:
    screen = Screen.from_text("\n".join(["Go?", *["x" * 490] * 60, "a" * 900 + "Go?"]))
    span = find(Clause(pattern="Go"), screen, Budget()).span
    assert span is not None
    assert (span.line, span.start) == (61, 497)
    assert find(Clause(pattern="^Go"), screen, Budget()) == Found(False)


def test_a_screen_without_a_title_has_none_to_match() -> None:
    clause = Clause(pattern=".*", where="title")
    assert region(clause.where, Screen.from_text("x")) is None
    assert find(clause, Screen.from_text("x"), Budget()) == Found(False)


def test_a_runaway_pattern_is_undecided_after_another_try() -> None:
    budget = Budget()
    assert find(RUNAWAY, TRAP, budget) == Found(None)
    assert budget.runaways == 2
    assert find(RUNAWAY, TRAP, budget) == Found(None)
    assert budget.runaways == 3, "only the first one gets another try"


def test_all_that_a_pack_may_spend_is_less_than_a_hostile_pack_is_allowed() -> None:
    assert sum(Budget(runaways=number).limit_s for number in range(MAX_RUNAWAYS)) < 0.06


def test_a_pattern_is_decided_after_all_runaways_but_the_last() -> None:
    budget = Budget(runaways=MAX_RUNAWAYS - 1)
    assert find(Clause(pattern="a+!$"), TRAP, budget).held is True
    assert find(Clause(pattern="b"), TRAP, budget).held is False


def test_after_some_runaways_patterns_are_undecided_but_literals_still_decide() -> None:
    budget = Budget(runaways=MAX_RUNAWAYS)
    assert budget.spent
    assert find(Clause(pattern="a"), TRAP, budget) == Found(None)
    assert find(Clause(text="a"), TRAP, budget).held is True
    assert find(Clause(text="b"), TRAP, budget).held is False
    assert budget.runaways == MAX_RUNAWAYS


def test_an_honest_pattern_costs_no_budget() -> None:
    budget = Budget()
    assert find(Clause(pattern="a+!$"), TRAP, budget).held is True
    assert find(Clause(pattern="b"), TRAP, budget).held is False
    assert budget.runaways == 0


def test_what_regex_alone_refuses_is_undecided() -> None:
    assert find(Clause(pattern="a{e<="), TRAP, Budget()) == Found(None)  # to re these are five plain characters


def test_keywords_are_found_without_the_extra_that_finds_them_faster() -> None:
    def absent(keywords: Sequence[str]) -> Search:
        raise ImportError("ahocorasick_rs")

    keywords, row = ["allow", "low?", "deny"], "allow?"
    for search in (fastest(keywords), fastest(keywords, absent), one_by_one(keywords)):
        assert set(search(row)) == {0, 1}
