"""What a look at a session leads to: heartbeat, limits and policy joined, decision by decision."""

from __future__ import annotations

from typing import Any, Iterable

import pytest
from attrs import evolve
from looks import snapshot, verdict

from stallkit.core.signature import Severity
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.decisions import Press, Restart, Resume
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, DAEMON, OBSERVE, Policy
from stallkit.press.rules import Rule
from stallkit.supervise.limits import STALL_LIMIT, Counts, Limits
from stallkit.supervise.schedule import Schedule
from stallkit.supervise.state import (
    DOUBLINGS,
    TRIES,
    Do,
    Halt,
    Loop,
    Observed,
    Say,
    SessionState,
    Step,
    WatchConfig,
    observed,
    on_dry_run,
    on_look,
    on_outcome,
    on_signal,
)

ASKS, WORKS, ENDED = verdict(), verdict("working", "maybe", id=None), verdict("ended", id="shell")
USED_UP = verdict("quota", id="limit", line="limit reached, resets 8pm")
RULES = {policy.name: WatchConfig(policy) for policy in (CAREFUL, DAEMON, OBSERVE)}
RULES["agents"] = WatchConfig(evolve(DAEMON, agents=["claude", "node"]))
RESUMES = evolve(RULES["careful"], resumes=True)


class Watch:
    """A session over time: says what was seen, keeps what came out."""

    def __init__(self, config: WatchConfig = RULES["careful"], state: SessionState = SessionState()) -> None:  # noqa: B008
        self.config, self.state, self.now = config, state, 1000.0
        self.steps: tuple[Step, ...] = ()

    def see(
        self, seen: Verdict, text: str = "a screen", after: float = 1.0, free_in: float | None = None, **look: Any
    ) -> list[str]:
        """What follows from a look, in short."""
        self.now += after
        self.state, self.steps = on_look(self.state, seen, snapshot(text, **look), self.now, self.config, free_in)
        return said(self.steps)

    def on_outcome(self, end: End) -> None:
        """What was decided came to this end."""
        (decision,) = (step.decision for step in self.steps if isinstance(step, Do))
        self.state = on_outcome(self.state, decision, end)

    def press(self, end: End, seen: Verdict = ASKS, text: str = "a screen", after: float = 1.0) -> None:
        """It is pressed, and comes to this end."""
        assert self.see(seen, text, after)[-1] in ("press", "resume", "restart")
        self.on_outcome(end)


def said(steps: Iterable[Step]) -> list[str]:
    """Steps by name, detections left out."""
    names = []
    for step in steps:
        match step:
            case Do(decision):
                names.append(type(decision).__name__.lower())
            case Say(name, facts) if name != "detection":
                names.append(f"{name}: {facts['why']}" if "why" in facts else name)
            case Halt(reason, _):
                names.append(f"halt: {reason}")
    return names


# --- when a decision is carried out ---

FIRST = [
    # policy, what is seen, at the first look, once a stall is suspected
    ("careful", ASKS, "press", "press"),
    ("careful", verdict(certainty="maybe"), None, "escalation: doubtful: and more"),
    ("careful", verdict(severity="medium"), "escalation: severity medium", None),
    ("careful", verdict(severity="high"), "escalation: severity high", None),
    ("careful", verdict(kind="secret"), "escalation: a machine never answers a secret", None),
    ("careful", verdict(keys=None), "escalation: no safe answer is known", None),
    ("careful", ENDED, "escalation: the session is ended", None),
    ("careful", verdict("gone"), "escalation: the session is gone", None),
    ("careful", WORKS, None, "escalation: nothing changed for 180 s"),
    ("careful", verdict("working", id="busy"), None, "escalation: nothing changed for 180 s"),
    ("careful", verdict("idle", id="rests"), None, None),
    ("careful", verdict("unknown", "maybe"), None, "escalation: the session is unknown"),
    ("careful", USED_UP, "quota_wait", None),
    ("daemon", ASKS, None, "press"),
    ("daemon", verdict(severity="medium"), None, "press"),
    ("daemon", verdict(severity="high"), None, "escalation: severity high"),
    ("daemon", verdict(kind="secret"), None, "escalation: a machine never answers a secret"),
    ("daemon", verdict(certainty="maybe"), None, "escalation: doubtful: and more"),
    ("daemon", ENDED, None, "restart"),
    ("daemon", verdict("ended", "maybe", id="shell"), None, "escalation: the session is ended"),
    ("daemon", verdict("gone"), "escalation: the session is gone", None),
    ("daemon", WORKS, None, "escalation: nothing changed for 180 s"),
    ("daemon", verdict("idle", id="rests"), None, None),
    ("daemon", USED_UP, "quota_wait", None),
    ("observe", ASKS, "escalation: severity low: policy observe", None),
    ("observe", WORKS, None, "escalation: nothing changed for 180 s"),
]


