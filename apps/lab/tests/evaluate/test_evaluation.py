"""The figures count what they say, and a key is called wrong for each reason that docs/measure.md gives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from labelled import BUSY, READS, row
from looks import ONE_LINE
from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate.corpus import load
from stallkit_lab.evaluate.evaluation import GROUPS, Cells, evaluate, groups, share, tally, wilson, worst
from stallkit_lab.evaluate.prediction import Prediction, judge_case

from stallkit import Clause, Dismissal, Engine, Kind, Pack, Signature, State
from stallkit.detect.signature import Certainty

CORPORA = sorted((Path(__file__).parents[4] / "tests" / "corpus").glob("*.jsonl"))


def asking(keys: str, severity: str = "low", pack: str = "setups", id: str = "ask") -> Engine:
    """An engine of one dialog, sure at one look, whose answer is `keys`: setup's own, or in another pack anybody's."""
    one = Signature(
        id=id, title="asks", state="waiting", kind="confirm", severity=severity, all_of=[Clause(text="Proceed")],
        dismissal=Dismissal(keys=keys), dialog=ONE_LINE,
    )  # fmt: skip
    own = ["setup"] if pack == "setups" else []
    return Engine([Pack(pack, foreground=own, signatures=[one]), Pack("agents", foreground=["setup"])])


def pressed(engine: Engine, **label: Any) -> tuple[str, str]:
    """What careful and daemon do at a screen of this label."""
    told = {f"label_{key}": value for key, value in label.items() if key != "state"}
    data = row("a", state=label.get("state", "waiting"), **told, **READS)
    careful, daemon = judge_case(Line("c", 1, json.dumps(data).encode()).read(), engine).pressed
    return careful, daemon


YES, ENTER, SPACE = asking("y Enter"), asking("Enter"), asking("Space")
ALLOWED, UNLISTED = (asking("y Enter", "medium", "shell_yn", name) for name in ("yes_no", "another"))
BOTH, NEITHER, WRONG, OF_DAEMON = ("right", "right"), ("none", "none"), ("wrong", "wrong"), ("wrong", "right")
CONFIRM, PRESS_KEY = {"kind": "confirm"}, {"kind": "press_key"}


def test_what_a_policy_presses_is_right_or_wrong_by_the_label() -> None:
    elsewhere = [state for state in State if state not in (State.WAITING, State.UNKNOWN)]
    persons = ["secret", "login", "permission", "plan_approval", "question"]
    tried: list[tuple[Engine, dict[str, Any], tuple[str, str]]] = [
        # A program's own dialogs of severity low are pressed under both policies.
        (YES, CONFIRM, BOTH),
        (asking("y Enter", severity="medium"), CONFIRM, NEITHER),
        (asking("y Enter", severity="high"), CONFIRM, NEITHER),
        # A prompt that any program may show is pressed where a rule names it.
        (ALLOWED, CONFIRM, ("none", "right")),
        (UNLISTED, CONFIRM, NEITHER),
        # A key is wrong where nothing waits, and at what no policy presses at.
        *((YES, {"state": state}, WRONG) for state in elsewhere),
        *((YES, {"kind": kind, "dismissable_keys": ["y", "Enter"]}, WRONG) for kind in persons),
        # The careful policy keeps to the way out that is given, whatever stands there.
        (YES, {**CONFIRM, "dismissable_keys": ["n", "Enter"]}, OF_DAEMON),
        (YES, {**CONFIRM, "dismissable_keys": ["y", "Enter"]}, BOTH),
        (YES, {**CONFIRM, "dismissable_keys": None}, BOTH),
        (YES, {**CONFIRM, "dismissable_keys": []}, OF_DAEMON),
        (YES, {**CONFIRM, "dismissable_keys": ["no", "Enter"]}, OF_DAEMON),
        (YES, {**CONFIRM, "dismissable_keys": [":q!", "Enter"]}, OF_DAEMON),
        (YES, {**CONFIRM, "dismissable_keys": ["Escape", ":q!", "Enter"]}, OF_DAEMON),
        (YES, {**CONFIRM, "dismissable_keys": ["Ctrl+Q"]}, OF_DAEMON),
        # The same keys are the same however they are written.
        (SPACE, {**PRESS_KEY, "dismissable_keys": [" "]}, BOTH),
        (asking("'no' Enter"), {**CONFIRM, "dismissable_keys": ["n", "o", "Enter"]}, BOTH),
        # A plain Enter on a harmful default is wrong under every policy that knows.
        (ENTER, {**CONFIRM, "harmful_default": True}, ("right", "wrong")),
        (ENTER, {**CONFIRM, "note": "default is No, exit"}, ("right", "wrong")),
        (ENTER, {**PRESS_KEY, "dismissable_keys": ["C-c"]}, WRONG),
        (ENTER, {**PRESS_KEY, "dismissable_keys": ["Enter"]}, BOTH),
        (ENTER, PRESS_KEY, BOTH),
        (YES, {**CONFIRM, "harmful_default": True}, BOTH),
    ]
    found = [(label, did, wanted) for engine, label, wanted in tried if (did := pressed(engine, **label)) != wanted]
    assert found == []


_JUDGED = st.builds(
    Prediction,
    id=st.text(max_size=3),
    program=st.sampled_from(["", "a", "b"]),
    true_state=st.sampled_from(list(State)),
    true_kind=st.none() | st.sampled_from(list(Kind)),
    state=st.sampled_from(list(State)),
    kind=st.none() | st.sampled_from(list(Kind)),
    certainty=st.sampled_from(list(Certainty)),
    pressed=st.tuples(*[st.sampled_from(["none", "right", "wrong"])] * 2),
    hard=st.booleans(),
    signature=st.none() | st.sampled_from(["p:a", "p:b"]),
)


@given(st.lists(_JUDGED, max_size=30))
def test_the_figures_add_up(predictions: list[Prediction]) -> None:
    found = tally(predictions)
    cells, sure = found["waiting"], found["sure"]
    assert cells["tp"] + cells["fp"] + cells["fn"] + cells["tn"] == found["cases"] == len(predictions)
    assert sure["tp"] <= cells["tp"] and sure["fp"] <= cells["fp"]
    assert cells["tp"] == sum(one.true_state == one.state == "waiting" for one in predictions)
    counted = Counter(
        {(true, said): n for true, row in found["states"]["confusion"].items() for said, n in row.items()}
    )
    assert counted == Counter((one.true_state, one.state) for one in predictions)
    assert len(found["misses"]) == sum(n for (true, said), n in counted.items() if true != said)
    assert found["wrong_keys"]["careful"] == sum(one.pressed[0] == "wrong" for one in predictions)
    assert found["right_keys"]["daemon"] == sum(one.pressed[1] == "right" for one in predictions)
    json.dumps(found)


@given(st.lists(_JUDGED, max_size=30), st.sampled_from(sorted(GROUPS)))
def test_groups_are_a_partition(predictions: list[Prediction], by: str) -> None:
    rows = groups(predictions, by)
    assert sum(group["cases"] for group in rows.values()) == len(predictions) and list(rows) == sorted(rows)
    for cell in ("tp", "fp", "fn", "tn"):
        assert sum(group["waiting"][cell] for group in rows.values()) == tally(predictions)["waiting"][cell]


@given(st.lists(_JUDGED, max_size=30), st.integers(0, 5))
def test_the_worst_are_of_their_sort(predictions: list[Prediction], count: int) -> None:
    found = worst(predictions, count)
    assert all(len(ones) <= count for ones in found.values())
    assert all(one["wrong_keys"] for one in found["wrong_keys"])
    assert all(one["predicted"] == "waiting" != one["true"] for one in found["false_positives"])
    assert all(one["true"] == "waiting" != one["predicted"] for one in found["false_negatives"])


@given(st.permutations(["pressed", "sure", "plain", "hard"]))
def test_the_gravest_come_first(order: list[str]) -> None:
    def false_alarm(name: str) -> Prediction:
        certainty = Certainty.SURE if name == "sure" else Certainty.MAYBE
        keys = ("none", "wrong" if name == "pressed" else "none")
        working, waiting = State.WORKING, State.WAITING
        return Prediction(
            name, "", working, None, waiting, Kind.TEXT, certainty, keys, hard=name in ("hard", "pressed")
        )

    found = worst(map(false_alarm, order), 3)
    assert [one["id"] for one in found["false_positives"]] == ["pressed", "sure", "plain"]
    assert [one["id"] for one in found["wrong_keys"]] == ["pressed"]


def test_no_cases_give_no_figures() -> None:
    found = evaluate([], Engine([]))
    assert found["cases"] == 0 and found["misses"] == []
    assert found["waiting"]["precision"] is found["states"]["accuracy"] is found["kinds"]["accuracy"] is None


def test_the_fields_that_others_rely_on_are_there() -> None:
    """house.md, "Names that others already rely on"."""
    data = [row("a", **READS), row("b", BUSY, "working"), row("c", BUSY)]
    cases = [Line("c", n, json.dumps(one).encode()).read() for n, one in enumerate(data, 1)]
    found = evaluate(cases, asking("y Enter"))
    assert (found["version"], found["cases"]) == (1, 3)
    for cells in (found["waiting"], found["sure"]):
        assert {name: cells[name] for name in ("tp", "fp", "fn", "tn")} == {"tp": 1, "fp": 0, "fn": 1, "tn": 1}
        assert (cells["precision"], cells["recall"], cells["f1"]) == (1.0, 0.5, 0.6667)
    assert found["states"]["accuracy"] == 0.6667
    assert found["states"]["confusion"] == {"waiting": {"waiting": 1, "working": 1}, "working": {"working": 1}}
    assert found["kinds"]["accuracy"] == 0.0, "the label gives no kind, the verdict does"
    assert found["wrong_keys"] == {"careful": 0, "daemon": 0} and found["right_keys"] == {"careful": 1, "daemon": 1}
    (miss,) = found["misses"]
    assert (miss["id"], miss["true"], miss["predicted"]) == ("c", "waiting", "working") and miss["reasons"]


def test_no_policy_presses_wrongly_on_the_development_corpora() -> None:
    for path in CORPORA:
        found = evaluate(load(path), Engine.default())
        assert found["wrong_keys"] == {"careful": 0, "daemon": 0}, path
        assert found["sure"]["fp"] == 0, path


# --- cells and intervals ---
COUNTS = st.integers(0, 10_000)


def test_intervals_are_those_of_the_literature() -> None:
    wrong = [
        (part, whole, low, high)
        for part, whole, low, high in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ]
        if wilson(part, whole) != [low, high]
    ]
    assert wrong == []


@given(COUNTS, COUNTS)
def test_an_interval_holds_its_figure_and_narrows_with_more_cases(part: int, rest: int) -> None:
    bounds = wilson(part, part + rest)
    if part + rest == 0:
        assert bounds is None and share(part, 0) is None
        return
    figure = share(part, part + rest)
    assert bounds is not None and figure is not None
    assert 0 <= bounds[0] <= figure <= bounds[1] <= 1
    more = wilson(part * 10, (part + rest) * 10)
    assert more is not None and more[1] - more[0] <= bounds[1] - bounds[0] + 1e-3


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_f1_lies_between_precision_and_recall_and_in_its_interval(tp: int, fp: int, fn: int, tn: int) -> None:
    cells = Cells(tp, fp, fn, tn)
    if cells.precision is not None and cells.recall is not None and cells.f1 is not None:
        assert min(cells.precision, cells.recall) - 1e-4 <= cells.f1 <= max(cells.precision, cells.recall) + 1e-4
    if cells.f1 is not None:
        bounds = cells.f1_interval
        assert bounds is not None and bounds[0] <= cells.f1 + 1e-4 and cells.f1 <= bounds[1] + 1e-4
    assert set(cells.as_object()) >= {"tp", "fp", "fn", "tn", "precision", "recall", "f1"}
