"""What programs say of themselves, ranked with what their screen shows: the rows of docs/signals.md.

A signal that is bound to a process, or comes under the name of the program in the foreground, ranks above the screen
for the state; kind and usage limits stay the screen's.  Where both disagree the verdict is doubtful and tells both.
"""

from __future__ import annotations

from typing import Sequence

from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import Certainty, Kind, Signature, State, Tier
from stallkit.core.values import evolve
from stallkit.core.verdict import Verdict

__all__ = ["decisive", "ranked"]

_GUARDS = (Guard.NONE, Guard.NAMED, Guard.PROCESS)
_REPORTED = (Kind.PERMISSION, Kind.QUESTION, Kind.LOGIN, Kind.SECRET)  # what a status report names as a wait
_OF_TURNS = frozenset({"copilot"})  # sources that know an agent's turns, and no menu nor dialog outside of them
_STATES = (State.IDLE, State.WORKING, State.WAITING)  # who waits needs a person, whatever its other parts do


def decisive(signals: Sequence[Signal]) -> Signal | None:
    """The signal that decides: the best guarded, of those the one that waits, of those the latest; or None."""
    return max((signal for signal in signals if signal.counts), key=_rank, default=None)


def ranked(verdict: Verdict, signals: Sequence[Signal]) -> Verdict:
    """The verdict from screen and kernel, confirmed or corrected by what the program says of itself.

    A verdict that is sure through a signal alone is marked as such (`Verdict.by_signal`): no key follows from it.
    """
    says = decisive(signals)
    if says is None or says.state is None:
        return verdict
    if verdict.state is State.ENDED:
        return verdict if says.state is State.IDLE else _doubtful(verdict, says)
    if says.state is verdict.state:
        return _agreed(verdict, says)
    if says.guard is Guard.NONE:
        return _claimed(verdict, says)
    return _corrected(verdict, says)


def _agreed(verdict: Verdict, says: Signal) -> Verdict:
    kind = verdict.kind or says.kind
    seen = verdict.match is not None
    sure = says.guard is Guard.PROCESS or (says.guard is Guard.NAMED and not seen)
    if verdict.certainty is Certainty.SURE or not sure:
        return verdict.but(says.told, kind=kind)
    # What the kernel or a signature guesses of a prompt without words ranks below what its program says of it.
    return _by(verdict.but(says.told, certainty=Certainty.SURE, kind=kind if seen else says.kind or kind))


def _claimed(verdict: Verdict, says: Signal) -> Verdict:
    """Anything that prints may have said it: it names the state where nothing else does, and else raises a doubt."""
    if verdict.match is None and verdict.certainty is Certainty.MAYBE:
        return verdict.but(says.told, state=says.state, kind=says.kind)
    if says.state is State.WAITING and verdict.state in (State.WORKING, State.IDLE):
        return _doubtful(verdict, says)
    return verdict.but(f"but {says.told}")


def _corrected(verdict: Verdict, says: Signal) -> Verdict:
    """It names another state than the screen, in the program's own name."""
    signature = verdict.match.signature if verdict.match else None
    if signature is None or signature.state is not verdict.state:
        if verdict.certainty is Certainty.SURE and verdict.state is State.WAITING:
            return _doubtful(verdict, says)  # a secret that the kernel saw
        return _by(verdict.but(says.told, state=says.state, certainty=Certainty.SURE, kind=says.kind))
    if verdict.state is State.QUOTA and says.state is State.IDLE:
        return verdict.but(says.told)  # a program that a limit holds up is at rest
    if _opened(verdict, signature, says):
        return verdict.but(says.told)
    named = says.guard is Guard.NAMED and verdict.state is State.WAITING  # whatever prints in it can take its name
    if named or signature.tier in (Tier.DIALOG, Tier.QUOTA):
        return _doubtful(verdict, says)
    return verdict.but(f"but {says.told}", state=says.state, certainty=Certainty.MAYBE, kind=says.kind)


def _opened(verdict: Verdict, signature: Signature, says: Signal) -> bool:
    """Whether it is a dialog that a program at rest may show: reports name no menu that a person opened."""
    rests = says.state is State.IDLE and (says.guard is Guard.NAMED or says.source in _OF_TURNS)
    return rests and signature.tier is Tier.DIALOG and signature.dismissal is None and verdict.kind not in _REPORTED


def _doubtful(verdict: Verdict, says: Signal) -> Verdict:
    return verdict.but(f"but {says.told}", certainty=Certainty.MAYBE)


def _by(verdict: Verdict) -> Verdict:
    return evolve(verdict, by_signal=True)


def _rank(signal: Signal) -> tuple[int, int, float]:
    place = _STATES.index(signal.state) if signal.state in _STATES else -1
    return _GUARDS.index(signal.guard), place, -(signal.age_s or 0.0)
