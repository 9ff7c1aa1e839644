"""What a look at a session leads to: what is done, what is told, what is not tried again, what halts it."""

from __future__ import annotations

from typing import Any, Sequence

from attrs import evolve
from stallkit_supervisor.notices import TRIES
from stallkit_supervisor.prompt_state import Observed, PromptState, observed
from stallkit_supervisor.recovery_state import DOUBLINGS, Counts, Limits, RecoveryState
from stallkit_supervisor.session_state import (
    STALL_LIMIT,
    Emit,
    Halt,
    HaltState,
    Loop,
    NoticeState,
    Schedule,
    SessionState,
    WatchConfig,
)
from stallkit_supervisor.transitions import NO_COMMAND, on_dry_run, on_outcome, on_signal
from watched_state import ASKS, AT_ONCE, ENDED, RULES, USED_UP, WORKS, YES_NO, Watch, verdict

from stallkit.detect.signature import Severity
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Policy, Press, Restart, Resume
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule

# --- when a decision is carried out ---

SOON = "escalation: policy daemon presses y Enter in 180 s, if it is still there"
ALLOW = "; to allow it: stallkit policy allow tmux:one"
STALLED = "escalation: nothing changed for 180 s"
FIRST = [
    # policy, what is seen, at the first look, after a minute, once a stall is suspected
    ("careful", ASKS, "press", None, None),
    ("careful", verdict(certainty="maybe"), None, "escalation: doubtful: and more", None),
    ("careful", verdict(severity="medium"), "escalation: severity medium: it is left to a person" + ALLOW, None, None),
    ("careful", verdict(severity="high"), "escalation: severity high", None, None),
    ("careful", YES_NO, "escalation: any program may show this prompt" + ALLOW, None, None),
    ("careful", verdict(kind="secret"), "escalation: a machine never answers a secret", None, None),
    ("careful", verdict(keys=None), "escalation: no safe answer is known", None, None),
    ("careful", verdict("gone"), "escalation: the session is gone", None, None),
    ("careful", WORKS, None, None, STALLED),
    ("careful", verdict("working", id="busy"), None, None, STALLED),
    ("careful", verdict("idle", id="rests"), None, None, None),
    ("careful", verdict("unknown", "maybe"), None, "escalation: the session is unknown", None),
    ("careful", USED_UP, "escalation: a usage limit holds it up", None, None),
    ("daemon", ASKS, SOON, None, "press"),
    ("daemon", YES_NO, SOON, None, "press"),
    ("daemon", verdict(severity="medium"), "escalation: severity medium", None, None),
    ("daemon", verdict(severity="high"), "escalation: severity high", None, None),
    ("daemon", verdict(kind="secret"), "escalation: a machine never answers a secret", None, None),
    ("daemon", verdict(certainty="maybe"), None, "escalation: doubtful: and more", None),
    ("daemon", ENDED, None, None, "restart"),
    ("daemon", verdict("gone"), "escalation: the session is gone", None, None),
    ("daemon", WORKS, None, None, STALLED),
    ("daemon", verdict("idle", id="rests"), None, None, None),
    ("daemon", USED_UP, "escalation: a usage limit holds it up", None, None),
    ("observe", ASKS, "escalation: policy observe leaves it to a person" + ALLOW, None, None),
    ("observe", WORKS, None, None, STALLED),
]


def test_what_is_done_when() -> None:
    wrong = []
    for policy, seen, first, minute, suspected in FIRST:
        watch = Watch(RULES[policy])
        found = [watch.see(seen)]
        expected = [first, minute, None, suspected]  # two minutes are no stall
        if watch.state.recovery.busy:
            expected = [first]
        else:
            found += [watch.see(seen, after=60) for _ in range(3)]
        fits = [
            said[0].startswith(wanted) if said and wanted else not said and wanted is None
            for said, wanted in zip(found, expected, strict=True)
        ]
        if not all(fits):
            wrong.append((policy, seen.state, seen.kind, found, expected))
    assert wrong == []


def test_an_agent_that_ended_is_told_and_a_shell_where_none_ran_is_not() -> None:
    watch = Watch()
    assert watch.see(ENDED) == []
    watch.state = evolve(watch.state, notice=NoticeState(agent="claude"))
    watch.see(WORKS)
    assert watch.see(ENDED) == ["escalation: the session is ended"]


