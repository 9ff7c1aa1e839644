"""A program that blocks in a read of its own terminal while nothing else of it can go on: it waits, for sure.  Pure.

That is so whatever the screen shows, and by itself says nothing of what is asked: so a verdict that is sure only by
this (`Verdict.by_read`) is no reason to press a key.
"""

from __future__ import annotations

from stallkit.detect.families import SHELLS
from stallkit.evidence.facts import Member
from stallkit.evidence.kernel_summary import Kernel
from stallkit.evidence.snapshot import Snapshot

__all__ = ["STILL_S", "missing_s"]

# In which nothing of the program was on a CPU: longer than a program takes between two polls of something else.
STILL_S = 2.0


def missing_s(snapshot: Snapshot, facts: Kernel) -> float | None:
    """How long it has still to stand until that proves that it waits; 0: it is proved; None: it cannot be.

    A shell that runs a script reads like any program (`sh -c 'read x'`); one that takes commands is at its prompt,
    which is an end and no question, and so is not an interpreter's either: their packs say what they show.
    """
    kernel = snapshot.kernel
    stands = kernel.standstill if kernel else None
    if kernel is None or stands is None or facts.unknown or (facts.relayed and not facts.hides):
        return None
    readers = kernel.readers or ()
    if any(map(_takes_commands, readers)) or (not readers and facts.foreground in SHELLS):
        return None
    return max(0.0, STILL_S - stands.lasts_s)


def _takes_commands(reader: Member) -> bool:
    """Whether it is a shell at its prompt, or an interpreter; of a shell that has to be known."""
    return reader.interactive is not False if reader.names & SHELLS else reader.interactive is True
