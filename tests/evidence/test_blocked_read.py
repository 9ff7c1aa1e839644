"""A program that blocks in a read of its terminal while nothing else of it can go on: it waits, and no key follows."""

from __future__ import annotations

import pytest
from acme import ENGINE, SCREENS, screen
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.kernel import STILL_S
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, Standstill, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import Policy, Press
from stallkit.press.policy_file import PROFILES

COOKED = TtyFacts(echo=True, canonical=True)
READS = KernelFacts(listening=True, how="read", standstill=Standstill({7: 3}, STILL_S))
SCRIPT = Member(7, "sh", "S", interactive=False)
PROMPT = Member(7, "sh", "S", interactive=True)
UNKNOWN = Member(7, "sh", "S")


def verdict(shown: str, kernel: KernelFacts, foreground: str | None = "vault", quiet_s: float | None = 3.0) -> Verdict:
    look = Snapshot(
        screen=screen(shown),
        alive=True,
        process=ProcessFacts(foreground),
        kernel=evolve(kernel, foreground=foreground),
        tty=COOKED,
        quiet_s=quiet_s,
    )
    return judge(evolve(ENGINE.detect(look.screen), executables={"agent": ()}), look)


@pytest.mark.parametrize(("shown", "kind"), [("nothing", "text"), ("busy", "text"), ("dialog", "select")])
def test_it_waits_for_sure_whatever_the_screen_shows(shown: str, kind: str) -> None:
    found = verdict(shown, READS)
    assert (found.state, found.certainty, found.kind) == ("waiting", "sure", kind), found.reasons


@pytest.mark.parametrize(
    ("readers", "foreground", "sure"),
    [
        ((SCRIPT,), "sh", True),  # a shell that runs a script asks like any program
        ((PROMPT,), "sh", False),
        ((UNKNOWN,), "sh", False),
        (None, "sh", False),
        (None, "vault", True),
        ((Member(7, "python3", "S", interactive=True),), "python3", False),
        ((Member(7, "python3", "S", interactive=False),), "python3", True),
        ((Member(7, "agent", "S"),), "agent", False),  # its pack says what it does
        ((SCRIPT,), "ssh", False),
        ((SCRIPT,), None, False),
    ],
)
def test_who_reads_decides(readers: tuple[Member, ...] | None, foreground: str | None, sure: bool) -> None:
    kernel = evolve(READS, readers=readers, members=readers or (), complete=readers is not None, looked_at=1)
    found = verdict("nothing", kernel, foreground)
    assert found.by_read is sure and (found.certainty is Certainty.SURE) is sure, found.reasons


def test_a_shells_prompt_where_an_agent_was_is_no_question() -> None:
    shown = evolve(ENGINE.detect(screen("shell")), executables={"agent": ()})
    look = Snapshot(screen=screen("shell"), kernel=READS, tty=COOKED, process=ProcessFacts("vault"), quiet_s=3.0)
    assert judge(shown, look).by_read and not judge(shown, look, agent_seen=look).by_read


def test_what_is_missing_is_told() -> None:
    part = evolve(READS, standstill=Standstill({7: 3}, 0.5))
    found = verdict("nothing", part)
    assert (found.certainty, found.proof_in_s) == ("maybe", STILL_S - 0.5)
    assert verdict("nothing", part, quiet_s=0.0).proof_in_s == STILL_S - 0.5, "another process may draw"
    assert verdict("line", READS).proof_in_s is None, "it is sure without"


@given(st.sampled_from(sorted(SCREENS)), st.floats(0, 10), st.sampled_from(sorted(PROFILES)))
def test_no_key_follows_from_it(shown: str, lasts_s: float, profile: str) -> None:
    """What was not pressed without it is not pressed with it; and it never takes certainty away."""
    without = verdict(shown, evolve(READS, standstill=None))
    found = verdict(shown, evolve(READS, standstill=Standstill({7: 3}, lasts_s)))
    policy: Policy = PROFILES[profile]
    assert isinstance(policy.decide(found), Press) is isinstance(policy.decide(without), Press)
    assert found.sure_by_screen is (without.sure_by_screen and not found.by_read)
    if without.state is State.WAITING:
        assert (found.state, found.kind) == (State.WAITING, without.kind)
        assert found.certainty is Certainty.SURE or without.certainty is Certainty.MAYBE


@given(st.sampled_from(sorted(SCREENS)), st.floats(0, STILL_S, exclude_max=True))
def test_less_than_two_seconds_prove_nothing(shown: str, lasts_s: float) -> None:
    without = verdict(shown, evolve(READS, standstill=None))
    found = verdict(shown, evolve(READS, standstill=Standstill({7: 3}, lasts_s)))
    assert evolve(found, proof_in_s=None) == without
