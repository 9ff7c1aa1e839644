"""Floors under the measured accuracy of the bundled packs: what falls below one was made worse (docs/accuracy.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import pytest
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.evaluation import tally
from stallkit_lab.evaluate.prediction import Prediction

from stallkit.detect.signature import NEVER_ANSWERED
from stallkit.packs.registry import installed

CORPORA = Path(__file__).parents[1] / "corpus"


def judged(corpus: str, *how: str) -> Sequence[Prediction]:
    settings = EvalOptions(screen_only="screen only" in how, holdout="left out" in how)
    found = evaluate_paths([CORPORA / f"{corpus}.jsonl"], installed().packs, settings)
    assert not found.problems
    return found.predictions


@pytest.mark.parametrize(
    ("corpus", "how", "floors"),
    [
        ("agents", ["screen only"], {"precision": 0.99, "recall": 0.98, "states": 0.98}),
        ("cli", ["screen only"], {"precision": 0.98, "recall": 0.95}),
        ("cli", [], {"precision": 0.98, "recall": 0.99, "sure": 0.90}),
        ("agents", ["screen only", "left out"], {"precision": 0.95, "recall": 0.90, "states": 0.94}),
        ("cli", ["screen only", "left out"], {"precision": 0.92, "recall": 0.86}),
        ("cli", ["left out"], {"precision": 0.97, "recall": 0.975, "sure": 0.90}),
        ("captured-agent_clis", ["screen only"], {"precision": 0.99, "recall": 0.98, "states": 0.97}),
        ("captured-agent_clis", ["screen only", "left out"], {"precision": 0.95, "recall": 0.90}),
        ("captured-claude_code", ["screen only"], {"precision": 0.98, "recall": 0.98, "states": 0.98}),
        ("captured-node_prompts", [], {"precision": 0.99, "recall": 0.99, "sure": 0.89}),
        ("captured-shell", [], {"precision": 0.99, "recall": 0.99, "sure": 0.88}),
        # Agents that no pack names.  Signatures of form were written on these screens, on the second set only after it
        # was measured once.
        ("unknown-agents", [], {"precision": 0.96, "recall": 0.98, "states": 0.97}),
        ("unknown-agents", ["screen only"], {"precision": 0.91, "recall": 0.97, "states": 0.95}),
        ("unknown-agents-aside", [], {"precision": 0.92, "recall": 0.92, "states": 0.95}),
        ("unseen/unseen-agents", [], {"precision": 0.97, "recall": 0.98, "states": 0.96}),
        ("unseen/unseen-agents-aside", [], {"precision": 0.94, "recall": 0.94, "states": 0.95}),
        ("unseen/newest-agents", [], {"precision": 0.92, "recall": 0.98, "states": 0.97}),
        ("unseen/newest-agents", ["screen only"], {"precision": 0.92, "recall": 0.98, "states": 0.97}),
        # Sure by a blocked read counts reads alone, as a look does; until then whoever watched its terminal counted.
        ("unseen/unseen-classic", [], {"precision": 0.97, "recall": 0.98, "states": 0.98, "sure": 0.76}),
        ("unseen/unseen-classic", ["screen only"], {"precision": 0.97, "recall": 0.89, "states": 0.93}),
        ("unseen/unseen-classic-aside", [], {"precision": 0.97, "recall": 0.97, "states": 0.97, "sure": 0.75}),
        ("unseen/unseen-classic-aside", ["screen only"], {"precision": 0.96, "recall": 0.92, "states": 0.94}),
    ],
)
def test_figures_stay_above_their_floors(corpus: str, how: list[str], floors: dict[str, float]) -> None:
    cases = judged(corpus, *how)
    found = tally(cases)
    figures = {**found["waiting"], "states": found["states"]["accuracy"], "sure": found["sure"]["recall"]}
    assert {name: figures[name] for name, floor in floors.items() if figures[name] < floor} == {}
    assert found["sure"]["precision"] in (None, 1.0), "what is said surely is true"
    assert found["wrong_keys"] == {"careful": 0, "daemon": 0}


@pytest.mark.parametrize("how", [[], ["screen only"]], ids=str)
@pytest.mark.parametrize("corpus", [path.stem for path in sorted(CORPORA.glob("*.jsonl"))])
def test_kinds_are_told_in_four_groups_and_a_secret_is_never_taken_for_anything_else(
    corpus: str, how: list[str]
) -> None:
    seen = [one for one in judged(corpus, *how) if one.waits and one.said and one.true_kind]
    assert sum(not one.same_sort for one in seen) <= max(1, 0.07 * len(seen))
    assert [one.id for one in seen if one.true_kind in NEVER_ANSWERED and one.kind not in NEVER_ANSWERED] == []
