"""An agent that asks whether to go on gets a word from a rule that says so, and never twice in a row."""

from __future__ import annotations

import pytest
from attrs import evolve
from stallkit_supervisor.session_state import Perform, WatchConfig
from watched_state import AT_ONCE, RULES, Watch, verdict

from stallkit.detect.composer import Composer
from stallkit.evidence.turn import EndedTurn, TurnOutcome, of_message
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import Send
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule

SOON = WatchConfig(evolve(DAEMON, patience_s=0.0), notify=AT_ONCE)
COMPOSER = Composer("> ")
IN_A_ROW = "escalation: it asks again, and has done nothing since it was told to go on"


def asks(
    message: str = "Half of it is done. Shall I continue?",
    certainty: str = "sure",
    done: bool = True,
    composer: Composer | None = COMPOSER,
) -> Verdict:
    """An agent whose turn ended so; `done`: after something that it did."""
    made = verdict("idle", certainty, id="composer")
    assert made.match is not None
    match = evolve(made.match, signature=evolve(made.match.signature, composer=composer))
    turn = evolve(of_message(message), at_once=not done)
    return evolve(made, detection=evolve(made.detection, match=match), ended_turn=turn)


def test_the_daemon_says_its_word_to_the_literal_questions_of_an_agent_alone() -> None:
    told = {
        "I read the tests.\n\nShall I continue?": "yes",
        "Three of five are done. Do you want to proceed?": "yes",
        "This will drop the database. Do you want to proceed?": "yes",  # no word in the text above changes it
        "The first half is written. Continue?": "continue",
        "SHALL I CONTINUE?": "yes",
        "Shall I continue with the migration?": None,
        "Should I go on?": None,
        "All tests pass.": None,
        'He wrote "Shall I continue?" on the wall.': None,
    }
    for message, text in told.items():
        watch = Watch(SOON)
        watch.see(asks(message))
        sent = [
            step.decision.text for step in watch.steps if isinstance(step, Perform) and isinstance(step.decision, Send)
        ]
        assert sent == ([text] if text else []), message
    for name, reads in (("careful", "claude"), ("observe", "claude"), ("daemon", "node")):
        watch = Watch(evolve(RULES[name], policy=evolve(RULES[name].policy, patience_s=0.0)))
        assert watch.see(asks(), foreground=reads) == ["escalation: its turn ended with a question"], name


def test_what_cannot_be_typed_is_not_promised() -> None:
    """A pack that does not say where a text stands in its agent's composer: none is typed there, now or later."""
    watch = Watch(RULES["daemon"])
    unknown = asks(composer=None)
    (told,) = watch.see(unknown)
    assert told.endswith("but where a text stands in its composer is not known, so none is typed")
    assert [name for _ in range(5) for name in watch.see(unknown, after=60)] == []
    (told,) = Watch(RULES["daemon"]).see(asks())  # the cursor is in no composer
    assert told.startswith("escalation: policy daemon sends 'yes' only where that is safe: ")


def test_it_is_said_soon_and_done_after_the_beats() -> None:
    watch = Watch(RULES["daemon"])
    (told,) = watch.see(asks(), "> ", cursor=(2, 0))
    assert told == "escalation: policy daemon sends 'yes' in 180 s, if it is still there"
    found = [watch.see(asks(), f"a bullet that blinks {number}", after=60) for number in range(3)]
    assert found == [[], [], ["send"]]
    watch.on_outcome(End.CLEARED)
    assert watch.state.recovery.counts.total == 1
    watch.see(verdict("working", id="busy"))
    assert "send" in [name for _ in range(5) for name in watch.see(asks(), after=60)], "a new turn"


def test_a_second_one_needs_something_done_in_between() -> None:
    for end in (End.CLEARED, End.REPLACED, End.UNKNOWN, End.UNCHANGED):
        watch = Watch(SOON)
        assert watch.see(asks(done=False)) == ["send"]
        watch.on_outcome(end)
        watch.see(verdict("working", id="busy"), "it works")
        assert watch.see(asks("And now? Continue?", done=False), "asks") == [IN_A_ROW], end
        watch.see(verdict("working", id="busy"), "it works")
        assert watch.see(asks("One more is done. Continue?"), "asks") == ["send"], end


def test_it_is_sent_once_in_a_turn_and_only_if_it_is_sure_of_it() -> None:
    watch = Watch(SOON)
    assert watch.see(asks()) == ["send"]
    watch.on_outcome(End.UNCHANGED)
    told = [name for _ in range(5) for name in watch.see(asks(), after=60)]
    assert "send" not in told and len(told) == 1
    watch = Watch(SOON)
    assert "send" not in [name for _ in range(5) for name in watch.see(asks(certainty="maybe"), after=60)]
    watch = Watch(SOON)
    half = evolve(
        asks(), ended_turn=EndedTurn(TurnOutcome.ASKS, "...done. Shall I continue?", question="Shall I continue?")
    )
    assert "send" not in watch.see(half), "its beginning is out of sight"


def test_a_limit_holds_it() -> None:
    watch = Watch(SOON)
    for number in range(3):
        assert watch.see(asks(f"Part {number} is done. Shall I continue?")) == ["send"]
        watch.on_outcome(End.CLEARED)
        watch.see(verdict("working", id="busy"))
    assert watch.see(asks("Part 4 is done. Shall I continue?"))[-1] == "halt: stall_limit"


@pytest.mark.parametrize("never", ["*half*", "*SHALL I*"])
def test_a_rule_may_name_what_it_does_not_answer(never: str) -> None:
    rule = Rule(do="send", text="go on", turn="asks", session="tmux:one", never=never)
    watch = Watch(evolve(SOON, policy=evolve(DAEMON, rules=[rule], patience_s=0.0)))
    assert "send" not in watch.see(asks()) and watch.see(asks("Should I go on?"), "another") == ["send"]
