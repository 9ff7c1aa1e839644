"""CPU time of rivals, interleaved in one process: ratios hold where absolute times move from run to run."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Callable

ROUNDS = 15
ROUND_S = 0.004  # CPU seconds that each way has in each round, at least one call


def interleaved(ways: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median CPU seconds of one call of each, all of them taken in turns."""
    for way in ways.values():
        way()  # what is built on the first call is not what is measured
    calls = {name: max(1, round(ROUND_S / max(_once(way, 1), 1e-7))) for name, way in ways.items()}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    gc.disable()
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                taken[name].append(_once(way, calls[name]))
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in taken.items()}


def _once(way: Callable[[], object], calls: int) -> float:
    turns = range(calls)
    begun = time.process_time()
    for _ in turns:
        way()
    return (time.process_time() - begun) / calls


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print rows as a Markdown table, so that docs/benchmarks.md can take it as it is."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    print()
