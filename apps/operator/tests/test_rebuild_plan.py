"""Every way through a rebuild ends in one of two states, and nothing is torn down before the work is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.sandbox.hand_off import comment_words
from stallkit_operator.sandbox.rebuild_plan import ORDER, Leads, Outcome, Step, StepState, leads_to, next_step, outcome

# What becomes of each try of a step: done, failed, or killed after it began.
FATES = st.lists(st.sampled_from(["done", "done", "done", "failed", "killed"]), max_size=60)
KEEPING = (Step.SNAPSHOT, Step.PUSH, Step.READ_BACK)


def carried_out(fates: list[str]) -> tuple[dict[Step, StepState], list[Step]]:
    """The rows at the end, and the steps that were done, in their order; once the fates are used up all goes well."""
    rows: dict[Step, StepState] = {}
    done: list[Step] = []
    ahead = iter(fates)
    for _ in range(200):
        step = next_step(rows)
        if step is None:
            return rows, done
        rows[step] = StepState.BEGUN
        match next(ahead, "done"):
            case "done":
                rows[step] = StepState.DONE
                done.append(step)
            case "failed":
                rows[step] = StepState.FAILED
    raise AssertionError(f"it does not end: {rows}")


@given(FATES)
def test_it_ends_in_one_of_two_sound_states(fates: list[str]) -> None:
    rows, done = carried_out(fates)
    end = outcome(rows)
    if end is Outcome.REPLACED:
        assert Step.START in done and Step.FALL_BACK not in done
    else:
        assert end is Outcome.AS_IT_WAS and Step.START not in done
        assert Step.TEARDOWN not in done or done[-1] is Step.FALL_BACK, "what was torn down was started again"
    if Step.TEARDOWN in done:
        assert tuple(done[:3]) == KEEPING, "the work was kept before anything was torn down"
    assert len(done) == len(set(done)), "no step is done twice"
    assert [step for step in done if step is not Step.FALL_BACK] == [step for step in ORDER if step in done]


@given(FATES)
def test_a_comment_is_never_made_twice(fates: list[str]) -> None:
    rows: dict[Step, StepState] = {}
    begun = 0
    ahead = iter(fates)
    while (step := next_step(rows)) is not None:
        begun += step is Step.COMMENT
        fate = next(ahead, "done")
        rows[step] = {"done": StepState.DONE, "failed": StepState.FAILED, "killed": StepState.BEGUN}[fate]
        if fate == "failed" and leads_to(step) is Leads.AGAIN:
            rows[step] = StepState.BEGUN
    assert begun <= 1


@pytest.mark.parametrize("step", [*KEEPING, Step.TEARDOWN])
def test_a_failure_before_the_teardown_ends_it(step: Step) -> None:
    rows = {one: StepState.DONE for one in ORDER[: ORDER.index(step)]} | {step: StepState.FAILED}
    assert next_step(rows) is None and outcome(rows) is Outcome.AS_IT_WAS


def test_every_step_says_what_its_failure_leads_to() -> None:
    assert {leads_to(step) for step in Step} == set(Leads)
    assert outcome({}) is None and next_step({}) is ORDER[0]


@pytest.mark.parametrize(
    ("command", "repository", "words"),
    [
        (["tea"], "git@git.example:acme/web.git", "tea comment --repo acme/web 17 it"),
        (["gh"], "https://git.example/acme/web", "gh pr comment 17 --repo https://git.example/acme/web --body it"),
        (["post", "{slug}", "{pull_request}", "{text}", "{other}"], "/srv/acme/web", "post acme/web 17 it {other}"),
    ],
)
def test_the_forges_command(command: list[str], repository: str, words: str) -> None:
    assert " ".join(comment_words(command, repository, 17, "it")) == words
