"""What was tried is not tried again blindly: presses, refusals, restarts."""

from __future__ import annotations

import pytest
from attrs import evolve
from stallkit_supervisor.notices import TRIES
from stallkit_supervisor.prompt_state import Observed, PromptState, observed
from stallkit_supervisor.recovery_state import DOUBLINGS, Counts, Limits, RecoveryState
from stallkit_supervisor.session_state import STALL_LIMIT, NoticeState, SessionState, WatchConfig
from stallkit_supervisor.transitions import NO_COMMAND
from watched_state import ASKS, ENDED, RULES, WORKS, Watch, verdict

from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy_file import DAEMON

# --- never a blind retry ---


@pytest.mark.parametrize("end", [End.UNCHANGED, End.UNKNOWN])
def test_what_is_still_there_is_not_pressed_again(end: End) -> None:
    watch = Watch()
    watch.press(end)
    assert watch.see(ASKS) == [
        "escalation: it was answered once, or perhaps, and is still there: it is not answered again"
    ]
    assert [watch.see(ASKS, "it moves", after=60) for _ in range(5)] == [[]] * 5
    assert watch.state.recovery.counts == Counts(1, 1, (1001.0,))


@pytest.mark.parametrize("end", [End.CLEARED, End.REPLACED, End.GONE])
def test_what_went_away_may_come_back(end: End) -> None:
    watch = Watch()
    watch.press(end)
    assert watch.see(ASKS) == ["press"]
    assert watch.state.recovery.counts.iteration == 2


UNSAID = [
    verdict("unknown", "maybe", id=None),  # a pattern ran out of its budget, or the job is stopped
    verdict("working", "maybe", id="busy", undecided=True),
    verdict("waiting", "maybe", id="another", undecided=True),
]


@pytest.mark.parametrize("between", UNSAID)
@pytest.mark.parametrize("end", [End.UNCHANGED, End.UNKNOWN])
def test_a_look_that_says_nothing_does_not_make_it_new(between: Verdict, end: End) -> None:
    watch = Watch()
    watch.press(end)
    for text in ("a screen", "another screen"):
        watch.see(between, text)
        assert "press" not in watch.see(ASKS, text)


def test_the_same_screen_is_not_pressed_again_whatever_the_kernel_said_between() -> None:
    """A program that reads its keyboard in turns is not reading in some looks: the prompt did not go away."""
    watch = Watch()
    watch.press(End.UNCHANGED)
    assert watch.see(WORKS) == []
    assert "press" not in watch.see(ASKS)
    watch.see(WORKS, "it went on")
    assert watch.see(ASKS) == ["press"]


def test_nor_is_it_where_something_else_was_seen_while_the_key_was_pressed() -> None:
    watch = Watch()
    assert watch.see(ASKS) == ["press"]
    pressing = watch.steps
    watch.see(WORKS, "half drawn")
    watch.steps = pressing
    watch.on_outcome(End.UNCHANGED)  # drawn anew: the same prompt
    assert "press" not in watch.see(ASKS, "drawn anew")
    watch.see(WORKS, "it went on")
    assert watch.see(ASKS) == ["press"]


def test_more_or_less_sure_is_not_another_prompt() -> None:
    watch = Watch()
    watch.press(End.UNCHANGED)
    for certainty in ("maybe", "sure", "maybe", "sure"):
        assert "press" not in watch.see(verdict(certainty=certainty), f"it is {certainty}")


def test_the_next_prompt_of_the_same_form_is_another() -> None:
    watch = Watch()
    watch.press(End.UNCHANGED)
    assert watch.see(verdict(line="Really? [y/N]"), "another screen") == ["press"]


def test_another_session_of_that_name_is_another() -> None:
    watch = Watch()
    watch.press(End.UNCHANGED)
    assert watch.see(ASKS, identity="%2") == ["press"]
    assert watch.state.recovery.counts == Counts(1, 1, (1001.0, 1002.0)), "a new loop: the total begins again"


def test_a_look_at_what_is_gone_is_not_another_session() -> None:
    """It shows the last screen, and no identity; what comes back may be what was answered."""
    watch = Watch()
    watch.press(End.UNCHANGED)
    watch.see(verdict("gone"), identity="")
    assert "press" not in watch.see(ASKS)
    watch.see(verdict("gone"), identity="")
    assert watch.see(ASKS, identity="%2") == ["press"]


