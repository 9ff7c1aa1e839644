"""Why a verdict is what it is, for a person: what was heard, in the order in which it was weighed."""

from __future__ import annotations

from typing import Iterator

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.claim import MATCHED, NOBODY, READS, Claim, Claims, Sign, Source, Weight
from stallkit.judging.table import Outcome, contradicted, refuted

__all__ = ["reasons"]

MAYBE = Certainty.MAYBE


def reasons(of: Claims, outcome: Outcome, unknown: str | None) -> tuple[str, ...]:
    """What speaks for the outcome and against it; `unknown` is what is not known that would make it sure."""
    if of.kernel is not None and of.kernel.sign in (Sign.STOPPED, Sign.SECRET):
        return of.kernel.why
    found = list(dict.fromkeys([*_shown(of, unknown), *_besides(of, outcome), *_said(of, outcome)]))
    return tuple(found)


def _shown(of: Claims, unknown: str | None) -> Iterator[str]:
    """Screen and kernel."""
    screen, kernel = of.screen, of.kernel
    if screen is None or screen.sign not in MATCHED:
        yield from _unmatched(of)
        surely = of.kernel is not None and of.kernel.sign in NOBODY and not (of.foreground and of.foreground.kind)
        if surely and unknown is not None:
            yield unknown
    elif refuted(of):
        yield from _refuted(of, screen)
    else:
        yield from screen.why
        sign, waits = kernel.sign if kernel else None, screen.state is State.WAITING
        if kernel is not None and sign in READS and screen.state is State.WORKING:
            yield f"but {kernel.why[0]}"
        elif kernel is not None and sign in NOBODY:
            yield kernel.why[-1] if waits else kernel.why[0]
        elif kernel is not None and waits and sign is not Sign.HIDDEN:
            among = ", while other rows move" if sign is Sign.READS_MOVING and screen.sign is Sign.PROMPT else ""
            yield f"{kernel.why[0]}{among}"
        doubtful = screen.weight is Weight.GUESS or screen.weight is Weight.OWN_WORD or (sign in NOBODY and waits)
        settled = (waits and sign is Sign.HIDDEN) or (sign in READS and screen.state is State.WORKING)
        if unknown is not None and not doubtful and not settled:
            yield unknown
        yield from screen.hidden


def _refuted(of: Claims, screen: Claim) -> Iterator[str]:
    """A prompt that is quoted or answered."""
    kernel, front = of.kernel, of.foreground
    if front is not None and front.sign is Sign.ASKS_NOTHING:
        yield from (screen.why[0], front.why[1])
        if kernel is not None and kernel.sign in NOBODY:
            yield kernel.why[0]
        elif kernel is not None and kernel.sign in READS:
            yield f"but {kernel.why[0]}"
        return
    yield from screen.why
    nobody = kernel is not None and kernel.sign is Sign.NOBODY_READS
    yield f"quoted or answered: {kernel.why[0]}" if kernel and nobody else "the screen is changing"


def _unmatched(of: Claims) -> Iterator[str]:
    """A screen without a signature."""
    screen, kernel, front = of.screen, of.kernel, of.foreground
    sign, pager = kernel.sign if kernel else None, front is not None and front.sign is Sign.PAGER
    drawn = screen is not None and (screen.sign is Sign.UNDECIDED or front is None)
    if kernel is not None and sign in (Sign.READS, Sign.LINE_EDITOR) and not drawn and not pager:
        yield from kernel.why
        return
    told = screen is not None and (screen.sign is Sign.UNDECIDED or (screen.sign is Sign.EMPTY and not front))
    if not told or (of.motion and screen and screen.sign is Sign.EMPTY):
        yield "no signature matches"
    shown = screen if screen and screen.sign is Sign.UNDECIDED else of.motion or front or screen
    if shown is not None:
        yield shown.why[0] if shown.source is not Source.SCREEN else shown.why[-1]
    if kernel is not None and sign in NOBODY:
        yield f"quoted or answered: {kernel.why[0]}" if pager and sign is Sign.NOBODY_READS else kernel.why[0]
    elif kernel is not None and sign in READS:
        yield (
            kernel.why[-1 if sign is Sign.COMPUTES else 0]
            if sign is not Sign.READS_ONCE or pager
            else f"but {kernel.why[0]}"
        )


def _besides(of: Claims, outcome: Outcome) -> Iterator[str]:
    """The form, what is left, a read that blocks."""
    for claim in (of.form, of.left):
        if claim is not None:
            yield from claim.why
    if of.read is not None and outcome.by is Source.READ:
        yield from of.read.why


def _said(of: Claims, outcome: Outcome) -> Iterator[str]:
    """What the shell, a progress bar and the program say."""
    if of.signal is not None:
        guess = of.signal.weight is Weight.GUESS
        against = of.signal.state is not outcome.state if guess else contradicted(of) and outcome.certainty is MAYBE
        yield f"but {of.signal.why[0]}" if against else of.signal.why[0]
        return
    for claim in (of.shell, of.progress):
        if claim is not None and (claim.source is outcome.by):
            yield from claim.why
    if (
        of.shell is not None
        and of.shell.sign is Sign.RUNNING
        and outcome.state is State.ENDED
        and outcome.certainty is MAYBE
    ):
        yield from of.shell.why
