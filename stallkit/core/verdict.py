"""What one look at a session found, and what it means: `Snapshot` and `Verdict`, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Mapping

from stallkit.core.claim import Claims
from stallkit.core.short_repr import short_repr
from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import Certainty, Kind, State
from stallkit.core.values import evolve, field, frozen

if TYPE_CHECKING:  # a look needs no engine
    from types import EllipsisType

    from stallkit.core.ended_turn import EndedTurn
    from stallkit.core.engine import Detection, Match
    from stallkit.core.facts import KernelFacts, TtyFacts
    from stallkit.core.hung import Hung
    from stallkit.core.marks import Marks
    from stallkit.core.request import Request
    from stallkit.core.screen import Screen

__all__ = ["Ended", "ProcessFacts", "Snapshot", "Verdict"]


@frozen
class ProcessFacts:
    """What is known of the process in the terminal's foreground; None is unknown.

    >>> ProcessFacts("vim", 4711).foreground
    'vim'
    """

    foreground: str | None = None
    pid: int | None = None  # of the session's own first process


@frozen
class Snapshot:
    """One look at one session: the screen and what else is known; None is unknown.

    >>> from stallkit import MemoryTransport
    >>> MemoryTransport("Proceed? [y/N] ").capture().screen.text
    'Proceed? [y/N]'
    """

    screen: Screen
    taken_at: float | None = None  # seconds of a monotonic clock
    alive: bool | None = None
    exit_status: int | None = None
    process: ProcessFacts | None = None
    kernel: KernelFacts | None = None
    tty: TtyFacts | None = None
    marks: Marks | None = None
    signals: tuple[Signal, ...] = ()  # what its programs say of themselves outside its output, read with this look
    quiet_s: float | None = None  # since the screen last changed; 0: it is changing
    printed_at: float | None = None  # when something was last printed, at the latest: seconds of the wall clock
    accepts_keys: bool | None = None
    elsewhere: bool = False  # its processes are another machine's: here their numbers mean nothing
    sealed: bool = False  # no key may go in, whoever presses it: only replies to its own notices
    pressed_at: float | None = None  # when stallkit last pressed a key at this same screen, on the clock of `taken_at`
    started_in: str | None = None  # the folder that an operator started the session's program in, and so trusts
    target: str = ""
    identity: str = ""  # differs when the same name means another session

    __repr__ = short_repr("target", "screen", "alive", "exit_status")

    def below(self, row: int) -> Snapshot:
        """It with the rows of its screen from one on."""
        return evolve(self, screen=self.screen.below(row)) if row else self

    @property
    def foreground(self) -> str | None:
        """The name of the foreground process, from the transport or else from the kernel; or None.

        Where the look went through a relay, it is the program on the inner terminal.
        """
        named = self.process.foreground if self.process else None
        known = self.kernel.foreground if self.kernel else None
        return known if self.kernel and self.kernel.through else named or known


class Ended(StrEnum):
    """What is left in a session whose state is *ended*."""

    SHELL = "shell"  # a shell at its prompt, and no agent was there at the looks that were given
    AGENT = "agent"  # a shell at its prompt, where an agent was
    WRAPPED = "wrapped"  # what started the agent: it may start it again, ask, or do nothing


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

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON, redacted and without the screen; the JSON schema is ``json_schema("verdict")``."""
        from stallkit.core.plain import VERSION, describe
        from stallkit.core.redact import redact_all

        plain: dict[str, Any] = redact_all({"version": VERSION, **describe(self)})
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Verdict:
        """What `to_dict` returned, as a verdict; its signature is known by its name alone, in ``detection.told``.

        So there is no `match`, and nothing that was read back leads to a key.  What a command prints with ``--json`` is
        taken as well, its further keys left out.  Raises ValueError, in one line, for anything else.

        >>> from stallkit import StreamTransport
        >>> stream = StreamTransport()
        >>> stream.feed(b"Proceed? [y/N] ")
        >>> back = Verdict.from_dict(stream.verdict().to_dict())
        >>> str(back.state), back.detection.told.signature
        ('waiting', 'yes_no')
        """
        from stallkit.core.restored import of_version, verdict_of

        return verdict_of(of_version(plain, "a verdict"))

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
