"""The steps of a search: the same on every machine, at the places that `re` finds, growing as the pattern does."""

from __future__ import annotations

import re

import pytest
import strategies
from hypothesis import HealthCheck, given, settings

from stallkit.core.matcher import region
from stallkit.core.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT, Screen
from stallkit.core.signature import Clause, Pack, Signature
from stallkit.lab.lint.bounds import Room
from stallkit.lab.lint.runaways import Attack, allowed, worst
from stallkit.lab.lint.runner import examples_of, lint
from stallkit.lab.lint.steps import Uncounted, spans, steps
from stallkit.packs.registry import installed

MANY = 200_000


def by_re(clause: Clause, text: str) -> list[tuple[int, int]]:
    flags = re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)
    return [found.span() for found in re.finditer(clause.pattern or "", text, flags)]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.cases())
def test_the_search_finds_what_re_finds(case: strategies.Case) -> None:
    for clause in (clause for pack in case.packs for one in pack.signatures for clause in (*one.all_of, *one.none_of)):
        for screen in case.screens:
            where = region(clause.where, screen)
            if clause.pattern is not None and where is not None:
                found = spans(clause, where.text, MANY)
                assert found is None or found == by_re(clause, where.text)


@pytest.mark.parametrize("name", sorted(pack.name for pack in installed().packs))
def test_so_it_does_for_the_bundled_packs_on_their_own_screens(name: str) -> None:
    pack = next(pack for pack in installed().packs if pack.name == name)
    for example in examples_of(pack)[::20]:
        for signature in pack.signatures:
            for clause in (*signature.all_of, *signature.none_of):
                where = region(clause.where, example.screen)
                if clause.pattern is not None and where is not None:
                    assert spans(clause, where.text, MANY) == by_re(clause, where.text), clause


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a|ab)(c|bcd)(d*)", "abcd"),
        (r"(\w+) \1", "so so, no na"),
        (r"(?i)(\w) \1", "A a"),
        (r"(?:a*)*b|(?:a|b?)*?c", "aaab bbc"),
        (r"(?<=\d)x|(?<!\d)y(?=z)|q(?!u)", "1x ax yz 1yz qu qa"),
        (r"(?>a+)b|a{2,3}?c|d*+d", "aab aac ddd"),
        (r"(?:ab){1,3}+x|[^\n]*?;|\Z", "ababx a;b\n"),
        (r"", "ab"),
        (r"(?!)|a", "ba"),
    ],
)
def test_every_sort_of_item(pattern: str, text: str) -> None:
    clause = Clause(pattern=pattern or "(?:)")
    assert spans(clause, text, MANY) == by_re(clause, text)


@pytest.mark.parametrize(
    ("pattern", "power"), [("x$", 1), ("^a*x", 1), ("a{0,9}x", 1), ("a+x", 2), ("a*x", 2), ("^a*a*x", 2), ("a*a*x", 3)]
)
def test_steps_grow_as_the_pattern_does(pattern: str, power: int) -> None:
    clause = Clause(pattern=pattern)
    once, twice = (steps(clause, "a" * size, 10**9) for size in (80, 160))
    assert 2 ** (power - 0.3) < twice / once < 2 ** (power + 0.3)


# What a search takes that remembers nothing of the places before.
REPEATED = [
    (r"\w+x", "ab " * 40, 361),
    (r"\ba+\b", "aa ba a\n" * 20, 2401),
    (r"(?<=b )a$", "b a\na\n" * 20, 1340),
    (r"(?<!ab)c|(?<=^)b", "abc\nbc\n" * 15, 2226),
    (r"(\w)\1", "abba " * 12, 782),
    (r"a*?b\Z", "aab\n" * 9 + "aab", 184),
    (r"(?m:^)[^\n]{0,9}x$", "aaaa x\naaaaaaaaaaaa\n" * 8, 771),
    (r"(?:a|ab)*c", "ababab\n" * 10, 944),
    (r"(?s)a.*b", "a\n" * 30, 1921),
    (r"(?>a+)b|\B ", "aa  ab " * 10, 1385),
    (r"(?:)", "ab\n" * 5, 832),
]


