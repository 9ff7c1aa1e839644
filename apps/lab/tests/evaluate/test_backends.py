"""The figures are the same wherever cases are judged; what goes wrong with an engine is one error."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Iterable

import pytest
from attrs import evolve
from labelled import row, write
from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate import backends
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.corpus import items
from stallkit_lab.evaluate.prediction import judge_case
from terminals import read_of

from stallkit import Detection, Engine, Pack, Screen, State
from stallkit.errors import StallkitError

CORPORA = sorted((Path(__file__).parents[4] / "tests" / "corpus").glob("*.jsonl"))


def test_several_processes_say_the_same(tmp_path: Path) -> None:
    for how in [EvalOptions(), EvalOptions(screen_only=True), EvalOptions(holdout=True)]:
        some = tmp_path / "some.jsonl"  # of each corpus
        some.write_text(
            "".join(line for path in CORPORA for line in path.read_text("utf-8").splitlines(True)[::16]), "utf-8"
        )
        broken = write(tmp_path / "broken.jsonl", row("a"), "{", row("b"), row("c", state="none"))
        paths = [some, broken]
        packs = Engine.default().packs
        done: list[int] = []
        alone = evaluate_paths(paths, packs, how)
        many = evaluate_paths(paths, packs, evolve(how, jobs=2), done.append)
        assert many.as_object(["program"]) == alone.as_object(["program"]), how
        assert many.predictions == alone.predictions and len(many.problems) == 2, how
        assert sum(done) == len(alone.predictions) + 2, how


def test_chunks_are_read_ahead_only_so_far(tmp_path: Path) -> None:
    """A corpus may be larger than memory."""
    path = write(tmp_path / "c.jsonl", *(row(str(n)) for n in range(40 * backends.CHUNK)))
    settings = backends.Settings(())
    read = 0

    def counted() -> object:
        nonlocal read
        for item in items(path, []):
            read += 1
            yield item

    answers = backends.on_processes(settings, counted(), 2)
    next(answers)
    assert backends.CHUNK <= read < 20 * backends.CHUNK
    answers.close()


def test_a_worker_that_dies_is_one_error(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", *(row(str(n)) for n in range(40 * backends.CHUNK)))
    answers = backends.on_processes(backends.Settings(()), items(path, []), 1)
    next(answers)
    (worker,) = _children()
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(StallkitError, match="it ended early"):
        list(answers)


def _children() -> list[int]:
    """The spawned workers of this process; the resource tracker of multiprocessing is another child."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"spawn_main" in read_of(int(pid), "cmdline"):
                found.append(int(pid))
    return found


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(StallkitError, match=r"pip install 'stallkit-lab\[cluster\]'"):
        list(backends.on_cluster(backends.Settings(()), [], "127.0.0.1:1"))


class Hurried(Engine):
    """An engine whose first looks run out of their budget, as when other threads spend it."""

    def __init__(self, packs: Iterable[Pack], hurried: int) -> None:
        super().__init__(packs)
        self.hurried = hurried

    def detect(self, screen: Screen, since: Detection | None = None) -> Detection:
        self.hurried -= 1
        if self.hurried >= 0:
            rule = self.rules[0]
            return Detection(screen, undecided=((rule, rule.signature.all_of[0]),))
        return super().detect(screen, since)


def test_a_pattern_that_ran_out_of_its_budget_is_tried_again() -> None:
    for hurried, told in [(0, State.WAITING), (1, State.WAITING), (99, State.UNKNOWN)]:
        case = Line("c", 1, json.dumps(row("a")).encode()).read()
        assert judge_case(case, Hurried(Engine.default().packs, hurried)).state is told, (hurried, told)


def test_garbage_without_end_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "NAMED", 3)
    path = write(tmp_path / "c.jsonl", *["zzz"] * 5, row("a"))
    found = evaluate_paths([path], (), EvalOptions())
    assert len(found.predictions) == 1
    assert [problem.partition(":")[0] for problem in found.problems[:3]] == [f"corpus case {path}"] * 3
    assert found.problems[3:] == ("2 more cases cannot be read",)