@pytest.mark.parametrize(("policy", "seen", "first", "suspected"), FIRST)
def test_what_is_done_when(policy: str, seen: Verdict, first: str | None, suspected: str | None) -> None:
    def is_it(found: list[str], expected: str | None) -> bool:
        return found[0].startswith(expected) if found and expected else not found and expected is None

    watch = Watch(RULES[policy])
    found = [watch.see(seen)]
    assert is_it(found[0], first), found
    if watch.state.busy:
        watch.on_outcome(End.UNCHANGED)
        return
    found += [watch.see(seen, after=60) for _ in range(3)]
    assert found[1:3] == [[], []], "two minutes are no stall"
    assert is_it(found[3], suspected), found


def test_the_daemon_keeps_its_hands_off_other_programs() -> None:
    """Requirement D3."""
    watch = Watch(RULES["agents"])
    for _ in range(4):
        found = watch.see(ASKS, after=60, foreground="python")
    assert found == ["escalation: hands off: python is in the foreground, none of claude, node"]
    watch = Watch(RULES["agents"])
    for _ in range(4):
        found = watch.see(ASKS, after=60)
    assert found == ["press"]


def test_a_rule_that_ignores_is_not_overruled_by_a_stall() -> None:
    policy = Policy("mine", rules=[Rule(do="ignore", state="working")])
    watch = Watch(WatchConfig(policy))
    assert [watch.see(WORKS, after=60) for _ in range(5)] == [[]] * 5
    assert watch.see(ENDED) == ["escalation: the session is ended"]


@pytest.mark.parametrize("policy", [CAREFUL, DAEMON])
def test_a_rule_that_stops_does_so_once(policy: Policy) -> None:
    watch = Watch(WatchConfig(evolve(policy, rules=[Rule(do="stop", state="waiting", why="enough")])))
    assert watch.see(ASKS) == ["halt: policy"]
    assert watch.steps[-1] == Halt("policy", "enough")
    assert watch.see(verdict(id="another")) == []
    assert watch.state.halted == "enough"


def test_a_rule_may_wait() -> None:
    watch = Watch(WatchConfig(Policy("mine", rules=[Rule(do="wait")])))
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[]] * 5


# --- events ---


def test_a_detection_is_told_when_it_is_another() -> None:
    watch = Watch(RULES["observe"])
    seen = [WORKS, WORKS, ASKS, ASKS, verdict(certainty="maybe"), verdict(line="Another? [y/N]"), WORKS]
    reported = []
    for one in seen:
        watch.see(one)
        reported.append(
            [step.facts["state"] for step in watch.steps if isinstance(step, Say) and step.name == "detection"]
        )
    assert reported == [["working"], [], ["waiting"], [], ["waiting"], ["waiting"], ["working"]]


def test_an_escalation_is_told_once() -> None:
    watch = Watch(RULES["observe"])
    assert len(watch.see(ASKS)) == 1
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[]] * 5
    assert watch.see(verdict(certainty="maybe"), after=60) == ["escalation: doubtful: and more"]  # and that as well
    assert watch.see(ASKS) == []
    assert watch.see(verdict(line="Another? [y/N]")) == [
        "escalation: severity low: policy observe leaves it to a person"
    ]


def test_every_stall_is_told() -> None:
    """The second one too, though between the two nothing but the screen changed."""
    watch = Watch()
    for text in ("first", "second", "third"):
        assert [watch.see(WORKS, text, after=60) for _ in range(5)] == [
            [], [], [], ["escalation: nothing changed for 180 s, and the reason is unknown"], []
        ]  # fmt: skip


# --- never a blind retry ---