@pytest.mark.parametrize(("pattern", "text", "taken"), REPEATED, ids=[pattern for pattern, *_ in REPEATED])
def test_what_was_met_before_counts_as_if_it_were_searched_again(pattern: str, text: str, taken: int) -> None:
    assert steps(Clause(pattern=pattern), text, 10**9) == taken
    assert steps(Clause(pattern=pattern), text, 10**9) == taken, "all of it is remembered"


def test_steps_are_counted_no_further_than_is_asked_for() -> None:
    assert steps(Clause(pattern="(?:a|a)*b"), "a" * 400, 1_000) == 1_000


def test_a_match_costs_more_than_a_step() -> None:
    assert steps(Clause(pattern="a"), "a" * 100, 10**9) > 20 * steps(Clause(pattern="b"), "a" * 100, 10**9)


def test_what_is_not_counted_is_said_so() -> None:
    clause = Clause(pattern="(a)?(?(1)b|c)")
    with pytest.raises(Uncounted):
        steps(clause, "ab", 10)
    found = lint(Pack("p", signatures=[Signature(id="a", title="", state="working", all_of=[clause])]), thorough=False)
    assert found.notes == ("the steps of 1 of 1 patterns could not be counted",)


QUADRATIC = [
    r"\w+x",
    r"\s+Deploy\?",
    r"^[└╰]─+[^│|?\n]*[$#]$",
    r"a.*press$",
    r"\[default[^\]]*[ ]*:$",
    r"(?:k|l).*\[retrying",
    r"\d+-hour",
]


@pytest.mark.parametrize("where", ["prompt_line", "tail(3)"])
@pytest.mark.parametrize("pattern", QUADRATIC)
def test_a_quadratic_pattern_is_found_whatever_it_looks_at(pattern: str, where: str) -> None:
    clause = Clause(pattern=pattern, where=where)
    signature = Signature(id="a", title="", state="working", all_of=[clause])
    found = lint(Pack("p", signatures=[signature]), thorough=False).findings
    assert {"SK103", "SK104"} & {one.code for one in found}


@pytest.mark.parametrize("pattern", [r"Allow[^?]*\?", r"(?s)Allow.*deny"])
def test_one_that_is_quadratic_over_many_lines_alone_is_found(pattern: str) -> None:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern)])
    assert "SK104" in {one.code for one in lint(Pack("p", signatures=[signature]), thorough=False).findings}


@pytest.mark.parametrize("pattern", ["^(?:a|a)*b$", r"^.*;.*;.*;.*;.*;.*x$", r"(?:\w+\s?)+;"])
def test_a_runaway_is_found_without_recheck(pattern: str) -> None:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern)])
    assert "SK103" in {one.code for one in lint(Pack("p", signatures=[signature]), thorough=False).findings}


@pytest.mark.parametrize("pattern", [r"\b\w++x", r"^[└╰]─[^│|?\n]*[$#]$", r"\d-hour", "^.*press.*$", "Allow[^?]{0,20}"])
def test_a_linear_one_is_not(pattern: str) -> None:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern)])
    found = lint(Pack("p", signatures=[signature]), thorough=False).findings
    assert not {"SK103", "SK104"} & {one.code for one in found}


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
    assert allowed(room) <= 1_000_000
    assert room.rows <= MAX_LINES


def test_the_worst_text_is_tried_at_full_length() -> None:
    """Few lines do not tell: the cost of this one grows with their square."""
    found = worst(Clause(pattern=r"^a[^b]*b|^a[^b]*c"), [Attack((("", "a"),), "?")])
    assert found is not None
    assert (found[0], found[2] > REGION_TEXT // 2) == ("SK104", True)