def test_the_daemon_keeps_its_hands_off_other_programs() -> None:
    for policy in ("daemon", "agents"):
        for seen, why in (
            (YES_NO, "any program may show this prompt" + ALLOW),
            (ASKS, "that claude reads the terminal is not proven: it is /usr/bin/python"),
        ):
            watch = Watch(RULES[policy])
            found = [watch.see(seen, after=60, foreground="python") for _ in range(5)]
            assert found == [[f"escalation: {why}"], [], [], [], []]
            watch = Watch(RULES[policy])
            assert [watch.see(seen, after=60) for _ in range(4)][-1] == ["press"]
    watch = Watch(WatchConfig(evolve(CAREFUL, agents=["codex"]), notify=AT_ONCE))
    assert watch.see(ASKS) == ["escalation: hands off: none of codex reads the terminal: it is /usr/bin/claude"]


def test_a_rule_ignores_waits_or_stops() -> None:
    ignores = Watch(WatchConfig(Policy("mine", rules=[Rule(do="ignore", state="working")]), notify=AT_ONCE))
    assert [ignores.see(WORKS, after=60) for _ in range(5)] == [[]] * 5, "it is not overruled by a stall"
    assert ignores.see(ASKS) == ["escalation: policy mine leaves it to a person" + ALLOW]
    waits = Watch(WatchConfig(Policy("mine", rules=[Rule(do="wait")])))
    assert [waits.see(ASKS, after=60) for _ in range(5)] == [[]] * 5
    for policy in (CAREFUL, DAEMON):
        stops = Watch(WatchConfig(evolve(policy, rules=[Rule(do="stop", state="waiting", why="enough")])))
        assert stops.see(ASKS) == ["halt: policy"]
        assert stops.steps[-1] == Halt("policy", "enough")
        assert stops.see(verdict(id="another")) == []
        assert stops.state.halt.halted == "enough"


def test_schedule_and_policy_are_the_callers() -> None:
    """A daemon of one's own: patient for two beats of a second."""
    for severity in Severity:
        watch = Watch(WatchConfig(Policy("mine", dialogs=True, patience_s=2.0), Schedule(interval_s=1, unchanged=2)))
        found = [watch.see(verdict(severity=severity)) for _ in range(3)]
        assert found[:2] == [[], []] and (found[2] == ["press"]) == (severity is Severity.LOW)


# --- events ---


def detections(*seen: Verdict) -> list[str | None]:
    """The state that `detection` says at each look."""
    watch, found = Watch(RULES["observe"]), []
    for one in seen:
        watch.see(one)
        news = [step.facts["state"] for step in watch.steps if isinstance(step, Emit) and step.name == "detection"]
        found.append(news[0] if news else None)
    return found


def test_a_detection_is_told_when_it_is_another_and_a_doubtful_one_once_it_lasts() -> None:
    doubtful, half = verdict(certainty="maybe"), verdict(certainty="maybe", id="half")
    another = verdict(line="Another? [y/N]")
    assert detections(ASKS, ASKS, doubtful, another, ASKS) == ["waiting", None, None, "waiting", "waiting"]
    assert detections(WORKS, WORKS, WORKS, WORKS) == [None, None, "working", None]
    assert detections(ASKS, half, half, ASKS) == ["waiting", None, None, None]
    assert detections(half, ASKS, WORKS, half, WORKS, WORKS) == [None, "waiting", None, None, None, None]
    for state in ("working", "ended"):  # what is left on the screen of work and ends is no news
        assert detections(*(verdict(state, id=id) for id in ("one", "two", "three")), ASKS) == [
            *(state, None, None, "waiting")
        ]
    assert detections(*(verdict("idle", id=id) for id in ("one", "two", "three")), ASKS)[2:] == ["idle", "waiting"]


