"""The plans of a rebuild and of an edit: every way through them ends soundly, wherever it fails or is killed."""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.sandbox.rebuild_plan import (
    LEADS,
    ORDER,
    Outcome,
    Step,
    StepState,
    comment_words,
    next_step,
    outcome,
)
from stallkit_operator.sandbox.remedy import ENDS, RemedyFiles
from stallkit_operator.sandbox.remedy import Step as EditStep
from stallkit_operator.sandbox.remedy import next_step as edit_step

# What becomes of each try of a step: done, failed, or killed after it began.
FATES = st.lists(st.sampled_from(["done", "done", "done", "failed", "killed"]), max_size=60)
KEEPING = (Step.SNAPSHOT, Step.PUSH, Step.READ_BACK)


def carried_out(fates: list[str]) -> tuple[dict[Step, StepState], list[Step], list[Step]]:
    """The rows at the end, what was begun and what was done, in order; once the fates are used up all goes well."""
    rows: dict[Step, StepState] = {}
    begun: list[Step] = []
    done: list[Step] = []
    ahead = iter(fates)
    for _ in range(200):
        step = next_step(rows)
        if step is None:
            return rows, begun, done
        rows[step] = StepState.BEGUN
        begun.append(step)
        match next(ahead, "done"):
            case "done":
                rows[step] = StepState.DONE
                done.append(step)
            case "failed":
                rows[step] = StepState.FAILED
    raise AssertionError(f"it does not end: {rows}")


@given(FATES)
def test_it_ends_in_one_of_two_sound_states(fates: list[str]) -> None:
    rows, begun, done = carried_out(fates)
    end = outcome(rows)
    if end is Outcome.REPLACED:
        assert Step.START in done and Step.FALL_BACK not in done
    else:
        assert end is Outcome.AS_IT_WAS and Step.START not in done
        assert Step.TEARDOWN not in done or done[-1] is Step.FALL_BACK, "what was torn down was started again"
    if Step.TEARDOWN in done:
        assert tuple(done[:3]) == KEEPING, "the work was kept before anything was torn down"
    assert len(done) == len(set(done)), "no step is done twice"
    assert begun.count(Step.COMMENT) <= 1, "a comment is never made twice"
    assert [step for step in done if step is not Step.FALL_BACK] == [step for step in ORDER if step in done]


def test_a_failure_before_the_teardown_ends_it() -> None:
    for step in (*KEEPING, Step.TEARDOWN):
        rows = {one: StepState.DONE for one in ORDER[: ORDER.index(step)]} | {step: StepState.FAILED}
        assert next_step(rows) is None and outcome(rows) is Outcome.AS_IT_WAS
    assert set(LEADS) == set(Step), "every step says what its failure leads to"
    assert outcome({}) is None and next_step({}) is ORDER[0]


def test_the_forges_command() -> None:
    for command, repository, words in (
        (["tea"], "git@git.example:acme/web.git", "tea comment --repo acme/web 17 it"),
        (["gh"], "https://git.example/acme/web", "gh pr comment 17 --repo https://git.example/acme/web --body it"),
        (["post", "{slug}", "{pull_request}", "{text}", "{other}"], "/srv/acme/web", "post acme/web 17 it {other}"),
    ):
        assert " ".join(comment_words(command, repository, 17, "it")) == words


def course(outcomes: list[bool], reload: bool = False) -> list[tuple[EditStep, bool]]:
    """The steps that are taken where they go so, and the end, which went well."""
    taken, step, left = [], EditStep.RENDER, list(outcomes)
    while step not in ENDS:
        well = left.pop(0) if left else True
        taken.append((step, well))
        step = edit_step(step, well, reload)
    return [*taken, (step, True)]


@given(st.lists(st.booleans(), max_size=12), st.booleans())
def test_every_course_of_an_edit_ends_soundly(outcomes: list[bool], reload: bool) -> None:
    taken = course(outcomes, reload)
    steps, end = [step for step, _ in taken], taken[-1][0]
    assert len(steps) == len(set(steps))  # none is taken twice, so that every course ends
    well = {step for step, good in taken if good}
    assert (end is EditStep.APPLIED) == all(good for _, good in taken)
    if reload:  # it touches no file
        assert not {EditStep.REPLACE, EditStep.PUT_BACK, EditStep.ROLLED_BACK} & set(steps)
        assert (end is EditStep.REFUSED) == (EditStep.RELOAD not in steps)
        return
    if EditStep.REPLACE in steps:
        assert {EditStep.RENDER, EditStep.CHECK, EditStep.RECORD} <= well
    assert (end is EditStep.REFUSED) == (
        set(steps) <= {EditStep.RENDER, EditStep.CHECK, EditStep.RECORD, EditStep.REFUSED}
    )
    assert (EditStep.PUT_BACK in steps) == (end in (EditStep.ROLLED_BACK, EditStep.BROKEN))
    assert (end is EditStep.ROLLED_BACK) == ({EditStep.PUT_BACK, EditStep.RELOAD_BACK, EditStep.PROBE_BACK} <= well)


def edited(folder: Path, left: int, back: bool) -> int:
    """The exit code of a process that edits; it ends at the nth call that changes something on the disk, before it."""
    files = RemedyFiles((folder / "rendered", folder / "source"))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_CREAT)
        if written or event in ("os.rename", "os.remove", "os.truncate"):
            left -= 1
            if left < 0:
                os._exit(9)

    if (child := os.fork()) == 0:
        try:
            sys.addaudithook(hook)
            files.replace({files.paths[0]: "rendered new", files.paths[1]: "source new"})
            if back:
                files.put_back()
            files.forget()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def state(folder: Path) -> tuple[str | None, ...]:
    return tuple((folder / name).read_text() if (folder / name).exists() else None for name in ("rendered", "source"))


def test_an_edit_that_is_killed_at_any_call_leaves_one_of_two_states(tmp_path: Path) -> None:
    new = ("rendered new", "source new")
    befores: list[tuple[str | None, ...]] = [("rendered old", "source old"), (None, None), ("rendered old", None)]
    for (kind, before), back in product(enumerate(befores), (False, True)):
        seen, number, code = set(), 0, 9
        while code == 9:
            folder = tmp_path / f"{kind}{back}{number}"
            folder.mkdir()
            for name, text in zip(("rendered", "source"), before, strict=True):
                if text is not None:
                    (folder / name).write_text(text)
            code = edited(folder, number, back)
            files = RemedyFiles((folder / "rendered", folder / "source"))
            if files.cut_off:
                files.put_back()
                files.forget()
            seen.add(state(folder))
            assert state(folder) in (before, new)
            number += 1
        assert code == 0 and number > 8
        assert seen == ({before} if back else {before, new})


def test_mode_and_content_stay(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_text("old")
    path.chmod(0o640)
    files = RemedyFiles((path,))
    files.replace({path: "new"})
    assert (path.read_text(), path.stat().st_mode & 0o777, files.cut_off) == ("new", 0o640, True)
    files.put_back()
    files.forget()
    assert (path.read_text(), path.stat().st_mode & 0o777, files.cut_off) == ("old", 0o640, False)
    assert list(tmp_path.iterdir()) == [path]
