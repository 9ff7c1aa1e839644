"""A read that blocks: while nothing else of its program can go on, it waits, for sure, whatever it asks.  Pure.

By itself it says nothing of what is asked: a verdict that is sure only by this (`Verdict.by_read`) is no reason
to press a key.
"""

from __future__ import annotations

from stallkit.detect.families import SHELLS
from stallkit.detect.signature import Kind, State, Tier
from stallkit.evidence.agents import agents
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.facts import Member
from stallkit.evidence.kernel_summary import Kernel, guessed_kind
from stallkit.evidence.look import Look
from stallkit.evidence.snapshot import Snapshot

__all__ = ["STILL_S", "missing_s", "proof_in_s", "read_claim"]

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


def read_claim(look: Look) -> Claim | None:
    """That it waits, where that is proved; never of an agent, whose states are its screen's."""
    if proof_in_s(look) != 0.0:
        return None
    facts = look.facts
    kind = Kind.SECRET if facts.hides else guessed_kind(look.detection.screen, facts.canonical)
    why = f"nothing of it was on a CPU for {STILL_S:g} s: it goes on only when somebody types"
    return Claim(Source.READ, Sign.BLOCKS, State.WAITING, kind, Weight.PROOF, why=(facts.how, why))


def proof_in_s(look: Look) -> float | None:
    """How long it has still to stand until that proves that it waits; 0: it is proved; None: it cannot be."""
    known = look.detection.agents
    if agents(known, look.snapshot.kernel, look.agents_before) or look.facts.foreground in known:
        return None
    match = look.detection.match
    if look.agent_seen is not None and match is not None and match.signature.tier is Tier.ENDED:
        return None  # a shell's prompt where an agent was
    return missing_s(look.snapshot, look.facts)
