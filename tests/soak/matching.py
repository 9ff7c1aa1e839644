"""Random packs on random screens made of what they look for: the engine beside a plain ordered loop.

The loop specifies the engine, which is tried in each of its ways.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import strategies
from hypothesis import HealthCheck, given, seed, settings
from plain_loop import engines, reference, said

from soak.parts import Figure, Part, Run

CHUNK = 125  # packs to a seed, each with four screens


def _tried(number: int) -> tuple[int, int, str]:
    """How many screens were compared, how many had a match, and the first difference, by the seed of that number."""
    compared = matched = 0

    @seed(number)
    @settings(max_examples=CHUNK, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=strategies.cases())
    def same(case: strategies.Case) -> None:
        nonlocal compared, matched
        made = engines(case.packs)
        for screen in case.screens:
            expected = reference(case.packs, screen)
            assert [said(engine, screen) for engine in made] == [expected] * len(made), (case.packs, screen)
            compared, matched = compared + 1, matched + (expected is not None)

    try:
        same()
    except Exception as error:  # a report of the difference, not its end
        return compared, matched, f"seed {number}: {type(error).__name__}: {error}"
    return compared, matched, ""


def soak(run: Run) -> list[Figure]:
    numbers = range(-(-run.size // (4 * CHUNK)))
    compared = matched = 0
    faults: list[str] = []
    with multiprocessing.get_context("fork").Pool(min(len(numbers), os.cpu_count() or 1)) as pool:
        for some, hits, fault in pool.imap_unordered(_tried, numbers):
            compared, matched = compared + some, matched + hits
            faults += [fault] * bool(fault)
            run.tell(min(compared, run.size))
    for fault in faults:
        print(fault, file=sys.stderr)
    return [
        Figure("screens compared, by three searches each", f"{compared:,}", f"{run.size:,}", compared >= run.size),
        Figure("of them with a match", f"{matched:,}", "a tenth", matched >= run.size // 10),
        Figure.none("differences", len(faults)),
    ]


PART = Part(__doc__, "screens", full=50_000, short=500, soak=soak)
