"""The bound on a search's steps grows as the pattern does, and if it is low the search needs no clock."""

from __future__ import annotations

import pytest

from stallkit.core.bounds import most_steps, reach
from stallkit.core.rooms import Room
from stallkit.core.signature import Clause
from stallkit.packs.registry import installed

CLAUSES = {
    clause: None
    for pack in installed().packs
    for one in pack.signatures
    for clause in (*one.all_of, *one.none_of)
    if clause.pattern is not None
}


def test_most_clauses_of_the_shipped_packs_reach_over_a_whole_line() -> None:
    assert sum(reach(clause) >= 200 for clause in CLAUSES) > len(CLAUSES) * 0.6


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("x$", 300), ("^a*x", 300), ("a+x", 5_000), ("^a*a*x", 10_000), ("(?:a|ab)+c", 10**9),
        (r"^(?:\w+ )*x", 10_000), ("(?:a|b)c", 100), (r"(a)\1", 100), ("(?=a*)b", 5_000), ("a{2,9}b", 300),
    ],
)  # fmt: skip
def test_a_bound_grows_as_the_pattern_does(pattern: str, least: int) -> None:
    assert most_steps(Clause(pattern=pattern), Room(1, 100, 100)) >= least


@pytest.mark.parametrize(
    ("pattern", "far"),
    [("^Continue", 500), (r"^\s*Proceed\? ", 500), ("(a|aa)+!", -1), (r"(?:\w+\s?)+:", -1), ("a{e<=1}", -1)],
)
def test_reach(pattern: str, far: int) -> None:
    assert reach(Clause(pattern=pattern, where="prompt_line")) == far