def test_an_escalation_is_told_once_and_every_stall() -> None:
    watch = Watch(RULES["observe"])
    assert len(watch.see(ASKS)) == 1
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[]] * 5
    assert watch.see(verdict(certainty="maybe"), after=60) == []
    assert watch.see(verdict(line="Another? [y/N]")) == ["escalation: policy observe leaves it to a person" + ALLOW]
    watch = Watch()
    for text in ("first", "second", "third"):  # though between the two nothing but the screen changed
        found = [watch.see(WORKS, text, after=60) for _ in range(5)]
        assert found == [[], [], [], [f"{STALLED}, and the reason is unknown"], []]


def test_an_agent_is_done_after_it_worked() -> None:
    """Not where it was at its composer from the first look on; once for each turn, and nobody is told."""
    rests = evolve(verdict("idle", id="rests"), ended_turn=EndedTurn(TurnOutcome.DONE, "All tests pass."))
    watch = Watch()
    assert watch.see(rests) == []
    for _ in range(2):
        watch.see(verdict("working", id="busy"))
        assert [watch.see(rests) for _ in range(3)] == [["done"], [], []]
    assert watch.see(WORKS) == []


# --- what is written down ---


def test_what_was_shown_can_be_written_down_without_its_text() -> None:
    seen = (ASKS, WORKS, ENDED, USED_UP, verdict("unknown", "maybe"), verdict(certainty="maybe"))
    odd = [evolve(observed(ASKS), signature="my pack:asks"), evolve(observed(ASKS), signature="my pack:a", line=None)]
    every = [*map(observed, seen), *odd]
    assert [one for one in every if Observed.kept(str(one)) != one or "Proceed" in str(one)] == []


def test_an_end_without_a_beginning_is_harmless() -> None:
    """A dry run, or an answer that comes late."""
    kinds: Sequence[Any] = (Press, Restart, Resume)
    for decision in kinds:
        for end in End:
            after = on_outcome(SessionState(), decision(ASKS.match and ASKS.match.signature), end).recovery
            assert (after.counts, after.restarts, after.busy) == (Counts(), Counts(), False)


# --- never a blind retry ---

UNSAID = [
    verdict("unknown", "maybe", id=None),  # a pattern ran out of its budget, or the job is stopped
    verdict("working", "maybe", id="busy", undecided=True),
    verdict("waiting", "maybe", id="another", undecided=True),
]
GONE = (verdict("gone"), {"identity": ""})  # its last screen, and no identity
DRAWN = (ASKS, {"text": "drawn anew"})
# What is seen between a press that changed nothing and the prompt as it is seen next, and whether that is pressed.
BETWEEN: list[tuple[list[tuple[Verdict, dict[str, Any]]], tuple[Verdict, dict[str, Any]], bool]] = [
    ([], (ASKS, {}), False),
    ([], (ASKS, {"text": "it moves", "after": 60}), False),
    *(([(between, {})], (ASKS, {}), False) for between in UNSAID),
    *(([(one, {"text": "other"}), (ASKS, {"text": "other"})], (ASKS, {"text": "third"}), False) for one in UNSAID),
    ([(WORKS, {})], (ASKS, {}), False),  # a program that reads its keyboard in turns is not reading in some looks
    ([(verdict(certainty="maybe"), {"text": "less"})], (ASKS, {"text": "more"}), False),
    ([GONE], (ASKS, {}), False),
    ([(WORKS, {"text": "it went on"})], (ASKS, {}), True),
    ([], (verdict(line="Really? [y/N]"), {"text": "another screen"}), True),
    ([], (ASKS, {"identity": "%2"}), True),
    ([GONE, (ASKS, {}), GONE], (ASKS, {"identity": "%2"}), True),
]  # fmt: skip


def test_what_is_still_there_is_not_pressed_again_and_what_is_another_prompt_is() -> None:
    wrong = []
    for end in (End.UNCHANGED, End.UNKNOWN):
        for between, (seen, look), pressed in BETWEEN:
            watch = Watch()
            watch.press(end)
            looks = [watch.see(one, **more) for one, more in between]
            last = watch.see(seen, **look)
            if any("press" in one for one in looks) or ("press" in last) is not pressed:
                wrong.append((end, between, look, looks, last))
    assert wrong == []
    watch = Watch()
    watch.press(End.UNCHANGED)
    told = "escalation: it was answered once, or perhaps, and is still there: it is not answered again"
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[told], [], [], [], []]
    assert watch.state.recovery.counts == Counts(1, 1, (1001.0,))


