"""What programs claim of themselves: the best guarded of their signals."""

from __future__ import annotations

from typing import Sequence

from stallkit.core.claim import Claim, Sign, Source, Weight
from stallkit.core.claims import claims as printed
from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import State
from stallkit.evidence.look import Look

__all__ = ["decisive", "heard", "signal_claim"]

_GUARDS = (Guard.NONE, Guard.NAMED, Guard.PROCESS)
_OF_TURNS = frozenset({"copilot"})  # sources that know an agent's turns, and no menu nor dialog outside of them
_STATES = (State.IDLE, State.WORKING, State.WAITING)  # who waits needs a person, whatever its other parts do

_WEIGHTS = {Guard.PROCESS: Weight.OWN_WORD, Guard.NAMED: Weight.SIGN, Guard.NONE: Weight.GUESS}


def heard(look: Look) -> tuple[Signal, ...]:
    """All that the programs say of themselves, outside of their output and in it."""
    return (*look.snapshot.signals, *printed(look.snapshot))


def signal_claim(look: Look) -> Claim | None:
    """What the signal says that decides."""
    says = decisive(heard(look))
    if says is None or says.state is None:
        return None
    no_menus = says.state is State.IDLE and (says.guard is Guard.NAMED or says.source in _OF_TURNS)
    sign = Sign.RESTS if no_menus else Sign.SAYS
    return Claim(Source.SIGNAL, sign, says.state, says.kind, _WEIGHTS[says.guard], why=(says.told,))


def decisive(signals: Sequence[Signal]) -> Signal | None:
    """The signal that decides: the best guarded, of those the one that waits, of those the latest; or None."""
    return max((signal for signal in signals if signal.counts), key=_rank, default=None)


def _rank(signal: Signal) -> tuple[int, int, float]:
    place = _STATES.index(signal.state) if signal.state in _STATES else -1
    return _GUARDS.index(signal.guard), place, -(signal.age_s or 0.0)
