"""What a soak is made of: named parts, each with a full size and a short one, each giving figures."""

from __future__ import annotations

import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Callable, Self

from attrs import field, frozen

# In the order in which they are run; each takes 20 minutes at most.
PARTS = ("injection", "targets", "flips", "spoofing", "hostile", "legitimate", "claude")
PARTS += ("kills", "faults", "machine", "ends", "deaths", "held", "crowd", "twice", "rebuild", "reloads", "refusals")
PARTS += ("escalated", "matching", "pairs", "placements")
# A part is `PART` of the module of its name, or shares another's module, where its own name is in capitals.
_SHARES = {"crowd": "held", "twice": "escalated"}
TOLD = 20  # failures of one kind that are told in words


@frozen
class Figure:
    """One figure, and whether it is what it must be."""

    name: str
    value: str  # "0 of 5000"
    must: str  # "0"
    holds: bool

    @classmethod
    def told(cls, name: str, value: object) -> Self:
        """One that may be anything."""
        return cls(name, str(value), "told", True)

    @classmethod
    def none(cls, name: str, count: int, of: object = "") -> Self:
        """A count that must be 0."""
        total = f" of {of:,}" if isinstance(of, int) else f" of {of}" if of else ""
        return cls(name, f"{count:,}{total}", "0", count == 0)


class Tally(Counter[str]):
    """What a part counts; what it finds broken is told on standard error as well."""

    def fails(self, name: str, why: object) -> None:
        self[name] += 1
        if self[name] <= TOLD:
            print(f"{name}: {why}"[:1_500], file=sys.stderr, flush=True)

    def none(self, name: str, of: object = "") -> Figure:
        """Of that name there must be nothing."""
        return Figure.none(name, self[name], of)


@frozen
class Run:
    """One run of a part: how much of it, where it may write, and whom to tell how far it is."""

    size: int
    folder: Path
    tell: Callable[[int], None] = field(default=lambda done: None)


@frozen
class Part:
    """A part: `full` and `short` are how many of what `unit` says; `words` begin with what it is about."""

    words: str
    unit: str
    full: int
    short: int
    soak: Callable[[Run], list[Figure]]

    def run(self, name: str, size: int, folder: Path, tell: Callable[[int], None]) -> dict[str, object]:
        """The figures of one run, as plain values."""
        began = time.monotonic()
        figures = self.soak(Run(size, folder, tell))
        return {
            "part": name,
            "about": " ".join(self.words.partition("\n\n")[0].split()),  # one line, for the report
            "size": size,
            "unit": self.unit,
            "minutes": round((time.monotonic() - began) / 60, 1),
            "figures": [[one.name, one.value, one.must, one.holds] for one in figures],
        }


def part(name: str) -> Part:
    module = import_module(f"soak.{_SHARES.get(name, name)}")
    found: Part = getattr(module, name.upper() if name in _SHARES else "PART")
    return found
