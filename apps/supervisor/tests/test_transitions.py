"""What a look at a session leads to: what is done, what is told, and what is written down of it."""

from __future__ import annotations

from typing import Any, Sequence

import pytest
from attrs import evolve
from stallkit_supervisor.prompt_state import Observed, observed
from stallkit_supervisor.recovery_state import Counts
from stallkit_supervisor.schedule import Schedule
from stallkit_supervisor.session_state import Emit, Halt, NoticeState, SessionState, WatchConfig
from stallkit_supervisor.transitions import on_look, on_outcome
from watched_state import ASKS, AT_ONCE, ENDED, RULES, USED_UP, WORKS, YES_NO, Watch, snapshot, verdict

from stallkit.detect.signature import Severity
from stallkit.evidence.snapshot import Snapshot
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Policy, Press, Restart, Resume
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule

# --- when a decision is carried out ---

SOON = "escalation: policy daemon presses y Enter in 180 s, if it is still there"
ALLOW = "; to allow it: stallkit policy allow tmux:one"
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
    ("careful", WORKS, None, None, "escalation: nothing changed for 180 s"),
    ("careful", verdict("working", id="busy"), None, None, "escalation: nothing changed for 180 s"),
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
    ("daemon", WORKS, None, None, "escalation: nothing changed for 180 s"),
    ("daemon", verdict("idle", id="rests"), None, None, None),
    ("daemon", USED_UP, "escalation: a usage limit holds it up", None, None),
    ("observe", ASKS, "escalation: policy observe leaves it to a person" + ALLOW, None, None),
    ("observe", WORKS, None, None, "escalation: nothing changed for 180 s"),
]


@pytest.mark.parametrize(("policy", "seen", "first", "minute", "suspected"), FIRST)
def test_what_is_done_when(
    policy: str, seen: Verdict, first: str | None, minute: str | None, suspected: str | None
) -> None:
    def is_it(found: list[str], expected: str | None) -> bool:
        return found[0].startswith(expected) if found and expected else not found and expected is None

    watch = Watch(RULES[policy])
    found = [watch.see(seen)]
    assert is_it(found[0], first), found
    if watch.state.recovery.busy:
        watch.on_outcome(End.UNCHANGED)
        return
    found += [watch.see(seen, after=60) for _ in range(3)]
    assert is_it(found[1], minute), found
    assert found[2] == [], "two minutes are no stall"
    assert is_it(found[3], suspected), found


def test_an_agent_that_ended_is_told_and_a_shell_where_none_ran_is_not() -> None:
    watch = Watch()
    assert watch.see(ENDED) == []
    watch.state = evolve(watch.state, notice=NoticeState(agent="claude"))
    watch.see(WORKS)
    assert watch.see(ENDED) == ["escalation: the session is ended"]


@pytest.mark.parametrize("policy", ["daemon", "agents"])
def test_the_daemon_keeps_its_hands_off_other_programs(policy: str) -> None:
    """Requirement D3."""
    for seen, why in (
        (YES_NO, "any program may show this prompt" + ALLOW),
        (ASKS, "that claude reads the terminal is not proven: it is /usr/bin/python"),
    ):
        watch = Watch(RULES[policy])
        found = [watch.see(seen, after=60, foreground="python") for _ in range(5)]
        assert found == [[f"escalation: {why}"], [], [], [], []]
        watch = Watch(RULES[policy])
        assert [watch.see(seen, after=60) for _ in range(4)][-1] == ["press"]


def test_an_agent_that_the_policy_does_not_name_gets_no_key() -> None:
    watch = Watch(WatchConfig(evolve(CAREFUL, agents=["codex"]), notify=AT_ONCE))
    assert watch.see(ASKS) == ["escalation: hands off: none of codex reads the terminal: it is /usr/bin/claude"]


def test_a_rule_that_ignores_is_not_overruled_by_a_stall() -> None:
    policy = Policy("mine", rules=[Rule(do="ignore", state="working")])
    watch = Watch(WatchConfig(policy, notify=AT_ONCE))
    assert [watch.see(WORKS, after=60) for _ in range(5)] == [[]] * 5
    assert watch.see(ASKS) == ["escalation: policy mine leaves it to a person" + ALLOW]


@pytest.mark.parametrize("policy", [CAREFUL, DAEMON])
def test_a_rule_that_stops_does_so_once(policy: Policy) -> None:
    watch = Watch(WatchConfig(evolve(policy, rules=[Rule(do="stop", state="waiting", why="enough")])))
    assert watch.see(ASKS) == ["halt: policy"]
    assert watch.steps[-1] == Halt("policy", "enough")
    assert watch.see(verdict(id="another")) == []
    assert watch.state.halt.halted == "enough"


