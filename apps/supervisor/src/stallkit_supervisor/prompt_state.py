"""What a session shows, and what was done at the prompt that is there: nothing is answered twice.  Pure."""

from __future__ import annotations

import hashlib

from attrs import evolve, field, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit_supervisor.notification import NoticeSubject, subject_of

_ALIKE = (State.WORKING, State.ENDED, State.IDLE)
_EARLIER = "earlier"  # in place of a topic, in what an earlier edition noted
DOUBT_S = 2.0  # of rest, or of a doubtful look, before it is news
IDLE_S = 6.0  # the same for an agent at rest whose screen moves: between two looks it may have been typed at


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


def observed(verdict: Verdict, subject: NoticeSubject | None = None) -> Observed:
    """What a verdict shows; `subject` is what it asks, if the looks before it have a say.

    All work is alike, and all ends, whatever is left on the screen; so is all rest, except what it asks.
    """
    subject = subject or subject_of(verdict)
    if verdict.state in _ALIKE:
        asks = subject.key if subject and verdict.state is State.IDLE else None
        return Observed(verdict.state, None, asks)
    match = verdict.match
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    varies = subject is not None and verdict.state is State.WAITING
    line = hashlib.sha256(match.line.encode("utf-8", "replace")).hexdigest()[:16] if match and varies else None
    return Observed(verdict.state, name, subject.key if subject and varies else None, line)


@frozen
class PromptState:
    """What the looks showed, and the prompt that was acted on."""

    seen: Observed | None = None  # at the last look
    seen_from: float = 0.0  # on, without a change
    screen: str = ""  # its fingerprint, at the last look ...
    screen_from: float = 0.0  # ... and since when it is the same, with what was seen
    logged: Observed | None = None  # by the latest `detection` event
    at: Observed | None = None  # the subject of the next three: unlike `seen` it outlasts an undecided look
    at_screen: str | None = None  # its fingerprint
    reported: frozenset[str] = frozenset()  # what was reported of it: each is reported once
    pressed: bool = False  # a key was pressed at it, or perhaps: never press again
    refused: int = 0  # this many tries at it

    def after(self, shown: Observed, screen: str, verdict: Verdict, now: float) -> PromptState:
        """After a look: another prompt begins again, unless it is open if the one before is still there."""
        same = shown == self.seen
        stands = same and screen == self.screen
        after = evolve(
            self,
            seen=shown,
            seen_from=self.seen_from if same else now,
            screen=screen,
            screen_from=self.screen_from if stands else now,
            at=self.at or self.seen,
        )
        if after.at is not None and after.at.same(shown):
            return evolve(after, at=shown, at_screen=screen)
        if self._is_open(verdict, screen):
            return after
        return evolve(after, at=shown, at_screen=screen, reported=frozenset(), pressed=False, refused=0)

    def _is_open(self, verdict: Verdict, screen: str) -> bool:
        """Whether a look leaves open if the prompt before is still there: only one that surely went may come back.

        A pattern that ran out of its time hides a prompt for one look, as does a program that reads its keyboard in
        turns.
        """
        undecided = verdict.state is State.UNKNOWN or bool(verdict.detection.undecided)
        return undecided or (self.pressed and screen == self.at_screen)

    def is_news(self, verdict: Verdict, now: float) -> bool:
        """Whether the log has to say what is seen: rest, and what is doubtful, once it lasted `DOUBT_S`.

        A program may say a second before its dialog is drawn that it waits, an agent rests between two steps of its
        work, and a screen that is drawn in pieces is many.
        """
        idle = verdict.state is State.IDLE
        clear = verdict.certainty is Certainty.SURE and not idle
        rests_s = now - (self.screen_from if idle else self.seen_from)
        return self.seen != self.logged and (clear or rests_s >= DOUBT_S or now - self.seen_from >= IDLE_S)

    def concluded(self, subject: Observed | None, end: End) -> PromptState:
        """After an action at that subject came to this end.

        What was refused did not happen.  What went away may come back, and be answered again; what is still there, or
        was not seen since, is not, though a look in between saw something else.
        """
        if end in (End.CLEARED, End.REPLACED, End.GONE):
            return PromptState()
        if end is End.REFUSED:
            there = self.at is not None and self.at.same(subject)
            return evolve(self, pressed=False, refused=self.refused + 1) if there else self
        if self.at == subject:
            return evolve(self, pressed=True)
        return evolve(self, pressed=True, at=subject, at_screen=None)
