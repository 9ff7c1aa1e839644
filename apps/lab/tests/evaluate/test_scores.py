"""Cells and intervals hold what they promise, for all counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.evaluate.evaluation import Cells, share, wilson

COUNTS = st.integers(0, 10_000)


def test_intervals_are_those_of_the_literature() -> None:
    wrong = [
        (part, whole, low, high)
        for part, whole, low, high in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ]
        if wilson(part, whole) != [low, high]
    ]
    assert wrong == []


@given(COUNTS, COUNTS)
def test_an_interval_holds_its_figure_and_narrows_with_more_cases(part: int, rest: int) -> None:
    bounds = wilson(part, part + rest)
    if part + rest == 0:
        assert bounds is None and share(part, 0) is None
        return
    figure = share(part, part + rest)
    assert bounds is not None and figure is not None
    assert 0 <= bounds[0] <= figure <= bounds[1] <= 1
    more = wilson(part * 10, (part + rest) * 10)
    assert more is not None and more[1] - more[0] <= bounds[1] - bounds[0] + 1e-3


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_cells_count_pairs(pairs: list[tuple[bool, bool]]) -> None:
    cells = Cells.count(pairs)
    assert cells.tp + cells.fp + cells.fn + cells.tn == len(pairs)
    assert cells.tp == pairs.count((True, True)) and cells.fp == pairs.count((False, True))
    assert cells.fn == pairs.count((True, False)) and cells.tn == pairs.count((False, False))


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_f1_lies_between_precision_and_recall_and_in_its_interval(tp: int, fp: int, fn: int, tn: int) -> None:
    cells = Cells(tp, fp, fn, tn)
    if cells.precision is not None and cells.recall is not None and cells.f1 is not None:
        assert min(cells.precision, cells.recall) - 1e-4 <= cells.f1 <= max(cells.precision, cells.recall) + 1e-4
    if cells.f1 is not None:
        bounds = cells.f1_interval
        assert bounds is not None and bounds[0] <= cells.f1 + 1e-4 and cells.f1 <= bounds[1] + 1e-4
    assert set(cells.as_object()) >= {"tp", "fp", "fn", "tn", "precision", "recall", "f1"}
