"""The heartbeat and the limits: when a stall is suspected, and how often a machine may act."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.recovery_state import Counts, Limits
from stallkit_supervisor.session_state import Heartbeat, Schedule, beat, next_look

DEFAULT = Schedule()


def heartbeat_of(looks: list[tuple[float, str]], schedule: Schedule = DEFAULT) -> Heartbeat:
    """The heartbeat after looks at these times, each of which showed this."""
    heartbeat = None
    for now, fingerprint in looks:
        heartbeat = beat(heartbeat, fingerprint, now, schedule)
    assert heartbeat is not None
    return heartbeat


REST: list[tuple[list[tuple[float, str]], int, bool]] = [
    # looks, beats without a change, whether a stall is suspected
    ([(0, "a")], 0, False),
    ([(0, "a"), (60, "a")], 1, False),
    ([(0, "a"), (60, "a"), (120, "a")], 2, False),
    ([(0, "a"), (60, "a"), (120, "a"), (180, "a")], 3, True),
    ([(0, "a"), (60, "a"), (120, "a"), (180, "b")], 0, False),  # any change starts anew
    ([(0, "a"), (60, "b"), (120, "a"), (180, "a"), (240, "a")], 2, False),
    ([(0, "a"), (59.9, "a")], 0, False),  # a look between two beats
    ([(0, "a"), *[(at, "a") for at in range(1, 180)]], 2, False),  # eager looks are no more beats
    ([(0, "a"), *[(at, "a") for at in range(1, 181)]], 3, True),
    ([(0, "a"), (30, "b"), (31, "a"), (60, "a"), (91, "a")], 1, False),  # a change between two beats is one
    ([(0, "a"), (600, "a"), (660, "a")], 2, False),  # who slept saw nothing
    ([(0, "a"), (600, "a"), (660, "a"), (720, "a")], 3, True),
    ([(0, "a"), (86_400, "a")], 1, False),
    ([(0, "a"), (60, "a"), (60, "a"), (60, "a"), (60, "a")], 1, False),  # the clock stands still
]


def test_three_minutes_at_rest() -> None:
    wrong = []
    for looks, unchanged, suspected in REST:
        heartbeat = heartbeat_of(looks)
        found = (heartbeat.unchanged, heartbeat.suspected(looks[-1][0], DEFAULT))
        if found != (unchanged, suspected):
            wrong.append((looks, found))
    assert wrong == []
    schedule = Schedule.of(60, 600)  # ten minutes of suspension are not ten minutes without a change: nobody looked
    for asleep in (600.0, 86_400.0):
        slept = [(0.0, "a"), (60.0, "a"), *[(asleep + 60.0 * beats, "a") for beats in range(2, 10)]]
        assert not heartbeat_of(slept, schedule).suspected(slept[-1][0], schedule)
        slept.append((asleep + 600, "a"))
        assert heartbeat_of(slept, schedule).suspected(slept[-1][0], schedule)


def test_what_is_given_wins() -> None:
    for interval, stall, interval_s, stall_timeout_s in (
        (None, None, 60, 180),
        (10, None, 10, 30),
        (None, 30, 10, 30),
        (None, 600, 60, 600),
        (5, 600, 5, 600),
        (60, 5, 60, 5),
    ):
        found = Schedule.of(interval, stall)
        assert (found.interval_s, found.stall_timeout_s, found.unchanged) == (interval_s, stall_timeout_s, 3)


def test_what_is_no_time_and_no_limit_is_refused() -> None:
    for bad in (0, -1, math.nan, math.inf, -math.inf):
        for name in ("interval_s", "stall_s", "eager_s"):
            values: dict[str, Any] = {name: bad}
            with pytest.raises(ValueError, match=name):
                Schedule(**values)
            if name != "eager_s":
                with pytest.raises(ValueError, match="seconds over 0"):
                    Schedule.of(**values)
    with pytest.raises(ValueError, match="unchanged"):
        Schedule(unchanged=0)
    for name, number in (
        ("per_iteration", -1),
        ("total", -1),
        ("in_window", -1),
        ("window_s", 0),
        ("window_s", math.nan),
    ):
        values = {name: number}
        with pytest.raises(ValueError, match="limit"):
            Limits(**values)
    for interval, stall in ((1e308, None), (1e-300, 1e9), (1e-9, 1e308)):  # times beyond measure break nothing
        schedule = Schedule.of(interval, stall)
        assert not heartbeat_of([(0, "a"), (1, "a"), (2, "a")], schedule).suspected(2.0, schedule)


def test_a_suspicious_screen_is_looked_at_sooner() -> None:
    due = {(0, False): 5, (0, True): 1, (57, False): 60, (59.5, False): 60, (59.5, True): 60, (70, True): 60}
    first = Heartbeat("a", since=0, beat_at=0)
    assert {(now, soon): next_look(first, now, DEFAULT, soon) for now, soon in due} == due


steps = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 1.0, 7.0, 20.0, 60.0, 61.5, 600.0, 1e5]), st.sampled_from("aaaab")),
    max_size=60,
)

tempi = st.builds(
    Schedule,
    interval_s=st.sampled_from([0.5, 1.0, 7.0, 60.0, 100.0]),
    unchanged=st.integers(1, 5),
    stall_s=st.none() | st.sampled_from([0.1, 3.0, 180.0, 900.0]),
)


@given(steps, tempi, st.floats(0, 1e6))
def test_never_before_the_beats_and_the_time(looks: list[tuple[float, str]], schedule: Schedule, begin: float) -> None:
    now, heartbeat, same = begin, None, list[float]()
    for pause, fingerprint in looks:
        now += pause
        if heartbeat is None or heartbeat.fingerprint != fingerprint:
            same = []
        if not same or now - same[-1] >= schedule.interval_s:
            same.append(now)
        heartbeat = beat(heartbeat, fingerprint, now, schedule)
        assert heartbeat.unchanged == len(same) - 1
        rested = now - same[0] >= schedule.stall_timeout_s
        seen_long = (len(same) - 1) * schedule.interval_s >= schedule.stall_timeout_s * (1 - 1e-6)
        if heartbeat.suspected(now, schedule):
            assert len(same) - 1 >= schedule.unchanged and rested and seen_long
        elif len(same) - 1 >= schedule.unchanged and rested:
            assert (len(same) - 1) * schedule.interval_s < schedule.stall_timeout_s


LIMITS = Limits()

REACHED = [
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
]


def test_which_limit_stands_against_one_more() -> None:
    assert [LIMITS.reached(counts, now) for counts, now, _ in REACHED] == [why for _, _, why in REACHED]
    none: list[dict[str, Any]] = [{"per_iteration": 0}, {"total": 0}, {"in_window": 0}]
    assert all("0 are allowed" in str(Limits(**one).reached(Counts(), 0)) for one in none)


def test_what_was_refused_is_given_back_and_a_signal_ends_the_iteration_but_not_the_window() -> None:
    once = Counts().one_more(5, LIMITS)
    assert once == Counts(1, 1, (5,))
    assert once.one_more(6, LIMITS).one_less() == once
    assert Counts().one_less() == Counts() == once.new_iteration().one_less(), "nothing is taken below nothing"
    assert Counts(3, 4, (1, 2, 3)).new_iteration() == Counts(0, 4, (1, 2, 3))
    assert Counts(3, 4, (1, 2, 3)).new_iteration(True) == Counts(0, 0, (1, 2, 3))
