"""The steps of an edit: nothing is touched that was not checked and recorded, and a failure leads back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.sandbox.remedy import ENDS, FIRST, TOUCHED, Step, next_step


def course(outcomes: list[bool], reload: bool = False) -> list[tuple[Step, bool]]:
    """The steps that are taken where they go so, and the end, which went well."""
    taken, step, left = [], FIRST, list(outcomes)
    while step not in ENDS:
        well = left.pop(0) if left else True
        taken.append((step, well))
        step = next_step(step, well, reload)
    return [*taken, (step, True)]


@given(st.lists(st.booleans(), max_size=12))
def test_every_course_ends_soundly(outcomes: list[bool]) -> None:
    taken = course(outcomes)
    steps, end = [step for step, _ in taken], taken[-1][0]
    assert len(steps) == len(set(steps))  # none is taken twice, so that every course ends
    well = {step for step, good in taken if good}
    if Step.REPLACE in steps:
        assert {Step.RENDER, Step.CHECK, Step.RECORD} <= well
    assert (end is Step.APPLIED) == all(good for _, good in taken)
    assert (end is Step.REFUSED) == (not TOUCHED & set(steps))
    assert (Step.PUT_BACK in steps) == (end in (Step.ROLLED_BACK, Step.BROKEN))
    assert (end is Step.ROLLED_BACK) == ({Step.PUT_BACK, Step.RELOAD_BACK, Step.PROBE_BACK} <= well)


@given(st.lists(st.booleans(), max_size=12))
def test_a_reload_alone_touches_no_file(outcomes: list[bool]) -> None:
    taken = course(outcomes, reload=True)
    steps, end = [step for step, _ in taken], taken[-1][0]
    assert not {Step.REPLACE, Step.PUT_BACK, Step.ROLLED_BACK} & set(steps)
    assert (end is Step.APPLIED) == all(good for _, good in taken)
    assert (end is Step.REFUSED) == (Step.RELOAD not in steps)
