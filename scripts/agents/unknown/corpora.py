"""The two corpora: every third agent by name is kept aside, so that nothing is fitted to it."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["join"]

NAMES = ("unknown-agents.jsonl", "unknown-agents-aside.jsonl")


def join(captured: Path, corpora: Path) -> None:
    """Write both from the files of all agents."""
    cases = [line for file in sorted(captured.glob("*.jsonl")) for line in file.read_text().splitlines()]
    programs = sorted({json.loads(line)["program"] for line in cases})
    aside = set(programs[2::3])
    for name, kept in zip(NAMES, (False, True), strict=True):
        lines = [line + "\n" for line in cases if (json.loads(line)["program"] in aside) is kept]
        (corpora / name).write_text("".join(lines))
        print(f"{name}: {len(lines)} screens of {len(aside) if kept else len(programs) - len(aside)} agents")
