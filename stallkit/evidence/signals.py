"""What programs claim of themselves: the best guarded of their signals."""

from __future__ import annotations

from stallkit.detect.signature import State
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look
from stallkit.evidence.osc import claims as printed
from stallkit.evidence.signal import Guard, Signal, decisive

__all__ = ["heard", "signal_claim"]

_WEIGHTS = {Guard.PROCESS: Weight.OWN_WORD, Guard.NAMED: Weight.SIGN, Guard.NONE: Weight.GUESS}


def heard(look: Look) -> tuple[Signal, ...]:
    """All that the programs say of themselves, outside of their output and in it."""
    return (*look.snapshot.signals, *printed(look.snapshot, look.detection.words))


def signal_claim(look: Look) -> Claim | None:
    """What the signal says that decides."""
    says = decisive(heard(look))
    if says is None or says.state is None:
        return None
    no_menus = says.state is State.IDLE and (says.guard is Guard.NAMED or not says.menus)
    sign = Sign.RESTS if no_menus else Sign.SAYS
    return Claim(Source.SIGNAL, sign, says.state, says.kind, _WEIGHTS[says.guard], why=(says.told,))
