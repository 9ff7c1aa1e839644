"""How often a machine may act, in an iteration, in all and in a window; and what begins again with a signal."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.recovery_state import Counts, Limits

DEFAULT = Limits()


@pytest.mark.parametrize(
    ("counts", "now", "why"),
    [
        (Counts(), 0, None),
        (Counts(2, 2, (0, 1)), 2, None),
        (Counts(3, 3, (0, 1, 2)), 2, "3 recoveries in this iteration, 3 are allowed"),
        (Counts(3, 10, ()), 0, "3 recoveries in this iteration, 3 are allowed"),
        (Counts(0, 9, ()), 0, None),
        (Counts(0, 10, ()), 0, "10 recoveries in all, 10 are allowed"),
        (Counts(1, 11, ()), 0, "11 recoveries in all, 10 are allowed"),
        (Counts(0, 4, (0, 1, 2, 3)), 4, None),
        (Counts(0, 5, (0, 1, 2, 3, 4)), 5, "5 recoveries within 600 s, 5 are allowed"),
        (Counts(0, 5, (0, 1, 2, 3, 4)), 599.9, "5 recoveries within 600 s, 5 are allowed"),
        (Counts(0, 5, (0, 1, 2, 3, 4)), 600, None),
        (Counts(0, 5, (9, 9, 9, 9, 9)), 1, "5 recoveries within 600 s, 5 are allowed"),  # before a restart of the clock
    ],
)
def test_which_limit_stands_against_one_more(counts: Counts, now: float, why: str | None) -> None:
    assert DEFAULT.reached(counts, now) == why


@pytest.mark.parametrize("name", ["per_iteration", "total", "in_window"])
def test_none_at_all_may_be_allowed(name: str) -> None:
    limits: dict[str, Any] = {name: 0}
    assert "0 are allowed" in str(Limits(**limits).reached(Counts(), 0))


@pytest.mark.parametrize(
    "bad", [{"per_iteration": -1}, {"total": -1}, {"in_window": -1}, {"window_s": 0}, {"window_s": math.nan}]
)
def test_what_is_no_limit_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="limit"):
        Limits(**bad)


def test_what_was_refused_is_given_back() -> None:
    once = Counts().one_more(5, DEFAULT)
    assert once == Counts(1, 1, (5,))
    assert once.one_more(6, DEFAULT).one_less() == once
    assert Counts().one_less() == Counts()


def test_a_signal_between_a_recovery_and_its_refusal_takes_nothing_below_nothing() -> None:
    assert Counts().one_more(5, DEFAULT).new_iteration().one_less() == Counts(0, 0, ())


@pytest.mark.parametrize(("reset_total", "total"), [(False, 4), (True, 0)])
def test_a_signal_ends_the_iteration_but_not_the_window(reset_total: bool, total: int) -> None:
    assert Counts(3, 4, (1, 2, 3)).new_iteration(reset_total) == Counts(0, total, (1, 2, 3))


@given(
    st.lists(st.tuples(st.floats(0, 400), st.booleans()), max_size=80),
    st.builds(Limits, st.integers(0, 4), st.integers(0, 12), st.integers(0, 5), st.sampled_from([0.5, 60.0, 600.0])),
)
def test_no_limit_is_ever_passed(steps: list[tuple[float, bool]], limits: Limits) -> None:
    now, counts = 0.0, Counts()
    iteration, total, done = 0, 0, list[float]()  # kept in another way
    for pause, signal in steps:
        now += pause
        if signal:
            counts, iteration = counts.new_iteration(), 0
        if limits.reached(counts, now) is None:
            counts = counts.one_more(now, limits)
            iteration, total = iteration + 1, total + 1
            done.append(now)
        assert iteration <= limits.per_iteration and total <= limits.total
        assert sum(now - at < limits.window_s for at in done) <= limits.in_window
        assert (counts.iteration, counts.total) == (iteration, total)
        assert len(counts.times) <= limits.in_window  # what is remembered does not grow
