"""The bound on a search's steps holds for every text, and where it is low the search needs no clock."""

from __future__ import annotations

import pytest
import strategies
from hypothesis import HealthCheck, given, settings

from stallkit.core.matcher import region
from stallkit.core.signature import Clause
from stallkit.lab.lint.bounds import Room, most_steps
from stallkit.lab.lint.pumps import pumps
from stallkit.lab.lint.runaways import Attack
from stallkit.lab.lint.steps import Uncounted, steps
from stallkit.packs.registry import installed

COUNTED = 20_000  # steps, of one text: a bound below it is held to the count


def held(clause: Clause, text: str) -> bool:
    """Whether the bound for texts like this one is no less than the steps that the search takes, as far as counted."""
    lines = text.split("\n")
    bound = most_steps(clause, Room(len(lines), len(text), max(map(len, lines))))
    if bound >= COUNTED:
        return True
    try:
        return steps(clause, text, COUNTED) <= bound
    except Uncounted:
        return False  # what cannot be counted has no bound either


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.cases())
def test_no_random_search_takes_more_steps_than_its_bound(case: strategies.Case) -> None:
    for clause in (clause for pack in case.packs for one in pack.signatures for clause in (*one.all_of, *one.none_of)):
        for screen in case.screens:
            where = region(clause.where, screen)
            if clause.pattern is not None and where is not None:
                assert held(clause, where.text)
                assert held(clause, where.text[:10].strip())


CLAUSES = {
    clause: None
    for pack in installed().packs
    for one in pack.signatures
    for clause in (*one.all_of, *one.none_of)
    if clause.pattern is not None
}


@pytest.mark.parametrize("part", range(8))
def test_nor_does_one_of_the_shipped_packs_on_texts_made_for_it(part: int) -> None:
    tight = 0
    for clause in list(CLAUSES)[part::8]:
        for before, pump, end in list(pumps(clause))[::3]:
            text = Attack(((before, pump),), end).text(30).replace("\n", " ")[:40]
            tight += most_steps(clause, Room(1, len(text), len(text))) < COUNTED
            assert held(clause, text), (clause, text)
    assert tight > 100  # or nothing was counted


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("x$", 300), ("^a*x", 300), ("a+x", 5_000), ("^a*a*x", 10_000), ("(?:a|ab)+c", 10**9),
        (r"^(?:\w+ )*x", 10_000), ("(?:a|b)c", 100), (r"(a)\1", 100), ("(?=a*)b", 5_000), ("a{2,9}b", 300),
    ],
)  # fmt: skip
def test_a_bound_grows_as_the_pattern_does(pattern: str, least: int) -> None:
    assert most_steps(Clause(pattern=pattern), Room(1, 100, 100)) >= least
