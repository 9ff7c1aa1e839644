"""Learns from the labelled screens of tests/corpus what screens look like: the weights of plugins/form.

    python -m pip install -r requirements/train.txt
    python scripts/train_classifier.py              # a minute; writes the file
    python scripts/train_classifier.py --folds 20   # how right it is on programs that it has not learnt from; minutes

Each screen is looked at twice, with all its facts and alone, and judged without the signatures that name only its
program (``stallkit eval --leave-out program``): what the classifier is asked then, it learns.  Half of what it learns
is without what the signatures said, so that it does not only believe those.  A program counts by the square root of its
screens.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen
from scipy.sparse import vstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from stallkit_form.claim import SORTS, STATES, asked, form_claim
from stallkit_form.regression import parse
from stallkit_lab.corpus_lines import Case, Line
from stallkit_lab.evaluate.evaluation import tally
from stallkit_lab.evaluate.holdout import installed_package_dirs, left_out, named_by, spellings
from stallkit_lab.evaluate.prediction import SORTS as KINDS
from stallkit_lab.evaluate.prediction import judge_case

from stallkit.detect.composer import talks
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Kind
from stallkit.evidence.claim import Claim
from stallkit.evidence.look import Look
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "tests" / "corpus"
WEIGHTS = ROOT / "plugins" / "form" / "src" / "stallkit_form" / "weights.tsv"
SORT_OF = {kind: sort for sort, kinds in zip(SORTS, KINDS, strict=True) for kind in kinds}

PROGRAMS = 3  # a feature has to be seen in: of fewer it may be a name
SEALED = frozenset({"newest-agents-aside", "next-agents-aside"})  # nothing is learnt from them
STRENGTH = 0.3  # of what holds the weights small: smaller is stronger
SIGNATURES = ("judged ", "matched ", "talks, judged ", "talks, matched ")  # features of what signatures said
CHATS = 2  # times as much counts a screen that talks: of those there are fewer
SEED = 20261124


@frozen
class Example:
    """One look at a case, and the features by which the classifier is to tell it."""

    corpus: str
    program: str
    case: Case
    features: frozenset[str]

    @property
    def state(self) -> str:
        return str(self.case.label.state)

    @property
    def sort(self) -> str | None:
        kind = self.case.label.kind
        return SORT_OF.get(kind) if isinstance(kind, Kind) else None


@cache
def engine_without(signatures: frozenset[str]) -> Engine:
    return Engine(
        evolve(pack, signatures=[one for one in pack.signatures if f"{pack.name}:{one.id}" not in signatures])
        for pack in installed().packs
    )


@cache
def engine_for(program: str) -> Engine:
    return engine_without(left_out(program, named_by(installed().packs, installed_package_dirs())))


def cases() -> Iterator[tuple[str, Case]]:
    """All labelled screens, with the names of their corpora; those of ended turns are told by other means."""
    for path in sorted(CORPORA.rglob("*.jsonl")):
        if path.parent.name != "turns" and path.stem not in SEALED:
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                yield path.stem, Line(str(path), number, line).read()


def features_of(case: Case) -> frozenset[str]:
    """What the classifier is asked about a case; nothing if it is not asked."""
    found: frozenset[str] = frozenset()

    def note(look: Look, shown: Verdict, /) -> Claim | None:
        nonlocal found
        found = asked(look, shown)
        return None

    judge_case(case, engine_for(case.program), note)
    return found


def examples_of(corpus: str, case: Case) -> Iterator[Example]:
    """The case with all its facts, and its screen alone."""
    for look in (case, case.screen_only):
        if features := features_of(look):
            yield Example(corpus, min(spellings(case.program), default=""), look, features)


def known(examples: Sequence[Example]) -> frozenset[str]:
    """The features that enough programs have."""
    seen = defaultdict(set)
    for one in examples:
        for feature in one.features:
            seen[feature].add(one.program)
    return frozenset(feature for feature, programs in seen.items() if len(programs) >= PROGRAMS)


def learnt(examples: Sequence[Example]) -> str:
    """What can be learnt from these, as a table: the states, and beside them the sorts of what waits."""
    kept = known(examples)
    columns = DictVectorizer()
    columns.fit([dict.fromkeys(kept, 1.0)])
    names = columns.get_feature_names_out()
    told = [one for one in examples if one.state in STATES]
    states = _fitted(told, columns, kept, [one.state for one in told], [str(one) for one in STATES])
    sorted_ = [one for one in examples if one.sort is not None and one.state == "waiting"]
    sorts = _fitted(sorted_, columns, kept, [str(one.sort) for one in sorted_], list(SORTS))
    weights = np.hstack([states, sorts])  # a row for each feature, above them where they start
    rows = ["\t".join(["", *map(str, STATES), *SORTS]), "\t".join(["", *map(str, weights[0])])]
    rows += ["\t".join([name, *map(str, row)]) for name, row in zip(names, weights[1:], strict=True) if row.any()]
    return "\n".join(rows) + "\n"


def _fitted(
    examples: Sequence[Example], columns: DictVectorizer, kept: frozenset[str], truth: list[str], classes: list[str]
) -> Any:
    """Weights in hundredths: a row of where the classes start, then one for each feature."""
    whole = columns.transform([dict.fromkeys(one.features & kept, 1.0) for one in examples])
    by_form = [{name: 1.0 for name in one.features & kept if not name.startswith(SIGNATURES)} for one in examples]
    count = Counter(one.program for one in examples)
    weight = np.array(
        [count[one.program] ** -0.5 * (CHATS if talks(one.case.snapshot.screen) else 1) for one in examples]
    )
    weight *= len(examples) / weight.sum()
    model = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3)
    model.fit(vstack([whole, columns.transform(by_form)]), truth * 2, sample_weight=np.tile(weight / 2, 2))
    order = [list(model.classes_).index(one) for one in classes]
    found = np.vstack([model.intercept_, model.coef_.T])[:, order]
    return np.rint(found * 100).astype(int)


def held_out(examples: Sequence[Example], folds: int) -> None:
    """Print how right all of it is on each corpus, where no program is judged by what was learnt from it."""
    programs = sorted({one.program for one in examples})
    random.Random(SEED).shuffle(programs)
    fold = {program: number % folds for number, program in enumerate(programs)}
    predictions = defaultdict(list)
    everything = list(cases())
    for number in range(folds):
        regression = parse(learnt([one for one in examples if fold[one.program] != number]))
        classifier = partial(form_claim, regression=regression)
        for corpus, case in everything:
            if fold.get(min(spellings(case.program), default=""), 0) == number:
                for look, name in ((case, "facts"), (case.screen_only, "alone")):
                    found = judge_case(look, engine_for(case.program), classifier)
                    predictions[corpus, name].append(found)
        print(f"{number + 1} of {folds} parts", file=sys.stderr)
    for (corpus, name), found in list(predictions.items()):
        if corpus.endswith("-aside"):  # and both parts of a set together
            whole = predictions[corpus.removesuffix("-aside"), name]
            predictions[corpus.removesuffix("-aside") + ", all", name] = [*whole, *found]
    for (corpus, name), found in sorted(predictions.items()):
        figures = tally(found)
        waits, sure = figures["waiting"], figures["sure"]
        said = [one for one in found if one.waits and one.said and one.true_kind]
        told = [waits["precision"], waits["recall"], figures["states"]["accuracy"], sure["precision"], sure["recall"]]
        told.append(sum(one.same_sort for one in said) / len(said) if said else None)
        wrong = sum(figures["wrong_keys"].values())
        shown = " ".join("  -  " if one is None else f"{one:.3f}" for one in told)
        print(f"{corpus:24}{name}  P R states sureP sureR groups: {shown}  wrong keys {wrong}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=WEIGHTS, metavar="FILE")
    parser.add_argument(
        "--folds", type=int, metavar="N", help="learn N times, each time without an N-th of all programs"
    )
    options = parser.parse_args()
    examples = [example for corpus, case in cases() for example in examples_of(corpus, case)]
    if options.folds:
        held_out(examples, options.folds)
        return
    table = learnt(examples)
    options.output.write_text(table, encoding="utf-8")
    print(f"{options.output}: {table.count(chr(10)) - 2} features of {len(examples)} looks")


if __name__ == "__main__":
    main()
