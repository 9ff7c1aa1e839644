"""What is a step back against a baseline, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from stallkit_lab.evaluate.evaluation import FIGURES, Comparison, compare, read, save, tally
from stallkit_lab.evaluate.prediction import Prediction

from stallkit import State
from stallkit.detect.signature import Certainty, Kind
from stallkit.errors import StoreError
from stallkit.redact.redact import MASK

RIGHT = Prediction(
    id="a",
    program="p",
    true_state=State.WAITING,
    true_kind=Kind.CONFIRM,
    state=State.WAITING,
    kind=Kind.CONFIRM,
    certainty=Certainty.SURE,
    pressed=("none", "none"),
)
WRONG = evolve(RIGHT, id="b", state=State.WORKING, kind=None)
BEFORE = [RIGHT, WRONG, *(evolve(RIGHT, id=f"more{n}") for n in range(8))]


@pytest.fixture
def since(tmp_path: Path) -> Any:
    """Compare cases with a baseline that went through a file."""

    def compared(before: list[Prediction], now: list[Prediction], **options: Any) -> Comparison:
        save(tmp_path / "base.json", tally(before), before)
        return compare(read(tmp_path / "base.json"), now, **options)

    return compared


def changed(**what: Any) -> list[Prediction]:
    return [evolve(BEFORE[0], **what), *BEFORE[1:]]


def test_the_same_is_no_step_back(since: Any) -> None:
    change = since(BEFORE, BEFORE)
    assert change.regressions == () and all(old == new for old, new in change.figures.values())
    assert (change.became_right, change.became_wrong, change.appeared, change.vanished) == ((), (), (), ())


def test_what_became_right_is_told_and_no_step_back(since: Any) -> None:
    change = since(BEFORE, [RIGHT, evolve(RIGHT, id="b"), *BEFORE[2:]])
    assert change.became_right == ("b",) and change.regressions == ()
    assert change.figures["waiting recall"] == (0.9, 1.0)


def test_a_case_that_became_wrong_is_a_step_back_even_if_the_figures_hold(since: Any) -> None:
    change = since(BEFORE, [evolve(WRONG, id="a"), evolve(RIGHT, id="b"), *BEFORE[2:]])
    assert change.became_wrong == ("a",) and change.became_right == ("b",)
    assert change.regressions == ("became wrong: a, waiting judged working",)


def test_a_figure_that_fell_is_a_step_back(since: Any) -> None:
    for what, figure in [
        ({"certainty": Certainty.MAYBE}, "sure recall"),
        ({"kind": Kind.TEXT}, "kinds right"),
        ({"state": State.IDLE}, "states right"),
        ({"pressed": ("none", "wrong")}, "wrong keys of policy daemon"),
    ]:
        regressions = since(BEFORE, changed(**what)).regressions
        assert any(figure in one for one in regressions), (what, figure)


def test_a_false_alarm_lowers_precision(since: Any) -> None:
    rest = evolve(RIGHT, id="rest", true_state=State.WORKING, true_kind=None, state=State.WORKING, kind=None)
    change = since([*BEFORE, rest], [*BEFORE, evolve(rest, state=State.WAITING)])
    assert {"waiting precision", "sure precision"} <= {one.split(":")[0] for one in change.regressions}


def test_what_is_tolerated_is_no_step_back(since: Any) -> None:
    worse = changed(state=State.WORKING, kind=None)
    assert since(BEFORE, worse, tolerance=0.2).regressions == ()
    assert since(BEFORE, worse, tolerance=0.05).regressions != ()
    assert since(BEFORE, changed(pressed=("wrong", "none")), tolerance=1.0).regressions != (), "a key never is"


def test_cases_that_come_and_go_are_told_and_move_no_figure(since: Any) -> None:
    change = since(BEFORE, [*BEFORE[1:], evolve(WRONG, id="new")])
    assert (change.appeared, change.vanished, change.regressions) == (("new",), ("a",), ())


def test_an_id_that_comes_again_is_numbered(since: Any) -> None:
    twice = [RIGHT, RIGHT]
    assert since(twice, [RIGHT, evolve(WRONG, id="a")]).became_wrong == ("a#2",)


def test_ids_are_compared_as_they_are_written(since: Any, tmp_path: Path) -> None:
    token = evolve(RIGHT, id="case ghp_" + "a1B2" * 10)
    assert since([token], [token]).vanished == ()
    assert "ghp_" not in (tmp_path / "base.json").read_text() and MASK in (tmp_path / "base.json").read_text()


def test_settings_that_differ_are_told(tmp_path: Path) -> None:
    save(tmp_path / "b", tally(BEFORE) | {"settings": {"screen_only": False}}, BEFORE)
    assert compare(read(tmp_path / "b"), BEFORE, settings={"screen_only": True}).settings == (
        "screen_only: False became True",
    )


def test_what_is_no_baseline_is_one_line(tmp_path: Path) -> None:
    for content in [
        "",
        "{",
        "[]",
        "{}",
        "\xff",
        '{"version": 2, "verdicts": []}',
        '{"version": 1}',
        '{"version": 1, "verdicts": 7}',
        '{"version": 1, "verdicts": [{}]}',
        '{"version": 1, "verdicts": [{"id": "a", "true": "no state"}]}',
    ]:
        (tmp_path / "b").write_bytes(content.encode("latin-1"))
        with pytest.raises(StoreError, match="write it again") as caught:
            read(tmp_path / "b")
        assert str(tmp_path / "b") in str(caught.value) and "\n" not in str(caught.value), content


def test_a_baseline_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "none" / "b", tally(BEFORE), BEFORE)
    save(tmp_path / "b", tally(BEFORE), BEFORE)
    assert [file.name for file in tmp_path.iterdir()] == ["b"]
    assert len(json.loads((tmp_path / "b").read_text())["verdicts"]) == len(BEFORE)


def test_every_headline_figure_is_compared() -> None:
    assert set(compare({"verdicts": []}, BEFORE).figures) == set(FIGURES)
