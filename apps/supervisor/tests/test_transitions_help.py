"""An agent that stopped is helped on: by its usage limit's end, with a word to its question, out of a hang."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.recovery_state import RESTART_AFTER_S, TRIES, Cure, Limits
from stallkit_supervisor.session_state import Emit, Halt, HaltState, Perform, WatchConfig
from stallkit_supervisor.transitions import on_dry_run, on_outcome
from watched_state import ASKS, AT_ONCE, RESUME, RESUMES, RULES, USED_UP, WORKS, Watch, verdict

from stallkit.detect.composer import Composer
from stallkit.evidence.turn import EndedTurn, TurnOutcome, of_message
from stallkit.judging.verdict import Hung, Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE, Interrupt, Policy, Restart, Send
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule


def test_a_used_up_limit_is_no_stall() -> None:
    watch = Watch(RULES["daemon"])
    assert watch.see(USED_UP) == ["escalation: a usage limit holds it up"]
    assert [watch.see(USED_UP, after=60) for _ in range(10)] == [[]] * 10
    assert watch.state.heartbeat and watch.state.heartbeat.unchanged == 0
    assert not any("press" in watch.see(ASKS, after=60) for _ in range(3)) and not watch.state.quota.waits
    assert watch.see(ASKS, after=60) == ["press"]


def test_when_it_is_free_again_a_person_is_told() -> None:
    watch = Watch()
    assert watch.see(USED_UP, free_in=100) == ["escalation: a usage limit holds it up, for 2 minutes more"]
    (told,) = (step for step in watch.steps if isinstance(step, Emit) and step.name == "escalation")
    assert (told.facts["what"], told.facts["free_in_s"]) == ("limit", 100)
    assert watch.see(USED_UP, free_in=86_400, after=99.9) == [], "a later reading of the same words is another day's"
    assert watch.see(USED_UP, free_in=86_400, after=0.1) == ["escalation: the limit should be free again"]
    assert watch.see(USED_UP) == []


def test_or_it_resumes_where_a_rule_says_so() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=100)
    watch.press(End.UNCHANGED, USED_UP, after=100)
    assert watch.see(USED_UP) == ["escalation: the limit should be free again"], "and once"
    assert watch.see(verdict("quota", "maybe", id="limit")) == []
    assert watch.see(USED_UP) == []
    assert watch.see(WORKS, "it went on") == [] and not watch.state.quota.waits
    assert watch.state.recovery.counts.total == 1


def test_a_limit_that_holds_on_names_a_new_time_and_one_that_is_shown_later_counts() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=100)
    watch.press(End.CLEARED, USED_UP, after=100)
    told = ["escalation: a usage limit holds it up, for 8 minutes more"]
    assert watch.see(USED_UP, "refused once more", free_in=500) == told
    assert [watch.see(USED_UP, after=pause) for pause in (499, 1)] == [[], ["resume"]]
    watch = Watch(RESUMES)
    watch.see(USED_UP)
    assert watch.see(USED_UP, after=5) == [] and watch.state.quota.free_at is None
    assert watch.see(USED_UP, free_in=10) == [] and watch.state.quota.free_at == watch.now + 10
    assert watch.see(verdict("unknown", "maybe")) == [] and watch.state.quota.waits, "a look that says nothing"
    assert watch.see(USED_UP, after=9) == ["resume"]


def test_what_keeps_a_key_from_a_prompt_keeps_it_from_a_resumption() -> None:
    kept: list[tuple[WatchConfig, Verdict, dict[str, Any]]] = [
        (RESUMES, verdict("quota", "maybe", id="limit"), {}),  # only what is sure
        (RULES["careful"], USED_UP, {}),  # no rule says so
        (evolve(RESUMES, policy=OBSERVE), USED_UP, {}),
        (RESUMES, USED_UP, {"foreground": "python"}),
        (RESUMES, USED_UP, {"foreground": None}),
        (evolve(RESUMES, policy=evolve(DAEMON, agents=["codex"])), USED_UP, {}),
    ]
    for number, (config, seen, look) in enumerate(kept):
        watch = Watch(config)
        watch.see(seen, free_in=10, **look)
        assert watch.see(seen, after=10, **look)[0].startswith("escalation: the limit should be free again"), number


def test_a_resumption_is_for_a_used_up_limit_alone() -> None:
    policy = evolve(CAREFUL, rules=[Rule(do="wait", state="unknown"), RESUME])
    watch = Watch(evolve(RESUMES, policy=policy))
    watch.see(USED_UP, free_in=10)
    assert watch.see(verdict("unknown", "maybe"), after=10) == []
    assert watch.see(USED_UP) == ["resume"]


def test_the_wait_can_be_turned_off() -> None:
    watch = Watch(evolve(RESUMES, waits_for_quota=False))
    assert watch.see(USED_UP, free_in=1) == ["escalation: a usage limit holds it up"]
    assert watch.see(USED_UP, after=10) == []
    assert not watch.state.quota.waits
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=10)
    watch.config = evolve(RESUMES, waits_for_quota=False)  # by a reload
    assert watch.see(USED_UP, after=10) == []


def test_each_try_of_a_limit_names_its_own_end() -> None:
    watch, tries = Watch(), verdict("quota", "maybe", id="limit")
    tries = evolve(tries, retrying="Rate limit reached [retrying in 3s attempt #1]")
    assert watch.see(tries, free_in=3) == ["escalation: a usage limit holds it up, for 3 s more"]
    assert watch.see(tries, "attempt #2", free_in=30, after=4) == [] and watch.state.quota.free_at == watch.now + 30
    assert Watch().see(tries, free_in=0) == ["escalation: a usage limit holds it up"], "its end has passed"


AT_THE_QUESTION = WatchConfig(evolve(DAEMON, patience_s=0.0), notify=AT_ONCE)
COMPOSER = Composer("> ")


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
        watch = Watch(AT_THE_QUESTION)
        watch.see(asks(message))
        sent = [
            step.decision.text for step in watch.steps if isinstance(step, Perform) and isinstance(step.decision, Send)
        ]
        assert sent == ([text] if text else []), message
    for name, reads in (("careful", "claude"), ("observe", "claude"), ("daemon", "node")):
        watch = Watch(evolve(RULES[name], policy=evolve(RULES[name].policy, patience_s=0.0)))
        assert watch.see(asks(), foreground=reads) == ["escalation: its turn ended with a question"], name


def test_what_cannot_be_typed_is_not_promised() -> None:
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
    in_a_row = "escalation: it asks again, and has done nothing since it was told to go on"
    for end in (End.CLEARED, End.REPLACED, End.UNKNOWN, End.UNCHANGED):
        watch = Watch(AT_THE_QUESTION)
        assert watch.see(asks(done=False)) == ["send"]
        watch.on_outcome(end)
        watch.see(verdict("working", id="busy"), "it works")
        assert watch.see(asks("And now? Continue?", done=False), "asks") == [in_a_row], end
        watch.see(verdict("working", id="busy"), "it works")
        assert watch.see(asks("One more is done. Continue?"), "asks") == ["send"], end
    watch = Watch(AT_THE_QUESTION)
    for number in range(3):
        assert watch.see(asks(f"Part {number} is done. Shall I continue?")) == ["send"]
        watch.on_outcome(End.CLEARED)
        watch.see(verdict("working", id="busy"))
    assert watch.see(asks("Part 4 is done. Shall I continue?"))[-1] == "halt: stall_limit"
    for never in ("*half*", "*SHALL I*"):
        rule = Rule(do="send", text="go on", turn="asks", session="tmux:one", never=never)
        watch = Watch(evolve(AT_THE_QUESTION, policy=evolve(DAEMON, rules=[rule], patience_s=0.0)))
        assert "send" not in watch.see(asks()) and watch.see(asks("Should I go on?"), "another") == ["send"]


def test_it_is_sent_once_in_a_turn_and_only_if_it_is_sure_of_it() -> None:
    watch = Watch(AT_THE_QUESTION)
    assert watch.see(asks()) == ["send"]
    watch.on_outcome(End.UNCHANGED)
    told = [name for _ in range(5) for name in watch.see(asks(), after=60)]
    assert "send" not in told and len(told) == 1
    watch = Watch(AT_THE_QUESTION)
    assert "send" not in [name for _ in range(5) for name in watch.see(asks(certainty="maybe"), after=60)]
    watch = Watch(AT_THE_QUESTION)
    half = evolve(
        asks(), ended_turn=EndedTurn(TurnOutcome.ASKS, "...done. Shall I continue?", question="Shall I continue?")
    )
    assert "send" not in watch.see(half), "its beginning is out of sight"


BOTH = WatchConfig(CAREFUL, notify=AT_ONCE, cure=Cure(escape=True, restart=True))
IDLE = verdict("idle", id="rests")


def works(agent: str = "claude") -> Verdict:
    return evolve(verdict("working", "maybe", id="spinner"), agents=frozenset({agent}))


def hangs(for_s: float = 200.0, agent: str = "claude") -> Verdict:
    return works(agent).but_hung(Hung(for_s, ("no TCP connection is open",)))


def end(watch: Watch, how: End, why: str = "") -> None:
    (decision,) = (step.decision for step in watch.steps if isinstance(step, Perform))
    watch.state = on_outcome(watch.state, decision, how, why)


def done(watch: Watch, seen: Verdict, after: float = 1.0, **look: Any) -> list[str]:
    """What is done, in short, or told of it; not that it hangs, nor that nothing changed."""
    told = ("escalation: it says that it works", "escalation: nothing changed")
    return [one for one in watch.see(seen, after=after, **look) if not one.startswith(told)]


def test_a_hang_is_interrupted_once_and_then_started_again() -> None:
    watch = Watch(BOTH)
    assert done(watch, works()) == []
    assert done(watch, hangs()) == ["interrupt"]
    before = watch.steps
    assert done(watch, hangs()) == [], "it runs"
    watch.steps = before
    end(watch, End.UNCHANGED)
    assert done(watch, hangs(210), RESTART_AFTER_S - 2) == []
    assert done(watch, hangs(270), 3) == ["restart"]
    assert [step.decision for step in watch.steps if isinstance(step, Perform)] == [
        Restart("claude has hung for 270 s", resumes=True)
    ]
    end(watch, End.UNCHANGED)
    assert [done(watch, hangs(300 + 60 * minute), 60) for minute in range(5)] == [[]] * 5
    assert (watch.state.recovery.counts.total, watch.state.recovery.restarts.total) == (1, 1)


def test_what_helped_is_over_and_the_next_hang_is_another() -> None:
    watch = Watch(BOTH)
    for _ in range(2):
        assert done(watch, hangs()) == ["interrupt"]
        end(watch, End.CLEARED)
        assert done(watch, IDLE) == []
        assert watch.state.recovery.hang is None
        assert done(watch, works()) == []


def test_a_hang_that_goes_on_after_a_stir_is_the_same_and_one_that_begins_later_is_not() -> None:
    watch = Watch(BOTH)
    assert done(watch, hangs()) == ["interrupt"]
    end(watch, End.UNCHANGED)
    assert done(watch, works()) == [], "the key itself made something happen"
    assert done(watch, hangs(180), 190) == ["restart"]
    watch = Watch(BOTH)
    assert done(watch, hangs()) == ["interrupt"]
    end(watch, End.UNCHANGED)
    assert done(watch, works()) == []
    assert done(watch, hangs(180), 600) == ["interrupt"]


def test_what_is_done_at_first() -> None:
    ignores = Policy("mine", True, rules=[Rule(do="ignore", state="working")])
    first: list[tuple[WatchConfig, Verdict, dict[str, Any], list[str]]] = [
        (RULES["careful"], hangs(), {}, []),
        (evolve(BOTH, cure=Cure(restart=True)), hangs(), {}, ["restart"]),
        (evolve(BOTH, cure=Cure(escape=True)), hangs(agent="opencode"), {}, []),
        (BOTH, hangs(agent="opencode"), {}, ["restart"]),
        (BOTH, hangs(agent="aider"), {}, []),
        (BOTH, evolve(hangs(), agents=None), {}, []),
        (BOTH, evolve(hangs(), agents=frozenset({"claude", "codex"})), {}, []),
        (BOTH, evolve(hangs(), retrying="in 2 s"), {}, []),
        (evolve(BOTH, policy=OBSERVE), hangs(), {}, []),
        (evolve(BOTH, policy=evolve(CAREFUL, agents=["claude"])), hangs(), {"foreground": "codex"}, []),
        (evolve(BOTH, policy=ignores), hangs(), {}, []),
    ]
    found = [done(Watch(config), seen, **look) for config, seen, look, _ in first]
    assert found == [expected for *_, expected in first]


def test_a_refusal_is_tried_again_and_then_told_and_ends_nothing() -> None:
    watch = Watch(BOTH)
    for _ in range(TRIES):
        assert done(watch, hangs()) == ["interrupt"]
        end(watch, End.REFUSED, "somebody's text may stand in the composer")
    assert watch.state.recovery.counts.total == 0
    found = [done(watch, hangs(200 + look), 60) for look in range(5)]
    told = "escalation: claude hangs, and is not interrupted: somebody's text may stand in the composer"
    assert found == [[told], [], [], [], []]


def test_limits_and_somebodys_auto_stop_hold_it() -> None:
    watch = Watch(evolve(BOTH, limits=Limits(per_iteration=1)))
    assert done(watch, hangs()) == ["interrupt"]
    end(watch, End.CLEARED)
    done(watch, IDLE)
    assert done(watch, hangs())[-1] == "halt: stall_limit"
    watch = Watch(BOTH)
    watch.state = evolve(watch.state, halt=HaltState(held="/srv/.auto-stop"))
    assert done(watch, hangs()) == ["escalation: nothing is pressed or started while /srv/.auto-stop is there"]


def test_a_dry_run_says_each_step_once() -> None:
    watch, said = Watch(BOTH), []
    for _ in range(10):
        before = watch.state
        said += done(watch, hangs(), 20)
        if watch.state.recovery.busy:
            watch.state = on_dry_run(before, watch.state)
    assert (
        said == ["interrupt", "restart"]
        and watch.state.recovery.counts.total == watch.state.recovery.restarts.total == 0
    )


looks = st.sampled_from([hangs(), hangs(), hangs(500), works(), works(), IDLE, verdict("unknown", "maybe", id=None)])
ends = st.sampled_from([End.UNCHANGED, End.UNKNOWN, End.REFUSED, End.CLEARED, End.GONE])


@given(st.lists(st.tuples(looks, st.sampled_from([1.0, 20.0, 60.0, 300.0]), ends), max_size=40), st.booleans())
def test_whatever_happens_each_is_done_once_in_a_hang(turns: list[tuple[Verdict, float, End]], restart: bool) -> None:
    watch = Watch(evolve(BOTH, cure=Cure(escape=True, restart=restart)))
    pressed_at: float | None = None
    restarted = False
    for seen, pause, how in turns:
        watch.see(seen, after=pause)
        if seen is IDLE or (seen.hung and pressed_at and watch.now - seen.hung.since_s > pressed_at + RESTART_AFTER_S):
            pressed_at, restarted = None, False
        does = [step.decision for step in watch.steps if isinstance(step, Perform)]
        assert not does or (seen.hung and watch.state.recovery.busy)
        if any(isinstance(step, Halt) for step in watch.steps):
            return
        for decision in does:
            over = how in (End.CLEARED, End.GONE)
            if isinstance(decision, Interrupt):
                assert pressed_at is None and not restarted
                pressed_at = None if over or how is End.REFUSED else watch.now
            else:
                assert restart and isinstance(decision, Restart) and decision.resumes and not restarted
                assert pressed_at is not None and watch.now >= pressed_at + RESTART_AFTER_S
                restarted = how in (End.UNCHANGED, End.UNKNOWN)
                pressed_at = None if over else pressed_at
            end(watch, how)
