"""What a soak is made of: named parts, each with a full size and a short one, each giving figures."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Callable, Self

from attrs import field, frozen

# In the order in which they are run; each is the module of that name beside this one, and takes 20 minutes at most.
PARTS = ("injection", "targets", "flips", "spoofing", "hostile", "legitimate", "claude")
PARTS += ("kills", "faults", "machine", "ends", "deaths", "held", "crowd", "twice", "rebuild", "reloads", "refusals")
PARTS += ("escalated", "matching", "pairs", "placements")


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
        return cls(
            name, f"{count:,}{f' of {of:,}' if isinstance(of, int) else f' of {of}' if of else ''}", "0", count == 0
        )


@frozen
class Run:
    """One run of a part: how much of it, where it may write, and whom to tell how far it is."""

    size: int
    folder: Path
    tell: Callable[[int], None] = field(default=lambda done: None)


@frozen
class Part:
    """A part: `full` and `short` are how many of what `unit` says; its module's words begin with what it is about."""

    words: str
    unit: str
    full: int
    short: int
    soak: Callable[[Run], list[Figure]]

    @property
    def name(self) -> str:
        return self.soak.__module__.rpartition(".")[2]

    @property
    def about(self) -> str:
        """One line, for the report."""
        return " ".join(self.words.partition("\n\n")[0].split())

    def run(self, size: int, folder: Path, tell: Callable[[int], None] = lambda done: None) -> dict[str, object]:
        """The figures of one run, as plain values."""
        began = time.monotonic()
        figures = self.soak(Run(size, folder, tell))
        return {
            "part": self.name,
            "about": self.about,
            "size": size,
            "unit": self.unit,
            "minutes": round((time.monotonic() - began) / 60, 1),
            "figures": [[one.name, one.value, one.must, one.holds] for one in figures],
        }


def part(name: str) -> Part:
    found: Part = import_module(f"soak.{name}").PART
    return found
