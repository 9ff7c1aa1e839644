"""How right the bundled packs are on the corpora of this repository: the tables of docs/accuracy.md.

    python benchmarks/accuracy.py corpora|programs|kinds|gaps|first

Each corpus is judged with all that was captured beside the screen, the same without the signatures that name only the
program at hand (*left out*), and from the screen alone.  `first` judges sets of screens by the packs as they were
before anybody had written a pattern for them, from git's history.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from importlib import resources
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.corpus import load
from stallkit_lab.evaluate.evaluation import tally
from stallkit_lab.evaluate.holdout import installed_package_dirs
from stallkit_lab.evaluate.prediction import Prediction, judge_case
from stallkit_lab.matrix import matrix

from stallkit.detect.signature import Certainty, Kind
from stallkit.evidence.claim import SILENT
from stallkit.packs.registry import installed, installed_engine

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "tests" / "corpus"
FACTS, LEFT_OUT, SCREEN = EvalOptions(), EvalOptions(holdout=True), EvalOptions(screen_only=True)
AGENTS = ("agent_clis", "claude_code")  # the packs that name agents
FIGURES = ("P", "R", "states")

# Sets that nobody had seen: the date, how many programs, the revision of the packs, and where the screens are.
FIRST = {
    "layout": ("2026-11-27", 5, "cfdc24a3", ("09d512c9:tests/corpus/unseen/layout-agents-aside.jsonl",)),
    "later": ("2026-11-28", 10, "02d25b0c", ("15f984d4:tests/corpus/unseen/later-agents-aside.jsonl",)),
    "next": (
        "2026-11-28",
        12,
        "87563a72",
        (
            "8f74518d:tests/corpus/unseen/next-agents.jsonl",
            "dbab7593:tests/corpus/unseen/next-agents-aside.jsonl",
        ),
    ),
}


def judged(paths: Sequence[Path], how: EvalOptions) -> tuple[Prediction, ...]:
    return evaluate_paths(paths, installed().packs, how).predictions


def own() -> list[Path]:
    """The corpora of programs for which patterns were written."""
    return sorted(CORPORA.glob("*.jsonl"), key=lambda one: (one.stem.startswith("captured"), one.name))


def figures(cases: Iterable[Prediction]) -> list[str]:
    """P, R and states, as a table shows them."""
    found = tally(tuple(cases))
    values = (found["waiting"]["precision"], found["waiting"]["recall"], found["states"]["accuracy"])
    return ["" if one is None else f"{one:.3f}" for one in values]


def sure(cases: Iterable[Prediction]) -> str:
    """How many of the sure verdicts are right."""
    found = [one.right for one in cases if one.certainty is Certainty.SURE]
    return f"{sum(found):,} of {len(found):,}"


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*names: str) -> Iterator[str]:
    yield row(*names)
    yield "| --- " * len(names) + "|"


def corpora() -> Iterator[str]:
    """A row for each corpus; what was kept aside of a set stands with the set."""
    sets: dict[str, list[Path]] = defaultdict(list)
    for path in (*own(), *sorted(CORPORA.glob("unseen/*.jsonl"))):
        sets[path.stem.removesuffix("-aside")].append(path)
    yield from head("corpus", "cases", *FIGURES, "own left out: P", *FIGURES[1:], "screen alone: P", *FIGURES[1:])
    every: list[Prediction] = []
    for name, paths in sets.items():
        looks = [judged(paths, how) for how in (FACTS, LEFT_OUT, SCREEN)]
        every += looks[0]
        yield row(name, len(looks[0]), *(figure for cases in looks for figure in figures(cases)))
    wrong = sum("wrong" in one.pressed for one in every)
    yield f"\nOf the sure verdicts {sure(every)} are right. Wrong keys that a policy would press: {wrong}."


def programs() -> Iterator[str]:
    """A row for each agent that a pack names, and for each program that is not always right."""
    named = {
        one.program
        for one in matrix([one for one in installed().packs if one.name in AGENTS], installed_package_dirs())
    }
    cases: dict[str, list[list[Prediction]]] = defaultdict(lambda: [[], []])
    for side, how in enumerate((FACTS, LEFT_OUT)):
        for one in judged(own(), how):
            cases[one.program][side].append(one)
    yield from head("program", "cases", *FIGURES, *(f"left out: {name}" for name in FIGURES[:2]))
    perfect = [0, 0]
    for program, (facts, left_out) in sorted(cases.items()):
        if program in named or not all(one.right for one in facts):
            yield row(program, len(facts), *figures(facts), *figures(left_out)[:2])
        else:
            perfect = [perfect[0] + 1, perfect[1] + len(facts)]
    yield f"\nAll other programs ({perfect[0]}, with {perfect[1]:,} cases) are right in each case with all signatures."


def kinds() -> Iterator[str]:
    """How many of the prompts of a kind are seen as waiting, and of how many the kind is exact."""
    facts, left_out = judged(own(), FACTS), judged(own(), LEFT_OUT)
    yield from head("kind", "prompts", "seen", "kind right", "own left out")
    for kind in Kind:
        prompts, others = ([one for one in cases if one.waits and one.true_kind is kind] for cases in (facts, left_out))
        if prompts:
            right = (sum(one.said and one.kind is kind for one in cases) for cases in (prompts, others))
            yield row(kind, len(prompts), sum(one.said for one in prompts), *right)


def gaps() -> Iterator[str]:
    """Screens that the packs' tests expect to be judged wrongly."""
    for pack in installed().packs:
        root = resources.files(f"stallkit_{pack.name}") / "screens"
        for folder in sorted(root.iterdir(), key=lambda one: one.name) if root.is_dir() else ():
            for file in sorted(folder.iterdir(), key=lambda one: one.name):
                if file.name.startswith("todo-"):
                    yield f"* `{pack.name}:{folder.name}`: `{file.name}`"


def first() -> Iterator[str]:
    """A row for each set of `FIRST`."""
    asked = (*FIGURES, "sure right")
    yield from head("set", "judged on", "programs", "cases", *asked, f"not by form: {asked[0]}", *asked[1:])
    for name, (day, count, revision, places) in FIRST.items():
        with tempfile.TemporaryDirectory() as folder:
            then, screens = Path(folder, "packs"), []
            then.mkdir()
            archive = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=True)
            subprocess.run(["tar", "x"], cwd=then, input=archive.stdout, check=True)
            for number, place in enumerate(places):
                screens.append(Path(folder, f"{number}.jsonl"))
                screens[-1].write_bytes(subprocess.check_output(["git", "show", place], cwd=ROOT))
            path = os.pathsep.join(map(str, (then, *then.glob("plugins/*/src"), *then.glob("apps/*/src"))))
            environment = {**os.environ, "PYTHONPATH": path, "STALLKIT_CACHE": "off"}
            words = [sys.executable, str(Path(__file__)), "judge", *map(str, screens)]
            told = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            yield row(name, day, count, *told.strip().split("\t"))


def judge(files: Sequence[str]) -> Iterator[str]:
    """The figures of some files, for `first`, which asks other packs than those of today."""
    engine, cases = installed_engine(), [case for file in files for case in load(Path(file), [])]
    by_form, without = ([judge_case(one, engine, classifier) for one in cases] for classifier in (None, SILENT))
    yield "\t".join([str(len(cases)), *figures(by_form), sure(by_form), *figures(without), sure(without)])


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    tables = {one.__name__: one for one in (corpora, programs, kinds, gaps, first)}
    print("\n".join(judge(words) if verb == "judge" else tables[verb]()))
