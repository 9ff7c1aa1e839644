"""The two corpora of classic programs: a third of the programs, by lot, is kept aside.

    python -m corpora.shell_prompts.aside CAPTURED...

That one was judged once, when the work on the packs was done (docs/capturing.md), and is open since.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

SEED = 20261123
CORPORA = Path(__file__).parents[2] / "tests" / "corpus" / "unseen"
NAMES = ("unseen-classic.jsonl", "unseen-classic-aside.jsonl")


def kept_aside(programs: set[str]) -> set[str]:
    """A third of them."""
    return set(random.Random(SEED).sample(sorted(programs), len(programs) // 3))  # a lot, no secret


def main() -> None:
    lines = [line for file in sys.argv[1:] for line in Path(file).read_text("utf-8").splitlines()]
    cases = {json.loads(line)["id"]: line for line in lines}  # one that was played again replaces the first
    programs = {id: json.loads(line)["program"] for id, line in cases.items()}
    aside = kept_aside(set(programs.values()))
    for name, kept in zip(NAMES, (False, True), strict=True):
        told = [line + "\n" for id, line in sorted(cases.items()) if (programs[id] in aside) is kept]
        (CORPORA / name).write_text("".join(told), "utf-8")
        count = len(aside) if kept else len(set(programs.values()) - aside)
        print(f"{name}: {len(told)} screens of {count} programs")


if __name__ == "__main__":
    main()
