"""Conditions over claims that say themselves in words: what the rules of the table are made of."""

from __future__ import annotations

from typing import Callable

from attrs import frozen

from stallkit.detect.signature import State
from stallkit.evidence.claim import Claim, Claims, Sign, Source, Weight

__all__ = ["When", "claims", "state", "weighs"]


@frozen
class When:
    """A condition, in words and as a function of the claims; `no` are the words for its contrary.

    >>> front, rest = claims(Source.FOREGROUND), claims(Source.KERNEL, Sign.READS)
    >>> str(front & ~rest), (front & ~rest)(Claims())
    ('a program is in front; not: something reads, and the screen rests', False)
    """

    words: str
    holds: Callable[[Claims], bool]
    no: str = ""

    def __call__(self, of: Claims) -> bool:
        return self.holds(of)

    def __str__(self) -> str:
        return self.words

    def __and__(self, other: When) -> When:
        return When(f"{self}; {other}", lambda of: self(of) and other(of))

    def __or__(self, other: When) -> When:
        return When(f"{self}, or {other}", lambda of: self(of) or other(of))

    def __invert__(self) -> When:
        return When(self.no or f"not: {self}", lambda of: not self(of), self.words)

    def called(self, words: str, no: str = "") -> When:
        """The same condition by a name, and by one for its contrary."""
        return When(words, self.holds, no)


_ANY = {
    Source.SCREEN: "the screen says something",
    Source.MOTION: "the screen changes",
    Source.FOREGROUND: "a program is in front",
    Source.READ: "a read blocks, and nothing else can go on",
    Source.LEFT: "an agent is gone",
    Source.PROGRESS: "a progress bar runs",
}


def claims(source: Source, *signs: Sign) -> When:
    """That a source claims something, or one of these things."""
    words = " or ".join(signs) if signs else _ANY.get(source, f"{source} claims something")
    return When(words, lambda of: _has(of.by(source), lambda claim: not signs or claim.sign in signs))


def state(source: Source, *states: State) -> When:
    """That a source claims one of these states."""
    said = f"{source} says {' or '.join(states)}"
    return When(said, lambda of: _has(of.by(source), lambda claim: claim.state in states))


def weighs(source: Source, weight: Weight) -> When:
    """That the claim of a source weighs so much, or more."""
    said = f"{source}'s claim is {weight.word} or more"
    return When(said, lambda of: _has(of.by(source), lambda claim: claim.weight >= weight))


def _has(claim: Claim | None, holds: Callable[[Claim], bool]) -> bool:
    return claim is not None and holds(claim)
