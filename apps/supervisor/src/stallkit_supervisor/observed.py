"""What a look showed, in short: what is news, and what a key was pressed at.  Pure."""

from __future__ import annotations

import hashlib

from attrs import field, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.judging.verdict import Verdict
from stallkit_supervisor.topic import Topic, topic_of

__all__ = ["Observed", "observed"]

_ALIKE = (State.WORKING, State.ENDED, State.IDLE)
_EARLIER = "earlier"  # in place of a topic, in what an earlier edition noted


@frozen
class Observed:
    """What a look showed; a look that differs from it is news.  More or less sure of the same is none.

    `topic` distinguishes the next prompt of the same form; what earlier editions noted has only its `line`, hashed.
    """

    state: State
    signature: str | None
    topic: str | None
    line: str | None = field(default=None, eq=False)

    def same(self, other: Observed | None) -> bool:
        """Whether both are of one prompt, as far as it is known."""
        if other is None or _EARLIER not in (self.topic, other.topic):
            return self == other
        return (self.state, self.signature, self.line) == (other.state, other.signature, other.line)

    @classmethod
    def kept(cls, text: str) -> Observed:
        """The inverse of `str`; earlier editions wrote how sure it was as the second word."""
        state, rest = text.split(" ", 1)
        first, _, others = rest.partition(" ")
        earlier = first in set(Certainty)
        signature, _, word = (others if earlier else rest).rpartition(" ")  # a pack's name may hold a blank
        if earlier:
            return cls(State(state), signature or None, _EARLIER, word or None)
        return cls(State(state), signature or None, word or None)

    def __str__(self) -> str:
        return f"{self.state} {self.signature or ''} {self.topic or ''}"


def observed(verdict: Verdict, topic: Topic | None = None) -> Observed:
    """What a verdict shows; `topic` is what it asks, where the looks before it have a say.

    All work is alike, and all ends, whatever is left on the screen; so is all rest, but for what it asks.
    """
    topic = topic or topic_of(verdict)
    if verdict.state in _ALIKE:
        asks = topic.key if topic and verdict.state is State.IDLE else None
        return Observed(verdict.state, None, asks)
    match = verdict.match
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    varies = topic is not None and verdict.state is State.WAITING
    line = hashlib.sha256(match.line.encode("utf-8", "replace")).hexdigest()[:16] if match and varies else None
    return Observed(verdict.state, name, topic.key if topic and varies else None, line)
