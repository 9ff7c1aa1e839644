"""What the name of the program in the foreground claims."""

from __future__ import annotations

from stallkit.detect.families import ASKS_NOTHING, PAGERS
from stallkit.detect.signature import Kind, State
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look

__all__ = ["foreground_claim"]

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
