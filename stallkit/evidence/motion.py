"""What the looks before claim: the screen changes, so something is at work."""

from __future__ import annotations

from stallkit.detect.screen_diff import only_a_clock, stays
from stallkit.detect.signature import State, Tier
from stallkit.evidence.claim import Claim, Sign, Source
from stallkit.evidence.kernel_summary import agrees
from stallkit.evidence.look import Look

__all__ = ["motion_claim"]


def motion_claim(look: Look) -> Claim | None:
    """That the screen changes; not where only a clock does, nor where a dialog or a prompt stays among what moves."""
    match, facts = look.detection.match, look.facts
    if match is None:
        looks = look.history and not agrees(look.snapshot, look.history)
        moves = bool(looks) and not only_a_clock(look.history[-1].screen, look.snapshot.screen)
    else:
        line = match.signature.tier >= Tier.PROMPT_LINE
        still = facts.before is not None and stays(match, facts.before, look.detection.screen)
        moves = line and facts.rests is False and not still
    return Claim(Source.MOTION, Sign.CHANGES, State.WORKING, why=("the screen is changing",)) if moves else None