@pytest.mark.parametrize("end", [End.UNCHANGED, End.UNKNOWN])
def test_what_is_still_there_is_not_pressed_again(end: End) -> None:
    watch = Watch()
    watch.press(end)
    assert watch.see(ASKS) == [
        "escalation: it was answered once, or perhaps, and is still there: it is not answered again"
    ]
    assert [watch.see(ASKS, "it moves", after=60) for _ in range(5)] == [[]] * 5
    assert watch.state.counts == Counts(1, 1, (1001.0,))


@pytest.mark.parametrize("end", [End.CLEARED, End.REPLACED, End.GONE])
def test_what_went_away_may_come_back(end: End) -> None:
    watch = Watch()
    watch.press(end)
    assert watch.see(ASKS) == ["press"]
    assert watch.state.counts.iteration == 2


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
    assert watch.state.counts == Counts(1, 1, (1001.0, 1002.0)), "a new loop: the total begins again"


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
    assert watch.see(ASKS, after=60, identity="%2") == []


def test_a_supervisor_that_was_killed_does_not_press_again() -> None:
    """What it wrote down is read again; the first look may say nothing."""
    left = SessionState(seen=Observed.kept(str(observed(ASKS))), pressed=True)
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
    assert watch.see(USED_UP, free_in=1.0) == ["quota_wait"]  # but what there is to say is said


# --- refusals ---


def test_what_was_refused_is_tried_again_and_then_told() -> None:
    watch = Watch()
    for _ in range(TRIES):
        watch.press(End.REFUSED)
        assert watch.state.counts == Counts()
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
    assert watch.state.restarts == Counts()
    assert watch.see(ENDED, after=60) == [f"escalation: it was refused {TRIES} times"]
    assert watch.state.halted is None


def test_a_refusal_counts_for_the_prompt_that_it_was_about() -> None:
    watch = Watch()
    watch.see(ASKS)
    pressing = watch.steps
    watch.see(verdict(id="another"), "another")
    watch.steps = pressing
    watch.on_outcome(End.REFUSED)
    assert (watch.state.refused, watch.state.counts, watch.state.pressed) == (0, Counts(), False)


# --- limits ---


def test_the_fourth_in_an_iteration_halts_once() -> None:
    watch = Watch()
    for _ in range(3):
        watch.press(End.CLEARED)
    why = "3 recoveries in this iteration, 3 are allowed"
    assert watch.see(ASKS) == [f"limit: {why}", f"halt: {STALL_LIMIT}"]
    assert watch.state.halted == why
    watch.state = on_signal(watch.state)
    assert [watch.see(verdict(line=f"{number}?")) for number in range(5)] == [[]] * 5, "only a person lifts it"


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
    watch.state = on_signal(evolve(watch.state, counts=Counts(2, 5, (1.0,)), restarts=Counts(1, 2)))
    assert watch.state.heartbeat and watch.state.heartbeat.unchanged == 0
    assert (watch.state.counts, watch.state.restarts) == (Counts(0, 5, (1.0,)), Counts(0, 2))
    assert [watch.see(ASKS, after=60) for _ in range(3)] == [[], [], ["press"]]
    assert on_signal(watch.state, reset_total=True).counts == Counts(0, 0, (watch.now,))
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
    assert watch.state.counts == Counts(0, 0, (1001.0,)), "the window goes on"
    assert not watch.state.pressed
    assert watch.see(ASKS, identity="%2") == ["press"] and loops(watch) == []


def test_a_look_at_what_is_gone_is_none_of_another_session() -> None:
    watch = Watch(state=SessionState(counts=Counts(2, 2)))
    watch.see(WORKS)
    watch.see(verdict("gone"), identity="")
    watch.see(WORKS)
    assert loops(watch) == [] and watch.state.counts.total == 2


def test_new_loops_in_circles_are_held_by_the_window() -> None:
    watch = Watch(evolve(RULES["careful"], limits=Limits(per_iteration=1)))
    for number in range(5):
        assert watch.see(ASKS, identity=f"%{number}") == ["press"]
        watch.on_outcome(End.CLEARED)
    assert watch.see(ASKS, identity="%5")[0] == "limit: 5 recoveries within 600 s, 5 are allowed"


def test_a_halt_outlasts_its_session() -> None:
    watch = Watch(state=SessionState(halted="enough"))
    watch.see(ASKS)
    assert watch.see(ASKS, identity="%2") == [] and loops(watch) == [Loop("%2", new=True)]
    assert watch.state.halted == "enough"


