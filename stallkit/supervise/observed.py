"""What a look showed, in short: what is news, and what a key was pressed at.  Pure."""

from __future__ import annotations

from attrs import frozen

from stallkit.core.signature import Certainty, State
from stallkit.core.topic import Topic, topic_of
from stallkit.core.verdict import Verdict

__all__ = ["Observed", "observed"]


@frozen
class Observed:
    """What a look showed; a look that differs from it is news.  More or less sure of the same is none."""

    state: State
    signature: str | None
    line: str | None  # of a prompt, hashed, or how a turn ended: distinguishes the next one of the same form

    @classmethod
    def kept(cls, text: str) -> Observed:
        """The inverse of `str`; earlier editions wrote how sure it was as the second word."""
        state, rest = text.split(" ", 1)
        first, _, others = rest.partition(" ")
        signature, _, line = (others if first in set(Certainty) else rest).rpartition(" ")  # a name may hold a blank
        return cls(State(state), signature or None, line or None)

    def __str__(self) -> str:
        return f"{self.state} {self.signature or ''} {self.line or ''}"


def observed(verdict: Verdict, topic: Topic | None = None) -> Observed:
    """What a verdict shows; `topic` is what it asks, where the looks before it have a say.  All work is alike."""
    if verdict.state is State.WORKING:
        return Observed(State.WORKING, None, None)
    match, topic = verdict.match, topic or topic_of(verdict)
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    varies = topic is not None and verdict.state in (State.WAITING, State.IDLE)
    return Observed(verdict.state, name, topic.key if topic and varies else None)
