"""What is left where an agent ended, as a claim."""

from __future__ import annotations

from stallkit.detect.signature import State, Tier
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look

__all__ = ["left_claim"]


def left_claim(look: Look) -> Claim | None:
    """That an agent ended and what started it lives on, or that its screen alone stands there."""
    match = look.detection.match
    if match is not None and (match.signature.tier is Tier.ENDED or match.signature.state is State.ENDED):
        return None  # its screen says so itself
    if look.left is None:
        return None
    why, sure, _ = look.left
    sign, weight = (Sign.OUTLIVED, Weight.PROOF) if sure else (Sign.PICTURE, Weight.GUESS)
    return Claim(Source.LEFT, sign, State.ENDED, weight=weight, why=(why,))