GONE_IS_RESTARTED = WatchConfig(Policy("back", rules=[Rule(do="restart", state="gone")]), back_off_s=5.0)


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize("identity", ["%1", ""])  # of a pane whose program ended, of a session that is no more
def test_what_we_start_again_is_the_same_loop(identity: str, meanwhile: bool) -> None:
    watch = Watch(GONE_IS_RESTARTED, SessionState(counts=Counts(2, 2)))
    watch.see(WORKS)
    gone = verdict("gone")
    assert watch.see(gone, identity=identity) == ["restart"]
    if meanwhile:  # a look while it is being done
        watch.see(gone, identity=identity, after=0)
    watch.state = on_outcome(watch.state, Restart(""), End.CLEARED)
    watch.see(WORKS, identity="%2")
    assert loops(watch) == [Loop("%2", new=False)]
    assert (watch.state.counts.total, watch.state.restarts.total) == (2, 1)
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


# --- restarts ---

RESTARTS = WatchConfig(evolve(DAEMON, patient=False), back_off_s=5.0)


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
    assert watch.state.counts == Counts(), "presses have a limit of their own"


@pytest.mark.parametrize("end", [End.UNCHANGED, End.UNKNOWN])
def test_a_restart_that_nobody_saw_succeed_is_not_typed_again(end: End) -> None:
    watch = Watch(RESTARTS)
    watch.press(end, ENDED)
    assert watch.see(ENDED, after=60)[0].startswith("escalation: it was answered once")
    watch.see(WORKS, "it runs")
    assert watch.see(ENDED, after=60) == ["restart"]


def test_the_pause_has_an_end() -> None:
    many = Limits(10_000, 10_000, 10_000)
    watch = Watch(evolve(RESTARTS, restarts=many), SessionState(restarts=Counts(5000, 5000)))
    watch.press(End.CLEARED, ENDED)
    assert watch.state.restart_from == watch.now + 5.0 * 2**DOUBLINGS


# --- usage limits ---


def test_a_used_up_limit_is_no_stall() -> None:
    """Requirement D4: the count goes back to 0."""
    watch = Watch(RULES["daemon"])
    assert watch.see(USED_UP) == ["quota_wait"]
    assert [watch.see(USED_UP, after=60) for _ in range(10)] == [[]] * 10
    assert watch.state.heartbeat and watch.state.heartbeat.unchanged == 0
    assert watch.see(ASKS) == ["quota_over"]
    assert [watch.see(ASKS, after=60) for _ in range(3)] == [[], [], ["press"]]


def test_when_it_is_free_again_a_person_is_told() -> None:
    watch = Watch()
    assert watch.see(USED_UP, free_in=100) == ["quota_wait"]
    assert watch.steps[-1] == Say("quota_wait", {"free_in_s": 100})
    assert watch.see(USED_UP, free_in=86_400, after=99.9) == [], "a later reading of the same words is another day's"
    assert watch.see(USED_UP, free_in=86_400, after=0.1) == ["escalation: the limit should be free again"]
    assert watch.see(USED_UP) == []


def test_or_it_resumes_where_that_is_configured() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=100)
    watch.press(End.UNCHANGED, USED_UP, after=100)
    assert watch.see(USED_UP) == ["escalation: the limit should be free again"], "and once"
    assert watch.see(verdict("quota", "maybe", id="limit")) == []
    assert watch.see(USED_UP) == []
    assert watch.see(WORKS, "it went on") == ["quota_over"]
    assert watch.state.counts.total == 1


def test_a_limit_that_holds_on_names_a_new_time() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=100)
    watch.press(End.CLEARED, USED_UP, after=100)
    assert watch.see(USED_UP, "refused once more", free_in=500) == ["quota_wait"]
    assert watch.see(USED_UP, after=499) == []
    assert watch.see(USED_UP, after=1) == ["resume"]


def test_a_time_that_is_shown_later_counts_as_well() -> None:
    watch = Watch(RESUMES)
    assert watch.see(USED_UP) == ["quota_wait"]
    assert watch.see(USED_UP, after=5) == []
    assert watch.see(USED_UP, free_in=10) == ["quota_wait"]
    assert watch.see(USED_UP, after=10) == ["resume"]