def test_a_rule_may_wait() -> None:
    watch = Watch(WatchConfig(Policy("mine", rules=[Rule(do="wait")])))
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[]] * 5


# --- events ---


def detections(seen: Sequence[Verdict]) -> list[str | None]:
    """The state that is said at each look, by `detection`."""
    watch, found = Watch(RULES["observe"]), []
    for one in seen:
        watch.see(one)
        news = [step.facts["state"] for step in watch.steps if isinstance(step, Emit) and step.name == "detection"]
        found.append(news[0] if news else None)
    return found


def test_a_detection_is_told_when_it_is_another() -> None:
    """More or less sure of the same is no news."""
    doubtful, another = verdict(certainty="maybe"), verdict(line="Another? [y/N]")
    assert detections([ASKS, ASKS, doubtful, another, ASKS]) == ["waiting", None, None, "waiting", "waiting"]


def test_a_doubtful_one_is_told_once_it_lasts() -> None:
    """What was there for a moment was drawn half, or is said by its program before it is drawn."""
    half = verdict(certainty="maybe", id="half")
    assert detections([WORKS, WORKS, WORKS, WORKS]) == [None, None, "working", None]
    assert detections([ASKS, half, half, ASKS]) == ["waiting", None, None, None]
    assert detections([half, ASKS, WORKS, half, WORKS, WORKS]) == [None, "waiting", None, None, None, None]


@pytest.mark.parametrize("state", ["working", "idle", "ended"])
def test_what_is_left_on_the_screen_of_work_rest_and_ends_is_no_news(state: str) -> None:
    found = detections([verdict(state, id="one"), verdict(state, id="two"), verdict(state, id="three"), ASKS])
    assert found == [None, None, state, "waiting"] if state == "idle" else [state, None, None, "waiting"]


def test_an_escalation_is_told_once() -> None:
    watch = Watch(RULES["observe"])
    assert len(watch.see(ASKS)) == 1
    assert [watch.see(ASKS, after=60) for _ in range(5)] == [[]] * 5
    assert watch.see(verdict(certainty="maybe"), after=60) == []
    assert watch.see(verdict(line="Another? [y/N]")) == ["escalation: policy observe leaves it to a person" + ALLOW]


def test_an_agent_is_done_after_it_worked() -> None:
    """Not where it was at its composer from the first look on; once for each turn, and nobody is told."""
    rests = evolve(verdict("idle", id="rests"), ended_turn=EndedTurn(TurnOutcome.DONE, "All tests pass."))
    watch = Watch()
    assert watch.see(rests) == []
    for _ in range(2):
        watch.see(verdict("working", id="busy"))
        assert [watch.see(rests) for _ in range(3)] == [["done"], [], []]
    assert watch.see(WORKS) == []


def test_every_stall_is_told() -> None:
    """The second one too, though between the two nothing but the screen changed."""
    watch = Watch()
    for text in ("first", "second", "third"):
        assert [watch.see(WORKS, text, after=60) for _ in range(5)] == [
            [], [], [], ["escalation: nothing changed for 180 s, and the reason is unknown"], []
        ]  # fmt: skip


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
    policy = Policy("mine", dialogs=True, patience_s=2.0)
    watch = Watch(WatchConfig(policy, schedule=Schedule(interval_s=1, unchanged=2)))
    found = [watch.see(verdict(severity=severity)) for _ in range(3)]
    assert found[:2] == [[], []] and (found[2] == ["press"]) == (severity is Severity.LOW)


@pytest.mark.parametrize("decision", [Press, Restart, Resume])
def test_an_end_without_a_beginning_is_harmless(decision: Any) -> None:
    """A dry run, or an answer that comes late."""
    signature = ASKS.match and ASKS.match.signature
    for end in End:
        after = on_outcome(SessionState(), decision(signature), end)
        assert (after.recovery.counts, after.recovery.restarts, after.recovery.busy) == (Counts(), Counts(), False)


def test_a_look_is_a_value() -> None:
    """The same looks lead to the same steps: nothing else is remembered."""
    look: Snapshot = snapshot()
    assert on_look(SessionState(), ASKS, look, 5.0, RULES["careful"]) == on_look(
        SessionState(), ASKS, look, 5.0, RULES["careful"]
    )
