"""The corpora: of each set of agents a third is kept aside, so that nothing is fitted to it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from unknown.install import FIRST, PINNED

LOT = 20261123


def join(captured: Path, corpora: Path) -> None:
    """Write both corpora of each set of which screens were captured."""
    files = {file: PINNED[file.stem.rpartition("-")[0]].corpus for file in sorted(captured.glob("*.jsonl"))}
    for corpus in sorted(set(files.values())):
        lines = [line for file in files if files[file] == corpus for line in file.read_text().splitlines(True)]
        programs = {json.loads(line)["program"] for line in lines}
        held = aside(programs, corpus)
        for name, told in ((f"{corpus}.jsonl", programs - held), (f"{corpus}-aside.jsonl", held)):
            kept = [line for line in lines if json.loads(line)["program"] in told]
            (corpora / name).parent.mkdir(exist_ok=True)
            (corpora / name).write_text("".join(kept))
            print(f"{name}: {len(kept)} screens of {len(told)} agents")


def aside(programs: Iterable[str], corpus: str) -> set[str]:
    """Every third by name; of the agents that were captured later, a third by lot."""
    named = sorted(programs)
    return set(named[2::3] if corpus == FIRST else random.Random(LOT).sample(named, len(named) // 3))
