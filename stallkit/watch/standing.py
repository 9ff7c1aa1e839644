"""What is remembered of one watched session, and what the end of an act, or a signal, makes of it.

Pure.  What a look leads to is `stallkit.watch.reaction`'s.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import hashlib
from typing import Any

from attrs import evolve, field, frozen

from stallkit.core.signature import Certainty, State
from stallkit.core.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import Deed, Policy, Restart, Resume
from stallkit.watch.heartbeat import Pulse, Tempo
from stallkit.watch.limits import Counts, Limits

__all__ = ["Do", "Halt", "Loop", "Rules", "Say", "Shown", "Standing", "Step", "anew", "came", "rehearsed", "shown"]
__all__ += ["signalled"]

ANSWERED = "it was answered once, or perhaps, and is still there: it is not again"
RESTARTS = Limits(per_iteration=3, total=10, in_window=3, window_s=3600.0)
BACK_OFF_S = 5.0  # before a second restart, doubled for each further one


@frozen
class Rules:
    """What a session is watched by."""

    policy: Policy
    tempo: Tempo = field(factory=Tempo)
    limits: Limits = field(factory=Limits)
    restarts: Limits = RESTARTS
    back_off_s: float = BACK_OFF_S
    waits_for_quota: bool = True  # off: a used-up limit is told, and nothing waits for its end
    resumes: bool = False  # where the limit is free again, the keys that are configured are pressed


@frozen
class Do:
    """Carry the decision out, then say what came of it with `came`."""

    decision: Deed


@frozen
class Say:
    """An event."""

    name: str
    facts: dict[str, Any] = field(factory=dict)


@frozen
class Halt:
    """Nothing is done to this session any more: `.auto-stop` is to be written, with this reason."""

    reason: str
    why: str


@frozen
class Loop:
    """The look is of another session, whose counts are these; `new`: it has the name of one before, and begins anew."""

    identity: str
    new: bool


Step = Do | Say | Halt | Loop


@frozen
class Shown:
    """What a look showed, as far as another look has to differ to be news."""

    state: State
    certainty: Certainty
    signature: str | None
    line: str | None  # of a prompt, hashed: the next one of the same form is another

    def same(self, other: Shown) -> bool:
        """Whether it is the same thing, however sure of it either look is."""
        return evolve(self, certainty=other.certainty) == other and bool(self.signature or self == other)

    @classmethod
    def kept(cls, text: str) -> Shown:
        """What `str` wrote down."""
        state, certainty, rest = text.split(" ", 2)
        signature, _, line = rest.rpartition(" ")  # a pack's name may hold a blank
        return cls(State(state), Certainty(certainty), signature or None, line or None)

    def __str__(self) -> str:
        return f"{self.state} {self.certainty} {self.signature or ''} {self.line or ''}"


def shown(verdict: Verdict) -> Shown:
    """What a verdict shows.  All work is alike: which line says so, and how sure, changes with every other look."""
    if verdict.state is State.WORKING:
        return Shown(State.WORKING, Certainty.SURE, None, None)
    match = verdict.match
    asks = match is not None and verdict.state is State.WAITING
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    line = hashlib.sha256(match.line.encode("utf-8", "replace")).hexdigest()[:16] if match and asks else None
    return Shown(verdict.state, verdict.certainty, name, line)


@frozen
class Standing:
    """What is remembered of one session."""

    identity: str = ""  # of the session, as far as it was seen: another one is looked at anew
    adopts: bool = True  # the next identity goes on with the counts: it is the first one, or one that we start
    pulse: Pulse | None = None
    seen: Shown | None = None  # at the last look
    at: Shown | None = None  # what the next three are about: unlike `seen` it outlasts a look that says nothing
    at_screen: str | None = None  # its fingerprint
    told: frozenset[str] = frozenset()  # what was said of it: it is said once
    pressed: bool = False  # a key was pressed at it, or perhaps: never again
    refused: int = 0  # so many tries at it
    counts: Counts = field(factory=Counts)
    restarts: Counts = field(factory=Counts)
    restart_from: float = 0.0  # not before
    waits: bool = False  # for a limit of use to be free again
    free_at: float | None = None  # when it is, as far as anybody said
    halted: str | None = None  # why nothing is done any more
    busy: bool = False  # something is being done just now
    doing: Shown | None = None  # at what


def came(before: Standing, decision: Deed, end: End) -> Standing:
    """The standing after a decision was carried out; `end` says how that ended.

    What was refused did not happen and counts for nothing.  What went away may come back, and be answered again; what
    is still there, or was not seen since, is not, though a look in between saw something else.
    """
    after = evolve(before, busy=False, doing=None)
    if end is End.REFUSED:
        if isinstance(decision, Restart):
            after = evolve(after, restarts=before.restarts.one_less(), adopts=not before.identity)
        else:
            after = evolve(after, counts=before.counts.one_less())
        there = before.at == before.doing
        return evolve(after, pressed=False, refused=before.refused + 1) if there else after
    if end in (End.CLEARED, End.REPLACED, End.GONE):
        free_at = None if isinstance(decision, Resume) else before.free_at  # a limit that holds names a new time
        return evolve(anew(after), free_at=free_at)
    if before.at == before.doing:
        return evolve(after, pressed=True)
    return evolve(after, pressed=True, at=before.doing, at_screen=None)


def anew(standing: Standing) -> Standing:
    """What is there next is looked at as if nothing had been."""
    return evolve(standing, seen=None, at=None, at_screen=None, told=frozenset(), pressed=False, refused=0)


def rehearsed(before: Standing, after: Standing) -> Standing:
    """The standing after a decision that was only said, in a dry run: it counts for nothing, and is said once."""
    told = after.told | {ANSWERED}
    counts, restarts, adopts = before.counts, before.restarts, before.adopts and before.identity == after.identity
    return evolve(
        after, busy=False, doing=None, counts=counts, restarts=restarts, adopts=adopts, told=told, pressed=True
    )


def signalled(before: Standing, reset_total: bool = False) -> Standing:
    """The standing after a signal that an iteration begins (requirement D6)."""
    pulse = evolve(before.pulse, unchanged=0) if before.pulse else None
    restarts = before.restarts.new_iteration(reset_total)
    return evolve(before, pulse=pulse, counts=before.counts.new_iteration(reset_total), restarts=restarts)
