"""What a clause needs is on every screen on which it holds; and it is worth something for the usual pattern."""

from __future__ import annotations

import pytest
import strategies
from hypothesis import HealthCheck, given, settings

from stallkit.core.keywords import Keywords
from stallkit.core.matcher import Budget, find
from stallkit.core.needs import Needs
from stallkit.core.pattern import NotUnderstood, parsed
from stallkit.core.signature import Clause
from stallkit.packs.registry import installed_engine


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
    ],
)
def test_texts(pattern: str, wanted: list[set[str]]) -> None:
    assert Clause(pattern=pattern).texts == wanted


@pytest.mark.parametrize(
    ("pattern", "begins", "ends"),
    [
        (r"\[y/N\] ?$", None, "]"),
        (r"^[?❯] .*[?:][ ]*$", "?❯", "?:"),
        (r"^\s*(?:yes|no)$", "yn", "so"),
        (r"^x?$", None, None),
        (r"\w$", None, None),
        (r"x$|y", None, None),
        (r"^(?i:A)", "a", None),
        (r"(?:[>#] ?)?$", None, None),
    ],
)
def test_edges_of_the_prompt_line(pattern: str, begins: str | None, ends: str | None) -> None:
    found = Clause(pattern=pattern, where="prompt_line").needs
    assert (found.begins, found.ends) == (begins and set(begins), ends and set(ends))
    elsewhere = Clause(pattern=pattern).needs
    assert (elsewhere.begins, elsewhere.ends) == (None, None)


@pytest.mark.parametrize(
    "pattern", ["(", "a)", "[", "[a", "*", "a{x", r"\Q", "(?|a)", "(?P=x)", "a(?x)b", "\\", r"\pLx", r"\L<names>"]
)
def test_what_is_not_understood_needs_nothing(pattern: str) -> None:
    with pytest.raises(NotUnderstood):
        parsed(pattern)
    assert Clause(pattern=pattern).needs == Needs()


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
    assert sum(clause.needs == Needs() for clause in clauses) <= len(clauses) // 25
