"""An evaluation compared with an earlier one: what changed, and whether that is a regression.

Pure but for `save` and `read`.  Figures are compared over the cases that both have: a corpus that grows by hard cases
is not a regression.  Cases are identified by their redacted ids; a repeated id is numbered.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from attrs import frozen

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import StoreError
from stallkit.redact.redact import redact, redact_all
from stallkit_lab.evaluate.evaluation import tally
from stallkit_lab.evaluate.prediction import POLICIES, Prediction

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
