"""Agents whose model refuses them: captured screens of six, labelled by whether they went on to ask it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen

ENGINE = installed_engine()
FILE = Path(__file__).parents[1] / "corpus" / "turns" / "refused.jsonl"  # by corpora/agents/refused.py
CASES = [json.loads(line) for line in FILE.read_text().splitlines()]


def verdict(case: dict[str, Any]) -> Verdict:
    screen = Screen.from_text(
        case["screen"],
        cursor=(case["cursor_x"], case["cursor_y"]),
        size=(case["cols"], case["rows"]),
        cursor_visible=case["cursor_visible"],
        title=case["pane_title"],
        alternate=case["alternate_on"],
    )
    return judge(ENGINE.detect(screen), Snapshot(screen=screen, process=ProcessFacts(case["pane_current_command"])))


def test_refused_agents() -> None:
    wrong = {}
    for case in CASES:
        found, label = verdict(case), case["label"]
        if found.state != label["state"] or (found.retrying is not None) is not label["says"]:
            wrong[case["id"]] = (found.state, found.retrying, found.reasons)
    assert not wrong


def test_what_says_that_it_tries_again_does() -> None:
    assert all(case["label"]["asks_again"] for case in CASES if verdict(case).retrying)


def test_all_six_agents_and_refusals_are_there() -> None:
    assert len({case["program"] for case in CASES}) == 6
    assert len({case["label"]["refusal"] for case in CASES}) == 5
    assert sum(case["label"]["aside"] for case in CASES) >= len(CASES) // 4
