"""Presses over time: what an iteration, a loop and a window allow, and what begins a new one."""

from __future__ import annotations

import pytest
from attrs import evolve
from stallkit_supervisor.recovery_state import Counts, Limits, RecoveryState
from stallkit_supervisor.session_state import STALL_LIMIT, HaltState, Loop, SessionState, WatchConfig
from stallkit_supervisor.transitions import on_dry_run, on_outcome, on_signal
from watched_state import ASKS, RULES, WORKS, Watch, verdict

from stallkit.press.gate import End
from stallkit.press.policy import Policy, Restart
from stallkit.press.rules import Rule

# --- limits ---


def test_the_fourth_in_an_iteration_halts_once() -> None:
    watch = Watch()
    for _ in range(3):
        watch.press(End.CLEARED)
    why = "3 recoveries in this iteration, 3 are allowed"
    assert watch.see(ASKS) == [f"limit: {why}", f"halt: {STALL_LIMIT}"]
    assert watch.state.halt.halted == why
    watch.state = on_signal(watch.state)
    told = [f"escalation: it is left alone: {why}"]
    assert [watch.see(verdict(line=f"{number}?")) for number in range(5)] == [told] * 5, "only a person lifts it"


@pytest.mark.parametrize("end", [End.CLEARED, End.UNKNOWN, End.UNCHANGED, End.GONE])
def test_each_press_counts_whatever_came_of_it(end: End) -> None:
    watch = Watch()
    for number in range(3):
        watch.press(end, verdict(line=f"{number}?"), f"screen {number}")
    assert watch.see(verdict(line="4?"), "screen 4")[-1] == f"halt: {STALL_LIMIT}"


def test_the_eleventh_in_all_halts_though_signals_came() -> None:
    watch = Watch()
    for _ in range(10):
        watch.press(End.CLEARED, after=200)
        watch.state = on_signal(watch.state)
    assert watch.see(ASKS, after=200)[0] == "limit: 10 recoveries in all, 10 are allowed"


def test_the_sixth_in_ten_minutes_halts_though_signals_came() -> None:
    watch = Watch()
    for _ in range(5):
        watch.press(End.CLEARED)
        watch.state = on_signal(watch.state, reset_total=True)
    assert watch.see(ASKS)[0] == "limit: 5 recoveries within 600 s, 5 are allowed"


def test_a_signal_begins_an_iteration() -> None:
    """Requirement D6: its recoveries and the unchanged count."""
    watch = Watch(RULES["daemon"])
    for _ in range(3):
        watch.see(ASKS, after=60)
    assert watch.state.heartbeat and watch.state.heartbeat.unchanged == 2
    watch.state = on_signal(evolve(watch.state, recovery=RecoveryState(Counts(2, 5, (1.0,)), Counts(1, 2))))
    assert watch.state.heartbeat and watch.state.heartbeat.unchanged == 0
    assert (watch.state.recovery.counts, watch.state.recovery.restarts) == (Counts(0, 5, (1.0,)), Counts(0, 2))
    assert [watch.see(ASKS, after=60) for _ in range(3)] == [[], [], ["press"]]
    assert on_signal(watch.state, reset_total=True).recovery.counts == Counts(0, 0, (watch.now,))
    assert on_signal(SessionState()) == SessionState()


# --- loops ---


def loops(watch: Watch) -> list[Loop]:
    return [step for step in watch.steps if isinstance(step, Loop)]


def test_another_session_of_the_name_is_a_new_loop() -> None:
    watch = Watch()
    watch.press(End.UNCHANGED)
    assert loops(watch) == [Loop("%1", new=False)], "the first one goes on with what was counted before"
    watch.see(ASKS)
    assert watch.see(verdict(kind="secret"), identity="%2") == ["escalation: a machine never answers a secret"]
    assert loops(watch) == [Loop("%2", new=True)]
    assert watch.state.recovery.counts == Counts(0, 0, (1001.0,)), "the window goes on"
    assert not watch.state.prompt.pressed
    assert watch.see(ASKS, identity="%2") == ["press"] and loops(watch) == []


def test_a_look_at_what_is_gone_is_none_of_another_session() -> None:
    watch = Watch(state=SessionState(recovery=RecoveryState(Counts(2, 2))))
    watch.see(WORKS)
    watch.see(verdict("gone"), identity="")
    watch.see(WORKS)
    assert loops(watch) == [] and watch.state.recovery.counts.total == 2


def test_new_loops_in_circles_are_held_by_the_window() -> None:
    watch = Watch(evolve(RULES["careful"], limits=Limits(per_iteration=1)))
    for number in range(5):
        assert watch.see(ASKS, identity=f"%{number}") == ["press"]
        watch.on_outcome(End.CLEARED)
    assert watch.see(ASKS, identity="%5")[0] == "limit: 5 recoveries within 600 s, 5 are allowed"


def test_a_halt_outlasts_its_session() -> None:
    watch = Watch(state=SessionState(halt=HaltState("enough")))
    watch.see(ASKS)
    assert watch.see(ASKS, identity="%2") == ["escalation: it is left alone: enough"] and loops(watch) == [
        Loop("%2", new=True)
    ]
    assert watch.state.halt.halted == "enough"


GONE_IS_RESTARTED = WatchConfig(Policy("back", rules=[Rule(do="restart", state="gone")]), back_off_s=5.0)


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize("identity", ["%1", ""])  # of a pane whose program ended, of a session that is no more
def test_what_we_start_again_is_the_same_loop(identity: str, meanwhile: bool) -> None:
    watch = Watch(GONE_IS_RESTARTED, SessionState(recovery=RecoveryState(Counts(2, 2))))
    watch.see(WORKS)
    gone = verdict("gone")
    assert watch.see(gone, identity=identity) == ["restart"]
    if meanwhile:  # a look while it is being done
        watch.see(gone, identity=identity, after=0)
    watch.state = on_outcome(watch.state, Restart(""), End.CLEARED)
    watch.see(WORKS, identity="%2")
    assert loops(watch) == [Loop("%2", new=False)]
    assert (watch.state.recovery.counts.total, watch.state.recovery.restarts.total) == (2, 1)
    watch.see(WORKS, identity="%3")
    assert loops(watch) == [Loop("%3", new=True)], "but that one is not ours"


def test_what_we_did_not_start_after_all_is_another_loop() -> None:
    watch = Watch(GONE_IS_RESTARTED)
    watch.see(WORKS)
    watch.press(End.REFUSED, verdict("gone"))
    watch.see(WORKS, identity="%2")
    assert loops(watch) == [Loop("%2", new=True)]


def test_a_restart_that_was_only_said_starts_nothing() -> None:
    watch = Watch(GONE_IS_RESTARTED)
    watch.see(WORKS)
    before = watch.state
    watch.see(verdict("gone"))
    watch.state = on_dry_run(before, watch.state)
    watch.see(WORKS, identity="%2")
    assert loops(watch) == [Loop("%2", new=True)]
