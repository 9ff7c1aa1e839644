"""The race and the notices as values: which of several comes first, and what is told how often."""

from __future__ import annotations

import math

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_sessions.runs.wait_limits import (
    DOUBTFUL_S,
    SETTLED_S,
    SLOW_S,
    Finish,
    Observation,
    QuietNotifier,
    RunStatus,
    WaitLimits,
    needs,
    next_look,
)

from stallkit.detect.engine import Detection
from stallkit.detect.signature import Certainty, State
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen

SURE, DOUBTFUL = Certainty.SURE, Certainty.MAYBE
RESTING = {State.WAITING, State.IDLE, State.ENDED}


def verdict(state: State, certainty: Certainty = SURE) -> Verdict:
    return Verdict(state, certainty, None, Detection(Screen.from_text("")), (f"it is {state}",))


def observation(
    state: State = State.WORKING, certainty: Certainty = SURE, quiet: float = 60.0, spell: int = 1, alive: bool = True
) -> Observation:
    return Observation(verdict(state, certainty), alive, quiet, spell)


WORKS, ASKS, MAY_ASK = observation(), observation(State.WAITING), observation(State.WAITING, DOUBTFUL)
OVER = observation(State.GONE, alive=False)
MOVES = observation(State.WAITING, quiet=0.0)
BELOW = evolve(MOVES, verdict=evolve(MOVES.verdict, by_read=True))  # what another process draws

finite = st.floats(0, 1e7)
sights = st.builds(
    observation, st.sampled_from(State), st.sampled_from(Certainty), finite, st.integers(0, 3), st.booleans()
)
limits = st.floats(0, 1e5)
races = st.builds(WaitLimits, finite, limits, st.none() | limits, st.none() | st.integers(0, 3))


# --- what comes first ---

ORDER = [
    # what is seen, seconds since the start, the caller's time-out, what came first; the window is 120 s
    (WORKS, 0, 60, None),
    (WORKS, 59.9, 60, None),
    (WORKS, 60, 60, "timeout"),
    (WORKS, 120, 60, "timeout"),
    (MOVES, 5, 60, None),
    (BELOW, 5, 60, "waiting"),
    (ASKS, 0, 60, "waiting"),
    (ASKS, 60, 60, "timeout"),
    (MAY_ASK, 5, 60, "maybe"),
    (MAY_ASK, 60, 60, "timeout"),
    (OVER, 0, 60, "exited"),
    (OVER, 60, 60, "exited"),
    (OVER, 500, 60, "exited"),
    (WORKS, 119.9, None, None),
    (WORKS, 120, None, "maybe"),
    (ASKS, 120, None, "waiting"),
    (MAY_ASK, 120, None, "maybe"),
    (OVER, 120, None, "exited"),
]


def status(finish: Finish | None) -> str | None:
    return None if finish is None else str(finish.status)


def test_what_comes_first_of_several() -> None:
    found = [
        (seen, after, limit, status(WaitLimits(1000.0, 120.0, limit).decide(seen, 1000.0 + after)))
        for seen, after, limit, _ in ORDER
    ]
    assert found == ORDER


NEEDS = [
    (State.WAITING, SURE, SETTLED_S, "waiting"),
    (State.IDLE, SURE, SETTLED_S, "waiting"),
    (State.ENDED, SURE, SETTLED_S, "waiting"),
    (State.WAITING, SURE, SETTLED_S * 0.99, None),
    (State.WAITING, DOUBTFUL, DOUBTFUL_S, "maybe"),
    (State.WAITING, DOUBTFUL, DOUBTFUL_S * 0.99, None),
    (State.WORKING, SURE, 1e6, None),
    (State.WORKING, DOUBTFUL, 1e6, None),
    (State.QUOTA, SURE, 1e6, None),
    (State.UNKNOWN, DOUBTFUL, 1e6, None),
]


def test_silence_alone_is_no_need() -> None:
    found = [(*row[:3], status(needs(observation(*row[:3])))) for row in NEEDS]
    assert found == NEEDS


SOFTLY = [
    (observation(State.WORKING, SURE), "most likely it works"),
    (observation(State.WORKING, DOUBTFUL, quiet=0), "most likely it works"),
    (observation(State.WORKING, DOUBTFUL, quiet=5), "it may be waiting for input"),
    (observation(State.QUOTA), "a usage limit holds it up"),
    (observation(State.UNKNOWN, DOUBTFUL), "it may be waiting for input"),
]


def test_the_end_of_the_window_is_told_softly() -> None:
    found = [WaitLimits(0.0, 120.0).decide(seen, 120.0) for seen, _ in SOFTLY]
    assert found == [Finish(RunStatus.MAYBE, f"after 120 s it still runs; {said}") for _, said in SOFTLY]


@given(races, sights)
def test_it_always_decides_at_its_deadline(race: WaitLimits, seen: Observation) -> None:
    assert race.decide(seen, race.deadline) is not None


@given(races, sights, finite)
def test_an_end_wins_over_everything(race: WaitLimits, seen: Observation, now: float) -> None:
    finish = race.decide(evolve(seen, alive=False), now)
    assert finish is not None and finish.status is RunStatus.EXITED


