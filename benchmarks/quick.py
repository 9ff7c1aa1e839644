"""The ratios that users feel, in a minute: what got worse by more than a third since they were last kept?

``scripts/bench --quick`` compares with `ratios.json` beside this file and exits with 1 where something got worse;
``scripts/bench --quick --keep`` writes that file anew.  All are ratios of one run: a slow machine does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Mapping

import startup
from engine import real_ratios, screens
from timing import table

KEPT = Path(__file__).with_name("ratios.json")
WORSE = 4 / 3
ROUNDS = 5


def now() -> dict[str, float]:
    """Each ratio by its name; less is better."""
    found = {f"detect, {way}, of the plain loop": 1 / ratio for way, ratio in real_ratios(screens()).items()}
    taken = startup.measured(ROUNDS)
    bare = {kind: statistics.median(taken[startup.BARE, kind]) for kind in startup.AIMS}
    for (way, kind), costs in taken.items():
        if way != startup.BARE:
            found[f"{way}, {kind}, of a bare Python"] = statistics.median(costs) / bare[kind]
    return found


def worse(found: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """The names of those that got worse by more than a third, and of those that are no longer measured.

    >>> worse({"a": 1.2, "b": 1.4}, {"a": 1.0, "b": 1.0, "c": 1.0})
    ['b', 'c']
    """
    return [name for name, before in kept.items() if found.get(name, float("inf")) > before * WORSE]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the ratios, to be committed")
    keeps = parser.parse_args().keep
    found, kept = now(), json.loads(KEPT.read_text()) if KEPT.exists() else {}
    rows = [
        [name, f"{kept[name]:.3g}" if name in kept else "", f"{value:.3g}", f"{value / kept.get(name, value):.2f}"]
        for name, value in found.items()
    ]
    table(["ratio", "kept", "now", "now / kept"], rows)
    if keeps:
        KEPT.write_text(json.dumps({name: float(f"{value:.3g}") for name, value in found.items()}, indent=1) + "\n")
        return 0
    late = worse(found, kept)
    for name in late:
        print(f"worse by more than a third: {name}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