@pytest.mark.parametrize(
    ("config", "seen", "look"),
    [
        (RESUMES, verdict("quota", "maybe", id="limit"), {}),  # only what is sure
        (evolve(RESUMES, policy=OBSERVE), USED_UP, {}),  # it presses nothing
        (evolve(RESUMES, policy=RULES["agents"].policy), USED_UP, {"foreground": "python"}),
        (evolve(RESUMES, policy=RULES["agents"].policy), USED_UP, {"foreground": None}),
    ],
)
def test_what_keeps_a_key_from_a_prompt_keeps_it_from_a_resumption(
    config: WatchConfig, seen: Verdict, look: dict[str, Any]
) -> None:
    watch = Watch(config)
    watch.see(seen, free_in=10, **look)
    assert watch.see(seen, after=10, **look)[0].startswith("escalation: the limit should be free again")


def test_a_resumption_is_for_a_used_up_limit_alone() -> None:
    """The look may say nothing just when its time is over."""
    policy = evolve(CAREFUL, rules=[Rule(do="wait", state="unknown")])
    watch = Watch(evolve(RESUMES, policy=policy))
    watch.see(USED_UP, free_in=10)
    assert watch.see(verdict("unknown", "maybe"), after=10) == []
    assert watch.see(USED_UP) == ["resume"]


def test_the_wait_can_be_turned_off() -> None:
    watch = Watch(evolve(RESUMES, waits_for_quota=False))
    assert watch.see(USED_UP, free_in=1) == []
    assert watch.see(USED_UP, after=10) == []
    assert not watch.state.waits
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=10)
    watch.config = evolve(RESUMES, waits_for_quota=False)  # by a reload
    assert watch.see(USED_UP, after=10) == []


def test_a_wait_outlasts_a_look_that_says_nothing() -> None:
    watch = Watch()
    watch.see(USED_UP, free_in=10)
    assert watch.see(verdict("unknown", "maybe")) == []
    assert watch.state.waits and watch.state.free_at == 1011.0


def test_resumptions_have_the_limits_of_presses() -> None:
    watch = Watch(RESUMES)
    for _ in range(3):
        watch.see(USED_UP, free_in=0)
        if not watch.state.busy:
            watch.see(USED_UP)
        watch.on_outcome(End.CLEARED)
    watch.see(USED_UP, free_in=0)
    assert watch.state.halted


# --- what is written down ---


@pytest.mark.parametrize("seen", [ASKS, WORKS, ENDED, USED_UP, verdict("unknown", "maybe"), verdict(certainty="maybe")])
def test_what_was_shown_can_be_written_down(seen: Verdict) -> None:
    assert Observed.kept(str(observed(seen))) == observed(seen)


def test_a_name_with_blanks_can_be_written_down() -> None:
    one = evolve(observed(ASKS), signature="my pack:asks")
    assert Observed.kept(str(one)) == one
    assert Observed.kept(str(evolve(one, line=None))) == evolve(one, line=None)


def test_the_text_of_a_prompt_is_not() -> None:
    assert "Proceed" not in str(observed(ASKS))


@pytest.mark.parametrize("severity", list(Severity))
def test_schedule_and_policy_are_the_callers(severity: Severity) -> None:
    """A daemon of one's own: patient for two beats of a second."""
    policy = Policy("mine", presses={"low"}, patient=True)
    watch = Watch(WatchConfig(policy, schedule=Schedule(interval_s=1, unchanged=2)))
    found = [watch.see(verdict(severity=severity)) for _ in range(3)]
    assert found[:2] == [[], []] and (found[2] == ["press"]) == (severity is Severity.LOW)


@pytest.mark.parametrize("decision", [Press, Restart, Resume])
def test_an_end_without_a_beginning_is_harmless(decision: Any) -> None:
    """A dry run, or an answer that comes late."""
    signature = ASKS.match and ASKS.match.signature
    for end in End:
        after = on_outcome(SessionState(), decision(signature), end)
        assert (after.counts, after.restarts, after.busy) == (Counts(), Counts(), False)


def test_a_look_is_a_value() -> None:
    """The same looks lead to the same steps: nothing else is remembered."""
    look: Snapshot = snapshot()
    assert on_look(SessionState(), ASKS, look, 5.0, RULES["careful"]) == on_look(
        SessionState(), ASKS, look, 5.0, RULES["careful"]
    )
