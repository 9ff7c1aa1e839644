"""An agent that asks whether to go on gets a word from the daemon for the literal phrases alone; else by a rule."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import verdict
from watched_state import RULES, Watch

from stallkit.core.ended_turn import EndedTurn, How, of_message
from stallkit.core.signature import Certainty
from stallkit.core.verdict import Verdict
from stallkit.errors import ConfigError
from stallkit.press.decisions import Escalate, Ignore, Send
from stallkit.press.gate import End
from stallkit.press.nudge import nudge
from stallkit.press.policy import CAREFUL, DAEMON, OBSERVE, Policy
from stallkit.press.policy_file import policy_from
from stallkit.press.rules import Rule

ANSWERED = [
    # a message, and what it gets
    ("I read the tests and made a plan.\n\nShall I continue?", "yes"),
    ("Three of five files are done. Do you want to proceed?", "yes"),
    ("The first half is written. Continue?", "continue"),
    ("SHALL I CONTINUE?", "yes"),
]
LEFT = [
    "Shall I continue with the migration?",
    "I will delete the old branch. Shall I continue?",
    "This will drop the production database.\n\nDo you want to proceed?",
    "Ich werde alle Dateien löschen. Shall I continue?",
    "It costs $40. Shall I continue?",
    "Please give me your password. Continue?",
    "Which one shall I take, A or B?",
    'He wrote "Shall I continue?" on the wall.',
    "Shall I continue? Or shall I push to main?",
    "All tests pass.",
    "Run this:\n\n```\nmake all\n```\n\nShall I continue?",
    "> rm -rf /\n\nShall I continue?",
    "Should I go on?",
]


def idle(message: str, certainty: str = "sure") -> Verdict:
    shown = verdict("idle", certainty, id="composer")
    return evolve(shown, ended_turn=of_message(message))


@pytest.mark.parametrize(("message", "text"), ANSWERED)
def test_the_literal_phrases_get_their_word(message: str, text: str) -> None:
    assert nudge(of_message(message)) == text
    decision = DAEMON.decide(idle(message))
    assert isinstance(decision, Send) and decision.text == text
    assert isinstance(CAREFUL.decide(idle(message)), Ignore) and isinstance(OBSERVE.decide(idle(message)), Ignore)
    assert isinstance(DAEMON.decide(idle(message, "maybe")), Escalate)


@pytest.mark.parametrize("message", LEFT)
def test_every_other_message_is_left_to_a_person(message: str) -> None:
    assert nudge(of_message(message)) is None


@given(st.text(max_size=60))
def test_only_a_message_that_ends_in_a_phrase_is_answered(text: str) -> None:
    if nudge(of_message(text)) is not None:
        assert text.strip().casefold().endswith(("continue?", "proceed?"))


def test_a_message_whose_beginning_is_out_of_sight_is_not_answered() -> None:
    turn = EndedTurn(How.ASKS, "Shall I continue?", question="Shall I continue?")
    assert nudge(turn) is None and nudge(evolve(turn, whole=True)) == "yes"
    long = "It is fine. " * 60
    assert nudge(of_message(f"{long} Shall I continue?")) is None, "what is told of it is cut"


def test_a_rule_sends_what_it_says() -> None:
    policy = Policy("mine", rules=[Rule(do="send", text="go on", turn="asks", never=["*push*", "*main*"])])
    assert policy.decide(idle("Should I go on?")) == Send(
        "go on", "a rule of policy mine: send 'go on' where turn asks, never *push* or *main*"
    )
    assert isinstance(policy.decide(idle("Shall I push it?")), Ignore)
    assert isinstance(policy.decide(idle("Shall I PUSH it?")), Ignore), "in any letter case"
    assert isinstance(policy.decide(idle("All tests pass.")), Ignore)
    assert isinstance(Policy("all", rules=[Rule(do="send", text="go on")]).decide(verdict()), Escalate), "it is no turn"


def test_a_failure_may_have_its_own_rule() -> None:
    policy = Policy("mine", rules=[Rule(do="send", text="continue", turn="failed", error=["connection", "overloaded"])])
    failed = evolve(verdict("idle", id="composer"), ended_turn=EndedTurn(How.FAILED, "API Error", "connection"))
    assert isinstance(policy.decide(failed), Send)
    refused = evolve(failed, ended_turn=EndedTurn(How.FAILED, "401", "authentication_failed"))
    assert isinstance(policy.decide(refused), Ignore)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"do": "send"}, "belong together"),
        ({"do": "press", "text": "yes"}, "belong together"),
        ({"do": "send", "text": "yes\nrm -rf /"}, "one line"),
        ({"do": "send", "text": "yes", "turn": "maybe"}, "turn is one of done, asks, failed"),
    ],
)
def test_an_invalid_rule_is_refused(rule: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        policy_from({"rule": [rule]}, "mine.toml")


def test_the_daemon_says_so_soon_and_sends_after_its_beats() -> None:
    watch = Watch(RULES["daemon"])
    seen = idle("Half of it is done. Shall I continue?")
    assert watch.see(seen) == ["escalation: policy daemon sends 'yes' in 180 s, if it is still there"]
    found = [watch.see(seen, f"a bullet that blinks {number}", after=60) for number in range(3)]
    assert found == [[], [], ["send"]]
    watch.on_outcome(End.CLEARED)
    assert watch.state.counts.total == 1
    watch.see(verdict("working", id="busy"))
    assert "send" in [name for _ in range(5) for name in watch.see(seen, after=60)], "a new turn"


def test_it_is_sent_once_in_a_turn() -> None:
    watch = Watch(evolve(RULES["daemon"], policy=evolve(DAEMON, patient=False)))
    seen = idle("Shall I continue?")
    assert watch.see(seen) == ["send"]
    watch.on_outcome(End.UNCHANGED)
    told = [name for _ in range(5) for name in watch.see(seen, after=60)]
    assert "send" not in told and len(told) == 1


def test_a_limit_holds_it() -> None:
    watch = Watch(evolve(RULES["daemon"], policy=evolve(DAEMON, patient=False)))
    for number in range(3):
        assert watch.see(idle(f"Part {number} is done. Shall I continue?")) == ["send"]
        watch.on_outcome(End.CLEARED)
        watch.see(verdict("working", id="busy"))
    assert watch.see(idle("Part 4 is done. Shall I continue?"))[-1] == "halt: stall_limit"


def test_doubt_keeps_it() -> None:
    assert Certainty.MAYBE is idle("Shall I continue?", "maybe").certainty
    watch = Watch(evolve(RULES["daemon"], policy=evolve(DAEMON, patient=False)))
    assert "send" not in [name for _ in range(5) for name in watch.see(idle("Continue?", "maybe"), after=60)]
