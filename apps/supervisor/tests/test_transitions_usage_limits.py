"""An agent's usage limit: waited for, told of, and resumed after where a rule says so."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from stallkit_supervisor.session_state import Emit, WatchConfig
from watched_state import ASKS, RESUME, RESUMES, RULES, USED_UP, WORKS, Watch, verdict

from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule


def test_a_used_up_limit_is_no_stall() -> None:
    """Requirement D4: the count goes back to 0."""
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


def test_a_limit_that_holds_on_names_a_new_time() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP, free_in=100)
    watch.press(End.CLEARED, USED_UP, after=100)
    assert watch.see(USED_UP, "refused once more", free_in=500) == [
        "escalation: a usage limit holds it up, for 8 minutes more"
    ]
    assert watch.see(USED_UP, after=499) == []
    assert watch.see(USED_UP, after=1) == ["resume"]


def test_a_time_that_is_shown_later_counts_as_well() -> None:
    watch = Watch(RESUMES)
    watch.see(USED_UP)
    assert watch.see(USED_UP, after=5) == [] and watch.state.quota.free_at is None
    assert watch.see(USED_UP, free_in=10) == [] and watch.state.quota.free_at == watch.now + 10
    assert watch.see(USED_UP, after=10) == ["resume"]


@pytest.mark.parametrize(
    ("config", "seen", "look"),
    [
        (RESUMES, verdict("quota", "maybe", id="limit"), {}),  # only what is sure
        (RULES["careful"], USED_UP, {}),  # no rule says so
        (evolve(RESUMES, policy=OBSERVE), USED_UP, {}),
        (RESUMES, USED_UP, {"foreground": "python"}),
        (RESUMES, USED_UP, {"foreground": None}),
        (evolve(RESUMES, policy=evolve(DAEMON, agents=["codex"])), USED_UP, {}),
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


def test_a_wait_outlasts_a_look_that_says_nothing() -> None:
    watch = Watch()
    watch.see(USED_UP, free_in=10)
    assert watch.see(verdict("unknown", "maybe")) == []
    assert watch.state.quota.waits and watch.state.quota.free_at == 1011.0


def test_resumptions_have_the_limits_of_presses() -> None:
    watch = Watch(RESUMES)
    for _ in range(3):
        watch.see(USED_UP, free_in=0)
        if not watch.state.recovery.busy:
            watch.see(USED_UP)
        watch.on_outcome(End.CLEARED)
    watch.see(USED_UP, free_in=0)
    assert watch.state.halt.halted


def test_each_try_of_a_limit_names_its_own_end() -> None:
    watch, tries = Watch(), verdict("quota", "maybe", id="limit")
    tries = evolve(tries, retrying="Rate limit reached [retrying in 3s attempt #1]")
    assert watch.see(tries, free_in=3) == ["escalation: a usage limit holds it up, for 3 s more"]
    assert watch.see(tries, "attempt #2", free_in=30, after=4) == [] and watch.state.quota.free_at == watch.now + 30
    assert Watch().see(tries, free_in=0) == ["escalation: a usage limit holds it up"], "its end has passed"
