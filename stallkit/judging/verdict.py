"""What a look at a session means, as a value: `Verdict`."""

from __future__ import annotations

from types import EllipsisType

from attrs import evolve, field, frozen

from stallkit.detect.engine import Detection, Match
from stallkit.detect.signature import Certainty, Kind, Request, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.claim import Claims
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import Snapshot
from stallkit.evidence.turn import EndedTurn
from stallkit.short_repr import short_repr


@frozen
class Hung:
    """For how long nothing has happened, and what shows it, in words for a person."""

    since_s: float
    evidence: tuple[str, ...] = ()


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
    ended: AfterExit | None = None  # of a session that is ended, or that a limit ended: what is left
    retrying: str | None = None  # the words of a program that goes on by itself: a retry, or a limit's end
    by_signal: bool = False  # sure only because of a signal: no reason to press a key
    by_read: bool = False  # sure only because it blocks in a read: what it asks is not known by that, so no key follows
    proof_in_s: float | None = None  # after that long a blocked read makes it sure, if nothing moves until then
    hung: Hung | None = None  # it says that it works, and nothing happens
    inside: str | None = None  # what a program asks inside its work (git, ssh, sudo), in words for a person
    claims: Claims | None = field(default=None, eq=False, repr=False)  # what each source claimed ...
    rule: str = field(default="", eq=False, repr=False)  # ... and the row of the table that decided
    snapshot: Snapshot | None = field(default=None, eq=False, repr=False)  # the look; None: it was read from JSON

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
        """What is asked, field by field; None if the dialog was not wholly recognised, or says nothing."""
        return self.detection.request

    @property
    def asking_rows(self) -> list[str]:
        """What is kept of a screen that asks: the rows of a dialog that its pack wholly recognises, else a few."""
        dialog = self.detection.dialog
        return [row.text.rstrip() for row in dialog.rows] if dialog else self.detection.screen.live

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

    @property
    def may_ask_inside(self) -> bool:
        """Whether an agent is there, and neither surely at rest nor at a dialog of its own."""
        rests = self.state in (State.IDLE, State.WAITING, State.QUOTA) and self.certainty is Certainty.SURE
        return bool(self.agents) and not rests

    def but_asked_inside(self, asks: str) -> Verdict:
        """The verdict on an agent in whose work a program asks: it works, whatever its screen looks like meanwhile."""
        working = self.but(f"inside its work {asks}", state=State.WORKING, certainty=Certainty.SURE, kind=None)
        return evolve(working, inside=asks, ended_turn=None)

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
