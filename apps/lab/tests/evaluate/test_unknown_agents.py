"""The corpora of programs that no pack names: each screen is told in full, and a third of the programs is kept aside.

Of those captured later both lie apart; the third was sealed until it was judged once.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate.corpus import items

TESTS = Path(__file__).parents[4] / "tests"
PINNED = tomllib.loads((TESTS / "real" / "unknown-agents.toml").read_text())
SCENES = TESTS.parent / "corpora" / "agents" / "unknown" / "scenes"
# Temporary files, the root user's own, whatever lies beside this checkout, and where the agents are installed.
OF_A_MACHINE = re.compile(rf"/tmp/(?!notes|gemini-)\w|/root\b|{re.escape(str(TESTS.parents[1]))}/|\.cache/unknown")
# Folders of users as well, in the corpora of classic programs: the capture's own is /home/dev.
OF_ANOTHER = re.compile(rf"/tmp/|/root\b|{re.escape(str(TESTS.parents[1]))}/|/home/(?!dev\b)\w")

Cases = list[dict[str, Any]]


def cases(name: str | Path) -> Cases:
    return [json.loads(line) for line in (TESTS / "corpus" / name).read_text("utf-8").splitlines()]


SEEN, ASIDE = cases("unknown-agents.jsonl"), cases("unknown-agents-aside.jsonl")
# Pairs of what was captured later, and of what of it was kept aside.
LATER = [
    (cases(f"unseen/{name}.jsonl"), cases(f"unseen/{name}-aside.jsonl"))
    for name in ("unseen-agents", "newest-agents", "layout-agents")
]
LATEST = [  # of the one half aside, of the other two
    (cases(f"unseen/{name}.jsonl"), cases(f"unseen/{name}-aside.jsonl")) for name in ("later-agents", "next-agents")
]
CLASSIC = [
    (cases(f"unseen/{name}.jsonl"), cases(f"unseen/{name}-aside.jsonl"))
    for name in ("unseen-classic", "layout-classic")
]


def joined(pairs: list[tuple[Cases, Cases]]) -> Cases:
    return [case for pair in pairs for told in pair for case in told]


EVERY = SEEN + ASIDE + joined(LATER + LATEST)


def programs(told: Cases) -> set[str]:
    return {case["program"] for case in told}


def test_every_third_agent_by_name_is_kept_aside_with_all_its_screens() -> None:
    assert programs(ASIDE) == set(sorted(programs(SEEN + ASIDE))[2::3])
    assert programs(ASIDE).isdisjoint(programs(SEEN))


def test_a_third_of_the_later_ones_is_aside_by_lot_with_all_its_screens() -> None:
    for told, held in LATER + LATEST + CLASSIC:
        assert programs(held).isdisjoint(programs(told)), programs(held)
        assert len({case["id"] for case in told + held}) == len(told + held), programs(held)
    for told, held in LATER + CLASSIC:
        assert len(programs(held)) == len(programs(told + held)) // 3, programs(held)
    for told, held in LATER:
        named = sorted(programs(told + held))
        assert programs(held) == set(random.Random(20261123).sample(named, len(named) // 3)), programs(held)


def test_what_is_sealed_no_reader_takes_by_itself() -> None:
    """What measures them takes the corpora that lie in this folder itself, or all that a reader finds below it.

    Of the newest, Cline has signatures and screens of its own.
    """
    open_ones = {program for file in (TESTS / "corpus").glob("*.jsonl") for program in programs(cases(file.name))}
    assert (programs(joined(LATER + LATEST)) - {"cline"}).isdisjoint(open_ones)
    read = {Path(item.path).name for item in items(TESTS / "corpus", []) if isinstance(item, Line)}
    later = {"unseen-agents.jsonl", "unseen-agents-aside.jsonl", "unseen-classic.jsonl", "unseen-classic-aside.jsonl"}
    assert {name for name in read if "unseen" in name} == later


def test_no_other_corpus_holds_one_of_the_classic_programs() -> None:
    known = {program for file in (TESTS / "corpus").glob("*.jsonl") for program in programs(cases(file.name))}
    known |= programs(LATER[0][0])
    for pair in CLASSIC:
        assert known.isdisjoint(programs(joined([pair])))
        known |= programs(joined([pair]))


def test_each_screen_has_what_the_kernel_said_and_nothing_of_the_machine() -> None:
    for case in EVERY:
        assert case["probe_1s"]["tty_wait_samples"] == 5 and case["tty"]["icanon"] is not None, case["id"]
        assert not OF_A_MACHINE.search(case["screen"] + case["pane_title"]), case["id"]
    for case in joined(CLASSIC):
        probe = case["probe_1s"]
        assert probe["tty_wait_samples"] == 5 and probe["cpu_ms"] is not None, case["id"]
        assert case["proc"] and case["tty"]["icanon"] is not None and case["version"], case["id"]
        assert not OF_ANOTHER.search(case["screen"] + case["pane_title"]), case["id"]


def test_each_agent_has_a_scene_and_an_exact_version() -> None:
    scenes = {file.stem: tomllib.loads(file.read_text()) for file in SCENES.glob("*.toml")}
    assert scenes.keys() == PINNED.keys()
    told = {(scenes[name]["program"], pin["version"]) for name, pin in PINNED.items()}
    assert told == {(case["program"], case["version"]) for case in EVERY}