def test_another_session_has_not_been_at_rest() -> None:
    watch = Watch(RULES["daemon"])
    for _ in range(3):
        watch.see(ASKS, after=60)
    assert "press" not in watch.see(ASKS, after=60, identity="%2")


def test_a_supervisor_that_was_killed_does_not_press_again() -> None:
    """What it wrote down is read again; the first look may say nothing."""
    left = SessionState(prompt=PromptState(seen=Observed.kept(str(observed(ASKS))), pressed=True))
    for looks in ([ASKS], [UNSAID[0], ASKS], [verdict(certainty="maybe"), ASKS]):
        watch = Watch(state=left)
        assert not any("press" in watch.see(look) for look in looks)
    watch = Watch(state=left)
    watch.see(WORKS)
    assert watch.see(ASKS) == ["press"]


def test_nothing_is_done_while_something_is_being_done() -> None:
    watch = Watch()
    assert watch.see(ASKS) == ["press"]
    assert watch.see(ASKS) == []
    assert watch.see(verdict(id="another"), "another") == []


# --- refusals ---


def test_what_was_refused_is_tried_again_and_then_told() -> None:
    watch = Watch()
    for _ in range(TRIES):
        watch.press(End.REFUSED, after=0.5)  # all before a person is told of it anyway
        assert watch.state.recovery.counts == Counts()
    assert watch.see(ASKS) == [f"escalation: it was refused {TRIES} times"]
    assert watch.see(ASKS) == []
    watch.see(WORKS, "it went on")
    watch.press(End.CLEARED)


def test_a_refused_restart_is_given_back_as_well() -> None:
    """Where no command is configured the daemon does not run into a limit of restarts that never were."""
    watch = Watch(RULES["daemon"])
    for _ in range(3):
        watch.see(ENDED, after=60)
    for _ in range(TRIES):
        watch.press(End.REFUSED, ENDED, after=60)
    assert watch.state.recovery.restarts == Counts()
    assert watch.see(ENDED, after=60) == [f"escalation: it was refused {TRIES} times"]
    assert watch.state.halt.halted is None


def test_a_refusal_counts_for_the_prompt_that_it_was_about() -> None:
    watch = Watch()
    watch.see(ASKS)
    pressing = watch.steps
    watch.see(verdict(id="another"), "another")
    watch.steps = pressing
    watch.on_outcome(End.REFUSED)
    assert (watch.state.prompt.refused, watch.state.recovery.counts, watch.state.prompt.pressed) == (0, Counts(), False)


# --- restarts ---

RESTARTS = WatchConfig(evolve(DAEMON, patience_s=0.0), back_off_s=5.0)


def test_each_restart_waits_longer() -> None:
    watch = Watch(RESTARTS)
    watch.press(End.CLEARED, ENDED)
    assert watch.see(ENDED, after=4.9) == []
    watch.press(End.CLEARED, ENDED, after=0.1)
    assert watch.see(ENDED, after=9.9) == []
    watch.press(End.CLEARED, ENDED, after=0.1)
    assert watch.see(ENDED, after=19.9) == []
    found = watch.see(ENDED, after=0.1)
    assert found == ["limit: restarts: 3 recoveries in this iteration, 3 are allowed", f"halt: {STALL_LIMIT}"]
    assert watch.state.recovery.counts == Counts(), "presses have a limit of their own"


@pytest.mark.parametrize("end", [End.UNCHANGED, End.UNKNOWN])
def test_a_restart_that_nobody_saw_succeed_is_not_typed_again(end: End) -> None:
    watch = Watch(RESTARTS)
    watch.press(end, ENDED)
    assert watch.see(ENDED, after=60)[0].startswith("escalation: it was answered once")
    watch.see(WORKS, "it runs")
    assert watch.see(ENDED, after=60) == ["restart"]


def test_the_pause_has_an_end() -> None:
    many = Limits(10_000, 10_000, 10_000)
    watch = Watch(evolve(RESTARTS, restarts=many), SessionState(recovery=RecoveryState(restarts=Counts(5000, 5000))))
    watch.press(End.CLEARED, ENDED)
    assert watch.state.recovery.restart_from == watch.now + 5.0 * 2**DOUBLINGS


def test_without_a_command_nothing_is_tried_again_and_again() -> None:
    config = evolve(RULES["daemon"], can_restart=False)
    watch = Watch(config, SessionState(notice=NoticeState(agent="claude")))
    told = [watch.see(ENDED, after=60) for _ in range(6)]
    assert told == [[f"escalation: a rule of policy daemon: restart where state ended; {NO_COMMAND}"], *[[]] * 5]
