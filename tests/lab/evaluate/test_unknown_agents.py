"""The corpora of agents that no pack names: each screen is told in full, and a third of the agents is kept aside."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
PINNED = tomllib.loads((TESTS / "real" / "unknown-agents.toml").read_text())
SCENES = TESTS.parent / "scripts" / "agents" / "unknown" / "scenes"
# Temporary files, the root user's own, and whatever lies beside this checkout.
OF_A_MACHINE = re.compile(rf"/tmp/(?!notes)\w|/root\b|{re.escape(str(TESTS.parents[1]))}/")


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / "corpus" / name).read_text("utf-8").splitlines()]


SEEN, ASIDE = cases("unknown-agents.jsonl"), cases("unknown-agents-aside.jsonl")


def test_every_third_agent_by_name_is_kept_aside_with_all_its_screens() -> None:
    aside = {case["program"] for case in ASIDE}
    assert aside == set(sorted({case["program"] for case in SEEN + ASIDE})[2::3])
    assert aside.isdisjoint(case["program"] for case in SEEN)


def test_each_agent_was_driven_into_at_least_eight_states() -> None:
    assert min(Counter(case["program"] for case in SEEN + ASIDE).values()) >= 8
    assert len({case["id"] for case in SEEN + ASIDE}) == len(SEEN + ASIDE)


def test_each_screen_has_what_the_kernel_said_and_nothing_of_the_machine() -> None:
    for case in SEEN + ASIDE:
        assert case["probe_1s"]["tty_wait_samples"] == 5 and case["tty"]["icanon"] is not None, case["id"]
        assert not OF_A_MACHINE.search(case["screen"] + case["pane_title"]), case["id"]


def test_each_agent_has_a_scene_and_an_exact_version() -> None:
    scenes = {file.stem: tomllib.loads(file.read_text()) for file in SCENES.glob("*.toml")}
    assert scenes.keys() == PINNED.keys()
    told = {(scenes[name]["program"], pin["version"]) for name, pin in PINNED.items()}
    assert told == {(case["program"], case["version"]) for case in SEEN + ASIDE}
