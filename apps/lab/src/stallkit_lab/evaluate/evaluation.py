"""How right the verdicts on labelled cases are: counts, as ``stallkit eval --json`` prints them, and what changed.

Figures are compared over the cases that both have: a corpus that grows by hard cases is not a regression.  Cases are
identified by their redacted ids; a repeated id is numbered.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from attrs import frozen

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import StoreError
from stallkit.redact.redact import redact, redact_all
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate.prediction import POLICIES, Prediction, judge_case

# --- how good a yes/no answer is ---

Z = 1.959964  # the 97.5 % point of the normal distribution: intervals hold 95 % of the time
_DIGITS = 4


@frozen
class Cells:
    """Right (tp) and wrong (fp) answers *yes*, and wrong (fn) and right (tn) answers *no*."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def count(cls, pairs: Iterable[tuple[bool, bool]]) -> Cells:
        """From pairs of (truth, answer)."""
        counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
        for truth, said in pairs:
            counts[truth, said] += 1
        return cls(*counts.values())

    @property
    def precision(self) -> float | None:
        """The share of positive answers that are right."""
        return share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """The share of positive cases that were found."""
        return share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def f1_interval(self) -> list[float] | None:
        """The interval of F1.

        F1 itself counts true positives twice and is not a proportion, but it is 2s / (1 + s) of one: s, the true
        positives among all cases that are positive or judged so.  That grows with s: bounds of s give bounds of F1.
        """
        bounds = wilson(self.tp, self.tp + self.fp + self.fn)
        return bounds and [round(2 * bound / (1 + bound), _DIGITS) for bound in bounds]

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit eval --json`` prints them."""
        return {
            "tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn,
            "precision": self.precision, "recall": self.recall, "f1": self.f1,
            "precision_interval": wilson(self.tp, self.tp + self.fp),
            "recall_interval": wilson(self.tp, self.tp + self.fn),
            "f1_interval": self.f1_interval,
        }  # fmt: skip


def share(part: int, whole: int) -> float | None:
    """The share, or None of an empty whole."""
    return round(part / whole, _DIGITS) if whole else None


def wilson(part: int, whole: int) -> list[float] | None:
    """Wilson's score interval (1927) of a proportion, 95 %: unlike the textbook one it holds near 0 and 1.

    >>> wilson(0, 10), wilson(10, 10)
    ([0.0, 0.2775], [0.7225, 1.0])
    """
    if not whole:
        return None
    rate, square = part / whole, Z * Z / whole
    middle = rate + square / 2
    reach = Z * math.sqrt((rate * (1 - rate) + square / 4) / whole)
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return [round(max(0.0, low), _DIGITS), round(min(1.0, high), _DIGITS)]


def evaluate(cases: Iterable[Case], engine: Engine) -> dict[str, Any]:
    """Verdicts on every case, counted against the labels; docs/measure.md says what each figure means."""
    return tally([judge_case(case, engine) for case in cases])


def tally(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """The figures over cases that were judged already.

    `kinds` counts cases that wait and were judged waiting; a figure over no cases is None.
    """
    states: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for one in predictions:
        states[one.true_state][one.state] += 1
        if one.waits and one.said:
            kinds[one.true_kind or "none"][one.kind or "none"] += 1
    return {
        "version": 1,
        "cases": len(predictions),
        "waiting": _waiting(predictions).as_object(),
        "sure": Cells.count((one.waits, one.surely) for one in predictions).as_object(),
        "states": _confusion(states),
        "kinds": _confusion(kinds),
        "wrong_keys": _pressed(predictions, "wrong"),
        "right_keys": _pressed(predictions, "right"),
        "misses": [as_miss(one) for one in predictions if not one.right],
    }


def as_miss(one: Prediction) -> dict[str, Any]:
    """One case with a wrong state or a wrong key, as ``--json`` prints it."""
    return {
        **one.as_object(),
        "signature": one.signature,
        "hard": one.hard,
        "wrong_keys": wrong_keys(one),
        "reasons": list(one.reasons),
    }


def worst(predictions: Iterable[Prediction], count: int) -> dict[str, list[dict[str, Any]]]:
    """The gravest errors: keys pressed wrongly, prompts seen where there is none, prompts not seen.

    First those with a wrong key, then those judged *sure*, then those that the label does not call hard.
    """
    ranked = sorted(predictions, key=lambda one: (not wrong_keys(one), one.certainty is not Certainty.SURE, one.hard))
    return {
        "wrong_keys": [as_miss(one) for one in ranked if wrong_keys(one)][:count],
        "false_positives": [as_miss(one) for one in ranked if one.said and not one.waits][:count],
        "false_negatives": [as_miss(one) for one in ranked if one.waits and not one.said][:count],
    }


# What cases can be grouped by; the true kind, where it waits, else the true state.  Names become keys of the JSON, and
# the redactor leaves those alone.
GROUPS: dict[str, Callable[[Prediction], str]] = {
    "kind": lambda one: str(one.true_kind or one.true_state),
    "program": lambda one: redact(one.program) or "unknown",
    "signature": lambda one: one.signature or "none",
}


# The figures that make sense for a group: one of a true kind has no false alarm, one of verdicts no missed prompt.
GROUP_FIGURES: dict[str, tuple[str, ...]] = {
    "kind": (),
    "program": ("precision", "recall", "f1"),
    "signature": ("precision",),
}


def groups(predictions: Iterable[Prediction], by: str) -> dict[str, dict[str, Any]]:
    """The figures of each group, in the order of their names: `by` is one of `GROUPS`."""
    members: dict[str, list[Prediction]] = defaultdict(list)
    for one in predictions:
        members[GROUPS[by](one)].append(one)
    return {name: _group(members[name]) for name in sorted(members)}


def _group(predictions: Sequence[Prediction]) -> dict[str, Any]:
    told = [one.kind is one.true_kind for one in predictions if one.waits and one.said]
    return {
        "cases": len(predictions),
        "waiting": _waiting(predictions).as_object(),
        "states": _accuracy(sum(one.right for one in predictions), len(predictions)),
        "kinds": _accuracy(sum(told), len(told)),
        "wrong_keys": _pressed(predictions, "wrong"),
    }


def _waiting(predictions: Iterable[Prediction]) -> Cells:
    return Cells.count((one.waits, one.said) for one in predictions)


def _confusion(counts: dict[str, Counter[str]]) -> dict[str, Any]:
    right = sum(row[name] for name, row in counts.items())
    total = sum(sum(row.values()) for row in counts.values())
    return {**_accuracy(right, total), "confusion": {name: dict(row) for name, row in counts.items()}}


def _accuracy(right: int, total: int) -> dict[str, Any]:
    return {"accuracy": share(right, total), "interval": wilson(right, total)}


def _pressed(predictions: Iterable[Prediction], how: str) -> dict[str, int]:
    counts = Counter(
        policy.name for one in predictions for policy, did in zip(POLICIES, one.pressed, strict=True) if did == how
    )
    return {policy.name: counts[policy.name] for policy in POLICIES}


def wrong_keys(one: Prediction) -> list[str]:
    """The policies that would have pressed a wrong key."""
    return [policy.name for policy, did in zip(POLICIES, one.pressed, strict=True) if did == "wrong"]


# --- two results side by side ---

# The headline figures: none of them may fall.
FIGURES: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "waiting precision": lambda result: result["waiting"]["precision"],
    "waiting recall": lambda result: result["waiting"]["recall"],
    "waiting F1": lambda result: result["waiting"]["f1"],
    "sure precision": lambda result: result["sure"]["precision"],
    "sure recall": lambda result: result["sure"]["recall"],
    "states right": lambda result: result["states"]["accuracy"],
    "kinds right": lambda result: result["kinds"]["accuracy"],
}


@frozen
class Comparison:
    """What changed since a baseline; `regressions` lists what is worse, in words.

    `figures` and `wrong_keys` are pairs of then and now, over the cases that both have.
    """

    became_right: tuple[str, ...]
    became_wrong: tuple[str, ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    figures: dict[str, tuple[float | None, float | None]]
    wrong_keys: dict[str, tuple[int, int]]
    settings: tuple[str, ...]  # in which the two differ
    regressions: tuple[str, ...]


def compare(
    baseline: dict[str, Any],
    predictions: Sequence[Prediction],
    tolerance: float = 0.0,
    settings: dict[str, Any] | None = None,
) -> Comparison:
    """What changed since `baseline`, as `read` returns it.

    Worse is: one more wrong key; a headline figure that fell by more than `tolerance`; and, with a tolerance of 0, any
    case that was right and is wrong.
    """
    then, now = _by_id(_restored(row) for row in baseline["verdicts"]), _by_id(predictions)
    both = [id for id in now if id in then]
    before, after = tally([then[id] for id in both]), tally([now[id] for id in both])
    figures = {name: (figure(before), figure(after)) for name, figure in FIGURES.items()}
    keys = {name: (before["wrong_keys"][name], after["wrong_keys"][name]) for name in before["wrong_keys"]}
    wrong = tuple(id for id in both if then[id].right and not now[id].right)
    worse = [f"wrong keys of policy {name}: {old} became {new}" for name, (old, new) in keys.items() if new > old]
    worse += [
        f"{name}: {old} became {new}"
        for name, (old, new) in figures.items()
        if old is not None and new is not None and round(old - new, 6) > tolerance
    ]
    if tolerance == 0:
        worse += [f"became wrong: {id}, {now[id].true_state} judged {now[id].state}" for id in wrong]
    return Comparison(
        became_right=tuple(id for id in both if now[id].right and not then[id].right),
        became_wrong=wrong,
        appeared=tuple(id for id in now if id not in then),
        vanished=tuple(id for id in then if id not in now),
        figures=figures,
        wrong_keys=keys,
        settings=_differences(baseline.get("settings") or {}, settings or {}),
        regressions=tuple(worse),
    )


def _differences(before: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    names = [name for name in now if name in before and before[name] != now[name]]
    return tuple(f"{name}: {before[name]} became {now[name]}" for name in names)


def _by_id(predictions: Iterable[Prediction]) -> dict[str, Prediction]:
    seen: Counter[str] = Counter()
    found = {}
    for one in predictions:
        id = redact(one.id)
        seen[id] += 1
        found[id if seen[id] == 1 else f"{id}#{seen[id]}"] = one
    return found


def save(path: Path, result: dict[str, Any], predictions: Iterable[Prediction]) -> None:
    """Write a result with each case's verdict, redacted; whole or not at all.  Raises OSError."""
    content = json.dumps(redact_all({**result, "verdicts": [_row(one) for one in predictions]}), indent=1)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(content + "\n", encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any]:
    """The inverse of `save`.  Raises OSError, and StoreError for a file that it did not write."""
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict) or found.get("version") != 1:
            raise ValueError("it is not an evaluation of version 1")
        for row in found["verdicts"]:
            _restored(row)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise StoreError("baseline", str(path), why, "write it again with stallkit eval --save") from error
    return found


def _row(one: Prediction) -> dict[str, Any]:
    pressed = {policy.name: did for policy, did in zip(POLICIES, one.pressed, strict=True)}
    return {**one.as_object(), "pressed": pressed}


def _restored(row: dict[str, Any]) -> Prediction:
    return Prediction(
        id=row["id"],
        program=row["program"],
        true_state=State(row["true"]),
        true_kind=row["true_kind"] and Kind(row["true_kind"]),
        state=State(row["predicted"]),
        kind=row["predicted_kind"] and Kind(row["predicted_kind"]),
        certainty=Certainty(row["certainty"]),
        pressed=tuple(row["pressed"].get(policy.name, "none") for policy in POLICIES),
    )
