"""What a read that blocks claims: while nothing else of the program can go on, it waits, whatever it asks."""

from __future__ import annotations

from stallkit.detect.signature import Kind, State, Tier
from stallkit.evidence.agents import agents
from stallkit.evidence.blocked_read import STILL_S, missing_s
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.kernel_summary import guessed_kind
from stallkit.evidence.look import Look

__all__ = ["proof_in_s", "read_claim"]


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
