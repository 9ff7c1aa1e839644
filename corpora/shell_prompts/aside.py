"""The two corpora of a group of classic programs: a third of the programs, by lot, is kept aside.

    python -m corpora.shell_prompts.aside [--group fresh] CAPTURED...

That of `classic` was judged once, when the work on the packs was done (docs/measure.md), and is open since.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

CORPORA = Path(__file__).parents[2] / "tests" / "corpus" / "unseen"
# Of each group: the lot's seed, and what its corpora are called.
GROUPS = {"classic": (20261123, "unseen-classic"), "fresh": (20261127, "layout-classic")}


def kept_aside(programs: set[str], seed: int) -> set[str]:
    """A third of them."""
    return set(random.Random(seed).sample(sorted(programs), len(programs) // 3))  # a lot, no secret


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captured", nargs="+", type=Path)
    parser.add_argument("--group", choices=sorted(GROUPS), default="classic")
    given = parser.parse_args()
    seed, called = GROUPS[given.group]
    lines = [line for file in given.captured for line in file.read_text("utf-8").splitlines()]
    cases = {json.loads(line)["id"]: line for line in lines}  # one that was played again replaces the first
    programs = {id: json.loads(line)["program"] for id, line in cases.items()}
    aside = kept_aside(set(programs.values()), seed)
    for kept in (False, True):
        name = f"{called}-aside.jsonl" if kept else f"{called}.jsonl"
        told = [line + "\n" for id, line in sorted(cases.items()) if (programs[id] in aside) is kept]
        (CORPORA / name).write_text("".join(told), "utf-8")
        count = len(aside) if kept else len(set(programs.values()) - aside)
        print(f"{name}: {len(told)} screens of {count} programs")


if __name__ == "__main__":
    main()
