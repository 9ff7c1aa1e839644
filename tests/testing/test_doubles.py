"""The clock for tests: it moves by sleeping alone."""

from __future__ import annotations

import pytest

from stallkit.testing import FakeClock


def test_it_moves_by_sleeping_alone() -> None:
    clock = FakeClock(start=5)
    assert (clock(), clock(), clock.passed) == (5, 5, 0)
    clock.sleep(2.5)
    assert (clock(), clock.passed) == (7.5, 2.5)


def test_what_happens_after_a_sleep_is_told_what_has_passed() -> None:
    told: list[float] = []
    clock = FakeClock(told.append)
    clock.sleep(1)
    clock.sleep(0)
    assert told == [1, 1]


def test_time_does_not_run_backwards() -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="non-negative"):
        clock.sleep(-1)
    assert clock.passed == 0