def test_nothing_is_done_while_something_is_being_done_and_its_end_is_of_what_it_was_about() -> None:
    watch = Watch()
    assert watch.see(ASKS) == ["press"]
    pressing = watch.steps
    assert watch.see(ASKS) == [] == watch.see(verdict(id="another"), "another") == watch.see(WORKS, "half drawn")
    watch.steps = pressing
    watch.on_outcome(End.UNCHANGED)  # drawn anew: the same prompt
    assert "press" not in watch.see(ASKS, "drawn anew")
    watch.see(WORKS, "it went on")
    assert watch.see(ASKS) == ["press"]
    pressing = watch.steps
    watch.see(verdict(id="another"), "another")
    watch.steps = pressing
    watch.on_outcome(End.REFUSED)
    assert (watch.state.prompt.refused, watch.state.recovery.counts.total, watch.state.prompt.pressed) == (0, 1, False)


def test_a_supervisor_that_was_killed_does_not_press_again() -> None:
    """What it wrote down is read again; the first look may say nothing."""
    left = SessionState(prompt=PromptState(seen=Observed.kept(str(observed(ASKS))), pressed=True))
    for looks in ([ASKS], [UNSAID[0], ASKS], [verdict(certainty="maybe"), ASKS]):
        watch = Watch(state=left)
        assert not any("press" in watch.see(look) for look in looks)
    watch = Watch(state=left)
    watch.see(WORKS)
    assert watch.see(ASKS) == ["press"]


def test_what_was_refused_counts_for_nothing_and_is_tried_again_and_then_told() -> None:
    watch = Watch()
    for _ in range(TRIES):
        watch.press(End.REFUSED, after=0.5)  # all before a person is told of it anyway
        assert watch.state.recovery.counts == Counts()
    assert [watch.see(ASKS) for _ in range(2)] == [[f"escalation: it was refused {TRIES} times"], []]
    watch.see(WORKS, "it went on")
    watch.press(End.CLEARED)
    watch = Watch(RULES["daemon"])
    for _ in range(3):
        watch.see(ENDED, after=60)
    for _ in range(TRIES):
        watch.press(End.REFUSED, ENDED, after=60)
    assert (watch.state.recovery.restarts, watch.state.halt.halted) == (Counts(), None)
    assert watch.see(ENDED, after=60) == [f"escalation: it was refused {TRIES} times"]


# --- restarts ---

RESTARTS = WatchConfig(evolve(DAEMON, patience_s=0.0), back_off_s=5.0)


def test_each_restart_waits_longer_to_a_limit_of_its_own() -> None:
    watch = Watch(RESTARTS)
    watch.press(End.CLEARED, ENDED)
    for pause in (4.9, 9.9):
        assert watch.see(ENDED, after=pause) == []
        watch.press(End.CLEARED, ENDED, after=0.1)
    assert watch.see(ENDED, after=19.9) == []
    found = watch.see(ENDED, after=0.1)
    assert found == ["limit: restarts: 3 recoveries in this iteration, 3 are allowed", f"halt: {STALL_LIMIT}"]
    assert watch.state.recovery.counts == Counts(), "presses have a limit of their own"
    many = evolve(RESTARTS, restarts=Limits(10_000, 10_000, 10_000))
    watch = Watch(many, SessionState(recovery=RecoveryState(restarts=Counts(5000, 5000))))
    watch.press(End.CLEARED, ENDED)
    assert watch.state.recovery.restart_from == watch.now + 5.0 * 2**DOUBLINGS, "the pause has an end"


def test_a_restart_that_nobody_saw_succeed_is_not_typed_again() -> None:
    for end in (End.UNCHANGED, End.UNKNOWN):
        watch = Watch(RESTARTS)
        watch.press(end, ENDED)
        assert watch.see(ENDED, after=60)[0].startswith("escalation: it was answered once")
        watch.see(WORKS, "it runs")
        assert watch.see(ENDED, after=60) == ["restart"]


def test_without_a_command_nothing_is_tried_again_and_again() -> None:
    config = evolve(RULES["daemon"], can_restart=False)
    watch = Watch(config, SessionState(notice=NoticeState(agent="claude")))
    told = [watch.see(ENDED, after=60) for _ in range(6)]
    assert told == [[f"escalation: a rule of policy daemon: restart where state ended; {NO_COMMAND}"], *[[]] * 5]


