"""A program that blocks in a read of its own terminal while nothing else of it can go on: it waits, for sure.  Pure.

That is so whatever the screen shows, and by itself says nothing of what is asked: so a verdict that is sure only by
this (`Verdict.by_read`) is no reason to press a key.
"""

from __future__ import annotations

from stallkit.core.evidence import Kernel, guessed_kind
from stallkit.core.facts import SHELLS, Member
from stallkit.core.signature import Certainty, Kind, State
from stallkit.core.values import evolve
from stallkit.core.verdict import Ended, Snapshot, Verdict

__all__ = ["STILL_S", "missing_s", "proved"]

# In which nothing of the program was on a CPU: longer than a program takes between two polls of something else.
STILL_S = 2.0
_OPEN = frozenset({State.WAITING, State.WORKING, State.UNKNOWN, State.ENDED})  # an agent's states are its screen's


def proved(verdict: Verdict, snapshot: Snapshot, facts: Kernel) -> Verdict:
    """The verdict, sure that it waits where that is proved, or with the time that is missing for it."""
    settled = verdict.certainty is Certainty.SURE and verdict.state is State.WAITING
    agent = verdict.agents or facts.foreground in verdict.detection.agents or verdict.ended not in (None, Ended.SHELL)
    missing = None if settled or agent or verdict.state not in _OPEN else missing_s(snapshot, facts)
    if missing is None:
        return verdict
    if missing > 0:
        return evolve(verdict, proof_in_s=missing)
    kind = Kind.SECRET if facts.hides else verdict.kind if verdict.state is State.WAITING else None
    kind = kind or guessed_kind(verdict.detection.screen, facts.canonical)
    how = [] if facts.how in verdict.reasons else [facts.how]
    why = "; ".join([*how, f"nothing of it was on a CPU for {STILL_S:g} s: it goes on only when somebody types"])
    verdict = verdict.but(why, state=State.WAITING, certainty=Certainty.SURE, kind=kind)
    return evolve(verdict, ended=None, by_read=True, inside=facts.unseen)


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
