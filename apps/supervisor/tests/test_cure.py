"""What follows from a hang: Escape once, a new start where that does not help, and nothing that is not switched on."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.recovery_state import RESTART_AFTER_S, TRIES, Cure, Limits
from stallkit_supervisor.session_state import Halt, HaltState, Perform, WatchConfig
from stallkit_supervisor.transitions import on_dry_run, on_outcome
from watched_state import AT_ONCE, RULES, Watch, verdict

from stallkit.judging.verdict import Hung, Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE, Interrupt, Policy, Restart
from stallkit.press.rules import Rule

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


@pytest.mark.parametrize(
    ("config", "seen", "look", "first"),
    [
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
        (evolve(BOTH, policy=Policy("mine", True, rules=[Rule(do="ignore", state="working")])), hangs(), {}, []),
    ],
)
def test_what_is_done_at_first(config: WatchConfig, seen: Verdict, look: dict[str, Any], first: list[str]) -> None:
    watch = Watch(config)
    assert done(watch, seen, **look) == first


def test_escape_alone_is_all_that_is_done_where_no_restart_is_switched_on() -> None:
    watch = Watch(evolve(BOTH, cure=Cure(escape=True)))
    assert done(watch, hangs()) == ["interrupt"]
    end(watch, End.UNCHANGED)
    assert [done(watch, hangs(300), 60) for _ in range(5)] == [[]] * 5


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
    """Counted in another way: since the last look at which it rested, or that came long after the key."""
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