# --- limits ---


def test_the_fourth_in_an_iteration_halts_once_whatever_came_of_the_others() -> None:
    for end in (End.CLEARED, End.UNKNOWN, End.UNCHANGED, End.GONE):
        watch = Watch()
        for number in range(3):
            watch.press(end, verdict(line=f"{number}?"), f"screen {number}")
        why = "3 recoveries in this iteration, 3 are allowed"
        assert watch.see(verdict(line="4?"), "screen 4") == [f"limit: {why}", f"halt: {STALL_LIMIT}"]
        assert watch.state.halt.halted == why
        watch.state = on_signal(watch.state)
        told = [f"escalation: it is left alone: {why}"]
        assert [watch.see(verdict(line=f"{number}?")) for number in range(5)] == [told] * 5, "only a person lifts it"


def test_the_total_and_the_window_halt_though_signals_came() -> None:
    for presses, pause, reset_total, why in (
        (10, 200.0, False, "10 recoveries in all, 10 are allowed"),
        (5, 1.0, True, "5 recoveries within 600 s, 5 are allowed"),
    ):
        watch = Watch()
        for _ in range(presses):
            watch.press(End.CLEARED, after=pause)
            watch.state = on_signal(watch.state, reset_total=reset_total)
        assert watch.see(ASKS, after=pause)[0] == f"limit: {why}"


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


def test_another_session_of_the_name_is_a_new_loop_in_the_same_window() -> None:
    watch = Watch()
    watch.press(End.UNCHANGED)
    assert loops(watch) == [Loop("%1", new=False)], "the first one goes on with what was counted before"
    watch.see(ASKS)
    assert watch.see(verdict(kind="secret"), identity="%2") == ["escalation: a machine never answers a secret"]
    assert loops(watch) == [Loop("%2", new=True)]
    assert watch.state.recovery.counts == Counts(0, 0, (1001.0,)), "the window goes on"
    assert not watch.state.prompt.pressed
    assert watch.see(ASKS, identity="%2") == ["press"] and loops(watch) == []
    watch = Watch(evolve(RULES["careful"], limits=Limits(per_iteration=1)))
    for number in range(5):
        assert watch.see(ASKS, identity=f"%{number}") == ["press"]
        watch.on_outcome(End.CLEARED)
    assert watch.see(ASKS, identity="%5")[0] == "limit: 5 recoveries within 600 s, 5 are allowed"


def test_a_look_at_what_is_gone_is_none_of_another_session_and_a_halt_outlasts_its_own() -> None:
    watch = Watch(state=SessionState(recovery=RecoveryState(Counts(2, 2))))
    watch.see(WORKS)
    watch.see(verdict("gone"), identity="")
    watch.see(WORKS)
    assert loops(watch) == [] and watch.state.recovery.counts.total == 2
    watch = Watch(state=SessionState(halt=HaltState("enough")))
    watch.see(ASKS)
    assert watch.see(ASKS, identity="%2") == ["escalation: it is left alone: enough"]
    assert (loops(watch), watch.state.halt.halted) == ([Loop("%2", new=True)], "enough")


GONE_IS_RESTARTED = WatchConfig(Policy("back", rules=[Rule(do="restart", state="gone")]), back_off_s=5.0)


def test_what_we_start_again_is_the_same_loop() -> None:
    gone = verdict("gone")
    for identity in ("%1", ""):  # of a pane whose program ended, of a session that is no more
        for meanwhile in (False, True):
            watch = Watch(GONE_IS_RESTARTED, SessionState(recovery=RecoveryState(Counts(2, 2))))
            watch.see(WORKS)
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
    for dry_run in (False, True):
        watch = Watch(GONE_IS_RESTARTED)
        watch.see(WORKS)
        before = watch.state
        if dry_run:
            watch.see(verdict("gone"))
            watch.state = on_dry_run(before, watch.state)
        else:
            watch.press(End.REFUSED, verdict("gone"))
        watch.see(WORKS, identity="%2")
        assert loops(watch) == [Loop("%2", new=True)]