@given(races, sights, finite)
def test_only_a_caller_ends_what_the_screen_does_not(race: WaitLimits, seen: Observation, now: float) -> None:
    """Before the deadline nothing but the run itself decides, and nothing is called sure that is not."""
    finish = race.decide(seen, now)
    if finish is None or not seen.alive:
        return
    if now < race.deadline:
        assert finish == needs(seen)
    if finish.status is RunStatus.WAITING:
        assert seen.verdict.certainty is SURE and seen.verdict.state in RESTING


@given(races, sights, st.floats(0, 0.999))
def test_what_may_wait_and_is_known_ends_no_wait(race: WaitLimits, seen: Observation, part: float) -> None:
    race, seen = evolve(race, window_s=race.window_s + 1, timeout_s=None, known=seen.spell), evolve(seen, alive=True)
    finish = race.decide(seen, race.started + part * race.window_s)
    assert finish is None or finish.status is RunStatus.WAITING


def test_a_limit_is_a_number_or_none_at_all() -> None:
    """Another would be compared in the run's own thread: nan holds for ever, text ends the run."""
    for limit in (math.nan, "soon", []):
        with pytest.raises(ValueError):
            WaitLimits(0.0, limit)  # type: ignore[arg-type]
        with pytest.raises(ValueError):
            WaitLimits(0.0, 120.0, limit)  # type: ignore[arg-type]
    race = WaitLimits(0.0, math.inf)
    assert race.decide(WORKS, 1e12) is None and race.deadline == math.inf


# --- what is told of a run in the background ---


@given(st.lists(st.tuples(sights, finite)), limits)
def test_each_spell_is_told_once(seen: list[tuple[Observation, float]], window: float) -> None:
    spells, told, spell, now = QuietNotifier(window, 0.0), set[RunStatus](), 0, 0.0
    for look, pause in seen:
        now += pause
        if look.spell:  # how often the screen changed since the look before
            told, spell = set(), spell + look.spell
        one = evolve(look, spell=spell)
        notice = spells.notice(one, now)
        assert notice is None or (one.alive and notice.status not in told)
        if notice is None:
            expected = needs(one) if one.alive else None
            assert expected is None or expected.status in told
            continue
        told.add(notice.status)
        spells = spells.after(one, notice, now)
        assert len(spells.told) <= 2, "what is remembered does not grow with the run"


QUIET = "nothing new for 120 s; it may be waiting for input"
WINDOW = [  # seconds since the start, what is seen, what is told; the window is 120 s
    (119.9, observation(quiet=0.0, spell=7), None),
    (120.0, observation(quiet=0.0, spell=7), "after 120 s it still runs; most likely it works"),
    (120.0, observation(State.QUOTA, quiet=0.0, spell=7), "after 120 s it still runs; a usage limit holds it up"),
    (120.0, observation(State.UNKNOWN, quiet=1.0, spell=7), "after 120 s it still runs; it may be waiting for input"),
    (120.0, observation(State.WAITING, quiet=5.0, spell=7), "it is waiting for input"),
    (120.0, observation(quiet=120.0, spell=7), QUIET),
    (120.0, observation(quiet=0.0, spell=7, alive=False), None),
]


def test_the_end_of_the_window_in_the_background() -> None:
    notices = [QuietNotifier(120.0, 1000.0).notice(seen, 1000.0 + after) for after, seen, _ in WINDOW]
    assert [notice and notice.why for notice in notices] == [said for _, _, said in WINDOW]
    for quiet, why in [(119.9, None), (120.0, QUIET), (1e6, QUIET)]:  # a run whose window is over
        notice = QuietNotifier(120.0, None).notice(observation(quiet=quiet), 1e6)
        assert (notice and (str(notice.status), notice.why)) == (why and ("maybe", why)), quiet


def test_an_answer_begins_another_window() -> None:
    spells, told = QuietNotifier(120.0, 0.0), []
    for now in (100, 130, 200, 249, 250, 400):
        if now in (100, 130):
            spells = spells.answered(float(now))
        seen = observation(quiet=0.0, spell=now)
        notice = spells.notice(seen, float(now))
        if notice is not None:
            told.append(now)
            spells = spells.after(seen, notice, float(now))
    assert told == [250]


def test_doubt_is_told_again_when_it_is_gone_and_after_a_change() -> None:
    spells, told = QuietNotifier(120.0, 0.0), []
    later = [evolve(MAY_ASK, spell=2, quiet_s=0.1), evolve(MAY_ASK, spell=2), OVER]
    for seen in (WORKS, MAY_ASK, MAY_ASK, ASKS, ASKS, MAY_ASK, *later):
        notice = spells.notice(seen, 60.0)
        told.append(notice and str(notice.status))
        spells = spells if notice is None else spells.after(seen, notice, 60.0)
    assert told == [None, "maybe", None, "waiting", None, None, None, "maybe", None]


# --- when to look ---


@given(looked=finite, since=st.floats(-1e6, 1e6))
def test_a_look_is_at_most_a_second_away_and_never_at_once(looked: float, since: float) -> None:
    due = next_look(looked, looked + since)
    assert looked < due <= looked + SLOW_S


@given(looked=finite, outputs=st.lists(st.floats(0, 1)))
def test_output_never_puts_a_look_off(looked: float, outputs: list[float]) -> None:
    """However it comes in between: the look is within a second of the one before."""
    dues = [next_look(looked, looked + after) for after in sorted(outputs)]
    assert all(due <= looked + SLOW_S for due in dues)
    assert dues[1:] == sorted(dues[1:]), "more output never asks for an earlier look"
