"""The heartbeat: which looks count, and when a stall is suspected.  Requirements D1 and D2."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.schedule import Heartbeat, Schedule, beat, next_look

DEFAULT = Schedule()


def heartbeat_of(looks: list[tuple[float, str]], schedule: Schedule = DEFAULT) -> Heartbeat:
    """The heartbeat after looks at these times, each of which showed this."""
    heartbeat = None
    for now, fingerprint in looks:
        heartbeat = beat(heartbeat, fingerprint, now, schedule)
    assert heartbeat is not None
    return heartbeat


@pytest.mark.parametrize(
    ("looks", "unchanged", "suspected"),
    [
        ([(0, "a")], 0, False),
        ([(0, "a"), (60, "a")], 1, False),
        ([(0, "a"), (60, "a"), (120, "a")], 2, False),
        ([(0, "a"), (60, "a"), (120, "a"), (180, "a")], 3, True),
        ([(0, "a"), (60, "a"), (120, "a"), (180, "a"), (240, "a")], 4, True),
        ([(0, "a"), (60, "a"), (120, "a"), (180, "b")], 0, False),  # any change starts anew
        ([(0, "a"), (60, "b"), (120, "a"), (180, "a"), (240, "a")], 2, False),
        ([(0, "a"), (60, "b"), (120, "a"), (180, "a"), (240, "a"), (300, "a")], 3, True),
        ([(0, "a"), (59.9, "a")], 0, False),  # a look between two beats
        ([(0, "a"), *[(at, "a") for at in range(1, 180)]], 2, False),  # eager looks are no more beats
        ([(0, "a"), *[(at, "a") for at in range(1, 181)]], 3, True),
        ([(0, "a"), (30, "b"), (31, "a"), (60, "a"), (91, "a")], 1, False),  # a change between two beats is one
        ([(0, "a"), (600, "a")], 1, False),  # who slept saw nothing
        ([(0, "a"), (600, "a"), (660, "a")], 2, False),
        ([(0, "a"), (600, "a"), (660, "a"), (720, "a")], 3, True),
        ([(0, "a"), (86_400, "a")], 1, False),
        ([(0, "a"), (60, "a"), (60, "a"), (60, "a"), (60, "a")], 1, False),  # the clock stands still
    ],
)
def test_three_minutes_at_rest(looks: list[tuple[float, str]], unchanged: int, suspected: bool) -> None:
    heartbeat = heartbeat_of(looks)
    assert (heartbeat.unchanged, heartbeat.suspected(looks[-1][0], DEFAULT)) == (unchanged, suspected)


def test_a_heartbeat_is_about_what_it_saw_first() -> None:
    heartbeat = heartbeat_of([(5, "a"), (70, "a"), (100, "b"), (130, "b")])
    assert (heartbeat.fingerprint, heartbeat.since, heartbeat.beat_at) == ("b", 100, 100)


@pytest.mark.parametrize("asleep", [600.0, 86_400.0])
def test_a_gap_is_no_rest_though_the_stall_time_out_is_long(asleep: float) -> None:
    """Ten minutes of suspension are not ten minutes without a change: nobody looked."""
    schedule = Schedule.of(60, 600)
    looks = [(0.0, "a"), (60.0, "a"), *[(asleep + 60.0 * beats, "a") for beats in range(2, 10)]]
    assert not heartbeat_of(looks, schedule).suspected(looks[-1][0], schedule)
    looks.append((asleep + 600, "a"))
    assert heartbeat_of(looks, schedule).suspected(looks[-1][0], schedule)


@pytest.mark.parametrize(
    ("interval", "stall", "interval_s", "stall_timeout_s"),
    [
        (None, None, 60, 180),
        (10, None, 10, 30),
        (None, 30, 10, 30),
        (None, 600, 60, 600),
        (None, 180, 60, 180),
        (5, 600, 5, 600),
        (60, 5, 60, 5),
    ],
)
def test_what_is_given_wins(
    interval: float | None, stall: float | None, interval_s: float, stall_timeout_s: float
) -> None:
    schedule = Schedule.of(interval, stall)
    assert (schedule.interval_s, schedule.stall_timeout_s, schedule.unchanged) == (interval_s, stall_timeout_s, 3)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["interval_s", "stall_s", "eager_s"])
def test_what_is_no_time_is_refused(name: str, bad: float) -> None:
    values: dict[str, Any] = {name: bad}
    with pytest.raises(ValueError, match=name):
        Schedule(**values)
    if name != "eager_s":
        with pytest.raises(ValueError, match="seconds over 0"):
            Schedule.of(**values)


def test_no_beat_at_all_is_no_count() -> None:
    with pytest.raises(ValueError, match="unchanged"):
        Schedule(unchanged=0)


@pytest.mark.parametrize(("interval", "stall"), [(1e308, None), (1e-300, 1e9), (1e-9, 1e308)])
def test_times_beyond_measure_break_nothing(interval: float, stall: float | None) -> None:
    schedule = Schedule.of(interval, stall)
    assert not heartbeat_of([(0, "a"), (1, "a"), (2, "a")], schedule).suspected(2.0, schedule)


@pytest.mark.parametrize(
    ("now", "suspicious", "due"),
    [(0, False, 5), (0, True, 1), (57, False, 60), (59.5, False, 60), (59.5, True, 60), (70, True, 60)],
)
def test_a_suspicious_screen_is_looked_at_sooner(now: float, suspicious: bool, due: float) -> None:
    assert next_look(Heartbeat("a", since=0, beat_at=0), now, DEFAULT, suspicious) == due


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
    """Against a count that is kept in another way: every look since the last change, and the beats among them."""
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
