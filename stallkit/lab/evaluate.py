"""How right the verdicts on labelled cases are: counts, in the form that `stallkit eval --json` will print."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Iterable

from stallkit.core.engine import Engine
from stallkit.core.judge import judge
from stallkit.core.keys import Keys
from stallkit.core.signature import NEVER_ANSWERED, Certainty, State
from stallkit.core.verdict import Verdict
from stallkit.lab.corpus import Case
from stallkit.watch.policy import CAREFUL, DAEMON, Policy, Press

__all__ = ["evaluate"]


def evaluate(cases: Iterable[Case], engine: Engine) -> dict[str, Any]:
    """Verdicts on every case, counted against the labels: see the README of the corpus for what each figure means."""
    waiting, sure = Counter[str](), Counter[str]()
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: list[bool] = []
    pressed: dict[str, Counter[str]] = {policy.name: Counter() for policy in (CAREFUL, DAEMON)}
    misses: list[dict[str, Any]] = []
    for case in cases:
        verdict = judge(engine.detect(case.snapshot.screen), case.snapshot, case.history)
        truth, said = case.label.state is State.WAITING, verdict.state is State.WAITING
        waiting[_cell(truth, said)] += 1
        sure[_cell(truth, said and verdict.certainty is Certainty.SURE)] += 1
        confusion[case.label.state][verdict.state] += 1
        if truth and said:
            kinds.append(verdict.kind is case.label.kind)
        for policy in (CAREFUL, DAEMON):
            pressed[policy.name][_press(case, verdict, policy)] += 1
        if case.label.state is not verdict.state:
            misses.append(_miss(case, verdict))
    total = sum(waiting.values())
    right = sum(counts[state] for state, counts in confusion.items())
    return {
        "version": 1,
        "cases": total,
        "waiting": _scores(waiting),
        "sure": _scores(sure),
        "states": {"accuracy": _share(right, total), "confusion": {t: dict(c) for t, c in confusion.items()}},
        "kinds": {"accuracy": _share(sum(kinds), len(kinds))},
        "wrong_keys": {name: counts["wrong"] for name, counts in pressed.items()},
        "right_keys": {name: counts["right"] for name, counts in pressed.items()},
        "misses": misses,
    }


def _cell(truth: bool, said: bool) -> str:
    return ("t" if truth is said else "f") + ("p" if said else "n")


def _scores(cells: Counter[str]) -> dict[str, Any]:
    tp, fp, fn, tn = (cells[cell] for cell in ("tp", "fp", "fn", "tn"))
    return {
        "tp": tp, "fp": fp, "fn": fn, "tn": tn,
        "precision": _share(tp, tp + fp), "recall": _share(tp, tp + fn), "f1": _share(2 * tp, 2 * tp + fp + fn),
    }  # fmt: skip


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _press(case: Case, verdict: Verdict, policy: Policy) -> str:
    """What a policy would have done to a case: ``none``, ``right`` or ``wrong``."""
    decision = policy.decide(verdict)
    if not isinstance(decision, Press):
        return "none"
    label = case.label
    if label.state is not State.WAITING or label.kind in NEVER_ANSWERED:
        return "wrong"
    differs = label.dismissable_keys is not None and Keys.parse(" ".join(label.dismissable_keys)) != decision.keys
    return "wrong" if policy is CAREFUL and differs else "right"


def _miss(case: Case, verdict: Verdict) -> dict[str, Any]:
    match = verdict.match
    return {
        "id": case.id,
        "true": case.label.state,
        "predicted": verdict.state,
        "signature": f"{match.pack.name}:{match.signature.id}" if match else None,
        "reasons": list(verdict.reasons),
    }
