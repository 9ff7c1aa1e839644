"""What a clause needs is on every screen on which it holds; and it is worth something for the usual pattern."""

from __future__ import annotations

from typing import Any

import pytest
import strategies
from hypothesis import HealthCheck, given, settings

from stallkit.detect.engine import Engine
from stallkit.detect.matcher import Budget, Keywords, find
from stallkit.detect.pattern import NotUnderstood, begun, ended, parsed
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"^Proceed\? \[y/N\]", [{"Proceed? [y/N]"}]),
        ("Do you (?:want|wish) to", [{"Do you"}, {"want", "wish"}, {"to"}]),
        (r"(?:yes|)no", [{"no"}]),
        ("(?:ok)+", [{"ok"}]),
        ("colou?r", [{"colo"}, {"r"}]),
        ("a*\\|{2,3}c{0,1}", [{"|"}]),
        ("yes|no", [{"yes", "no"}]),
        ("yes|.*", []),
        ("(?!esc to)interrupt", [{"interrupt"}]),
        (r"\d+ tokens?", [{"token"}]),
        (r"(?x)[ ]to[ ]stop \s now", [{"to stop"}, {"now"}]),
        ("[❯›] Yes", [{"❯", "›"}, {"Yes"}]),
        ("[^x]Yes[a-z]", [{"Yes"}]),
        ("one\ntwo\\nthree", [{"one"}, {"two"}, {"three"}]),
        ("(?x) a  b # c\n \\ d", [{"ab d"}]),
        (r"(?P<key>y)/\1n", [{"y"}, {"/"}, {"n"}]),
        (r"\x41\u0042\.", [{"AB."}]),
        ("[[:alpha:]]x", []),
        ("x{e<=1}", []),
        ("(?i:Allow)", [{"Allow"}]),
        (r"a\p{Lu}b", [{"a"}, {"b"}]),
        ("a(?#says nothing)b", [{"ab"}]),
    ],
)
def test_texts(pattern: str, wanted: list[set[str]]) -> None:
    assert Clause(pattern=pattern).texts == wanted


@pytest.mark.parametrize(
    ("pattern", "begins", "ends"),
    [
        (r"\[y/N\] ?$", "", "]"),
        (r"^[?❯] .*[?:][ ]*$", "?❯", "?:"),
        (r"^\s*(?:yes|no)$", "yn", "so"),
        (r"^[ │┃|]{0,8}(?:❯ )?\[", "❯[", ""),
        (r"^(?:a|b)|\A\n? +c", "abc", ""),
        (r"(?:^a|b)", "", ""),
        (r"^│$", "", ""),
        (r"^x?$", "", ""),
        (r"\w$", "", ""),
        (r"x$|y", "", ""),
        (r"x$|y\Z", "", "xy"),
        (r"^(?i:A)", "a", ""),
        (r"^(?=[^a])b", "b", ""),
        (r"(?:[>#] ?)?$", "", ""),
        ("^ß$", "s", "s"),
        (r"[?:][ │]*\n(?:\n)? {0,9}[❯>] ", "❯>", "?:"),
        (r"(?:one\n)+two", "", "e"),
    ],
)
def test_edges_of_a_row(pattern: str, begins: str, ends: str) -> None:
    found = Clause(pattern=pattern).needs
    wanted = {begun(begins), ended(ends)} - {frozenset()}
    assert {some for some in found if all("\n" in text for text in some)} == wanted


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "(a", "a)", "[", "[a", r"[\b]", r"[a-\d]", "*", "a{x", r"\Q", "\\", r"\pLx", r"\p{Lu", r"\L<names>"),
        *("(?|a)", "(?P=x)", "a(?x)b", "(?#a", r"\xzz", r"\UFFFFFFFF"),
    ],
)
def test_what_is_not_understood_needs_nothing(pattern: str) -> None:
    with pytest.raises(NotUnderstood):
        parsed(pattern)
    assert Clause(pattern=pattern).needs == ()


@pytest.mark.parametrize(
    ("given", "text", "admitted"),
    [
        ({"keywords": ["ESC to", " k"]}, "press esc To stop", True),
        ({"keywords": ["esc to", " k"]}, "k esc", False),
        ({"begins": "?❯"}, " │ ❯ one", True),
        ({"begins": "?❯"}, "one ?", False),
        ({"begins": "?❯"}, "\u3000│ ? one", True),
        ({"ends": ":]"}, "[y/n] ", True),
        ({"begins": "a", "ends": ":"}, "b:", False),
    ],
)
def test_what_an_author_gives_is_a_condition(given: dict[str, Any], text: str, admitted: bool) -> None:
    """Of the clause itself, and so of what the engine finds with it and of what `explain` says."""
    clause = Clause(pattern="(?s).*", where="prompt_line", **given)
    screen = Screen.from_text(text, cursor=(len(text), 0))
    assert clause.admits(text) is admitted is find(clause, screen, Budget()).held
    asks = Signature(id="asks", title="", state="waiting", kind="text", all_of=[clause])
    assert (Engine([Pack("one", signatures=[asks])]).detect(screen).match is not None) is admitted


@pytest.mark.parametrize(
    "given",
    [
        {"text": "a", "keywords": ["a"]},
        {"pattern": "a", "keywords": ["a", "  "]},
        {"pattern": "a", "keywords": ["a\nb"]},
        {"pattern": "a", "begins": "a"},
        {"pattern": "a", "ends": " ", "where": "prompt_line"},
        {"pattern": "a", "begins": "│", "where": "prompt_line"},
    ],
)
def test_what_cannot_be_a_keyword_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"keyword|begins"):
        Clause(**given)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.cases())
def test_what_holds_has_all_that_it_needs(case: strategies.Case) -> None:
    """Signature by signature: one whose clauses hold is among those that may."""
    signatures = [one for pack in case.packs for one in pack.signatures]
    keywords = Keywords(signatures)
    for screen in case.screens:
        among = keywords.among(screen)
        for number, one in enumerate(signatures):
            if all(find(clause, screen, Budget()).held for clause in one.all_of):
                assert number in among, one


def test_nearly_all_shipped_patterns_are_understood() -> None:
    clauses = {clause for one in installed_engine().signatures for clause in one.all_of if clause.pattern is not None}
    assert sum(clause.needs == () for clause in clauses) <= len(clauses) // 25
