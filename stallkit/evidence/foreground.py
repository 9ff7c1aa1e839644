"""What the program in the foreground claims by its name, and an agent that is no longer there."""

from __future__ import annotations

from stallkit.detect.families import ASKS_NOTHING, PAGERS
from stallkit.detect.signature import Kind, State, Tier
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look

__all__ = ["foreground_claim", "left_claim"]

RUNNERS = frozenset({"make", "ninja"})  # what they run may ask, in the same foreground group


def foreground_claim(look: Look) -> Claim | None:
    """That a program is there which asks nothing, or a pager, or any program."""
    name = look.snapshot.foreground
    if name is None:
        return None
    runs = f"{name} runs in the foreground and shows no prompt"
    if name in ASKS_NOTHING and not (name in RUNNERS and look.facts.listening is True):
        why = f"quoted or answered: {name} runs in the foreground and asks nothing"
        return Claim(Source.FOREGROUND, Sign.ASKS_NOTHING, State.WORKING, weight=Weight.SIGN, why=(runs, why))
    if name in PAGERS:
        why = f"{name} rests in the foreground"
        return Claim(Source.FOREGROUND, Sign.PAGER, State.WAITING, Kind.PAGER, why=(why,))
    return Claim(Source.FOREGROUND, Sign.RUNS, State.WORKING, why=(runs,))


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
