"""The corpora of classic programs that no other corpus holds: told in full, a third of the programs kept aside."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

CORPORA = Path(__file__).parents[4] / "tests" / "corpus"
ROOT = Path(__file__).parents[4]
# Temporary files, what lies beside this checkout, and folders of users: the capture's own is /home/dev.
OF_A_MACHINE = re.compile(rf"/tmp/|/root\b|{re.escape(str(ROOT.parent))}/|/home/(?!dev\b)\w")


def cases(name: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / name).read_text("utf-8").splitlines()]


SEEN, ASIDE = cases("unseen/unseen-classic.jsonl"), cases("unseen/unseen-classic-aside.jsonl")
OTHERS = [path.relative_to(CORPORA) for path in (*CORPORA.glob("*.jsonl"), CORPORA / "unseen/unseen-agents.jsonl")]


def test_a_third_of_the_programs_is_kept_aside_with_all_its_screens() -> None:
    seen, aside = ({case["program"] for case in side} for side in (SEEN, ASIDE))
    assert aside.isdisjoint(seen) and len(aside) == len(aside | seen) // 3
    assert len({case["id"] for case in SEEN + ASIDE}) == len(SEEN + ASIDE)


def test_no_other_corpus_holds_one_of_the_programs() -> None:
    known = {case["program"] for path in OTHERS for case in cases(path)}
    assert known.isdisjoint(case["program"] for case in SEEN + ASIDE)


def test_there_are_many_programs_and_as_many_screens_at_work_as_it_takes() -> None:
    states = Counter(case["label"]["state"] for case in SEEN + ASIDE)
    assert len({case["program"] for case in SEEN + ASIDE}) >= 60 and states.total() >= 150
    assert states["working"] >= 60 and states["ended"] >= 60


def test_each_screen_has_what_the_kernel_said_and_nothing_of_the_machine() -> None:
    for case in SEEN + ASIDE:
        probe = case["probe_1s"]
        assert probe["tty_wait_samples"] == 5 and probe["cpu_ms"] is not None, case["id"]
        assert case["proc"] and case["tty"]["icanon"] is not None and case["version"], case["id"]
        assert not OF_A_MACHINE.search(case["screen"] + case["pane_title"]), case["id"]
