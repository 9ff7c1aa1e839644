"""What a look at a session means, as a value: `Verdict`."""

from __future__ import annotations

from types import EllipsisType
from typing import Self

from attrs import evolve, field, frozen

from stallkit.detect.engine import Detection, Match
from stallkit.detect.request import Request
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.detect.signature_ref import SignatureRef
from stallkit.evidence.agents import Ended
from stallkit.evidence.claim import Claims
from stallkit.evidence.ended_turn import EndedTurn
from stallkit.evidence.hang import Hung
from stallkit.evidence.signal import Guard, Signal
from stallkit.json_form import SPREAD, alike, json_form
from stallkit.short_repr import short_repr
from stallkit.terminal.screen import Screen

__all__ = ["Verdict"]


@frozen
class Verdict:
    """What the session is doing, how sure that is, and why; `kind` is what it asks for.

    >>> from stallkit import MemoryTransport, check
    >>> verdict = check(MemoryTransport("Proceed? [y/N] ")).verdict
    >>> str(verdict.state), str(verdict.kind), str(verdict.certainty), verdict.reasons[0]
    ('waiting', 'confirm', 'maybe', "shell_yn:yes_no on the line 'Proceed? [y/N]'")
    """

    state: State
    certainty: Certainty
    kind: Kind | None
    detection: Detection
    reasons: tuple[str, ...]
    signals: tuple[Signal, ...] = ()  # what its programs say of themselves
    ended_turn: EndedTurn | None = None  # of an agent that is idle: whether it is done, asks or failed
    agents: frozenset[str] | None = None  # in the foreground, by name; None: one may be there unseen
    ended: Ended | None = None  # of a session that is ended, or that a limit ended: what is left
    retrying: str | None = None  # the words of a program that goes on by itself: a retry, or a limit's end
    by_signal: bool = False  # sure only because of a signal: no reason to press a key
    by_read: bool = False  # sure only because it blocks in a read: what it asks is not known by that, so no key follows
    proof_in_s: float | None = None  # after that long a blocked read makes it sure, if nothing moves until then
    hung: Hung | None = None  # it says that it works, and nothing happens
    inside: str | None = None  # what a program asks inside its work (git, ssh, sudo), in words for a person
    claims: Claims | None = field(default=None, eq=False, repr=False)  # what each source claimed ...
    rule: str = field(default="", eq=False, repr=False)  # ... and the row of the table that decided

    __repr__ = short_repr("state", "certainty", "kind", "match")

    @property
    def match(self) -> Match | None:
        """The signature that matched, if one did."""
        return self.detection.match

    @property
    def shows_agent(self) -> bool:
        """Whether an agent is there: among the processes, or else surely by what it shows.

        Such a look is what `judge` wants to know later as `agent_seen`.
        """
        by_screen = self.match is not None and bool(self.match.pack.own)
        seen = by_screen and self.certainty is Certainty.SURE and self.state is not State.ENDED
        return bool(self.agents) if self.agents is not None else seen

    @property
    def sure_by_screen(self) -> bool:
        """Whether it is sure what is asked, by the screen that the kernel confirms: what a key needs."""
        return self.certainty is Certainty.SURE and not self.by_signal and not self.by_read

    @property
    def request(self) -> Request | None:
        """What is asked, field by field; None where the dialog was not wholly recognised, or says nothing."""
        return self.detection.request

    @property
    def says_it_works(self) -> bool:
        """Whether the program itself says that it works, by its screen or a guarded signal: only then it may be hung.

        Of a program of which it is only known that it reads no key, silence says nothing.
        """
        if self.state is not State.WORKING:
            return False
        by_screen = self.match is not None and self.match.signature.state is State.WORKING
        return by_screen or any(
            one.counts and one.state is State.WORKING and one.guard is not Guard.NONE for one in self.signals
        )

    def but_hung(self, hung: Hung | None) -> Verdict:
        """The verdict on a session in which nothing has happened for too long, with that as its reason."""
        if hung is None:
            return self
        return evolve(self.but(f"hung: nothing has happened for {hung.since_s:.0f} s"), hung=hung)

    def but(
        self,
        why: str,
        state: State | None = None,
        certainty: Certainty | None = None,
        kind: Kind | EllipsisType | None = ...,
    ) -> Verdict:
        """The verdict with one more reason, and what follows from it; arguments left out change nothing."""
        return evolve(
            self,
            state=state or self.state,
            certainty=certainty or self.certainty,
            kind=self.kind if kind is ... else kind,
            reasons=(*self.reasons, why),
        )


@frozen
class SignalJson:
    """What a program says of itself, and whether it counts."""

    signal: Signal = field(metadata=SPREAD)
    counts: bool


@json_form(Verdict)
@frozen
class VerdictJson:
    """What a session does, how sure that is and why, and what it asks."""

    state: State
    certainty: Certainty
    by_signal: bool
    by_read: bool
    kind: Kind | None
    said: SignatureRef = field(metadata=SPREAD)
    reasons: tuple[str, ...]
    agents: frozenset[str] | None
    ended: Ended | None
    retrying: str | None
    ended_turn: EndedTurn | None
    asks_inside: str | None
    hung: Hung | None
    signals: tuple[SignalJson, ...]

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        hung = evolve(verdict.hung, since_s=round(verdict.hung.since_s, 1)) if verdict.hung else None
        signals = tuple(SignalJson(one, one.counts) for one in verdict.signals)
        inside, said = verdict.inside, verdict.detection.said
        return alike(cls, verdict, said=said, asks_inside=inside, hung=hung, signals=signals)

    @property
    def value(self) -> Verdict:
        found = Detection(Screen.from_text(""), told=self.said)
        signals = tuple(one.signal for one in self.signals)
        return alike(Verdict, self, detection=found, inside=self.asks_inside, signals=signals)
