"""What is remembered of one watched session, and what a look, the end of an action or a signal makes of it.

Pure: the driver (`stallkit.supervise.supervisor`) says what it saw and when, does what comes out, and says what came of
it.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import hashlib
from typing import Any

from attrs import evolve, field, frozen

from stallkit.core.signature import Certainty, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.events import describe
from stallkit.press.gate import End
from stallkit.press.policy import Decision, Deed, Escalate, Ignore, Policy, Press, Restart, Resume, Scene, Stop, Wait
from stallkit.supervise.limits import STALL_LIMIT, Counts, Limits
from stallkit.supervise.schedule import Pulse, Tempo, beat

__all__ = [
    "DOUBLINGS",
    "Do",
    "Halt",
    "Loop",
    "Rules",
    "Say",
    "Shown",
    "Standing",
    "Step",
    "TRIES",
    "anew",
    "came",
    "rehearsed",
    "saw",
    "shown",
    "signalled",
]

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


TRIES = 3  # refusals at one prompt before a person is told: what refuses may be a passing thing, or stay
DOUBLINGS = 10  # of the pause before a restart, and no more of them


def saw(
    before: Standing, verdict: Verdict, snapshot: Snapshot, now: float, rules: Rules, free_in: float | None = None
) -> tuple[Standing, tuple[Step, ...]]:
    """What a look makes of the standing, and what follows from it, in order.

    `free_in` are the seconds until a used-up limit is free again, where the screen says it.
    """
    before, loops = _loop(before, snapshot)
    pulse = beat(before.pulse, snapshot.screen.fingerprint, now, rules.tempo)
    after, news = _news(evolve(before, pulse=pulse), verdict, snapshot)
    news = (*loops, *news)
    if not pulse.suspected(now, rules.tempo):
        after = evolve(after, told=after.told - {_stalled(rules)})  # the next stall is another one
    after, waits = _quota(after, verdict, now, rules, free_in)
    if after.busy or after.halted is not None:
        return after, (*news, *waits)
    decision = _decided(after, verdict, snapshot, now, rules)
    after, steps = _follow(after, decision, now, rules)
    return after, (*news, *waits, *steps)


def _loop(before: Standing, snapshot: Snapshot) -> tuple[Standing, tuple[Step, ...]]:
    """Requirement D6: a new loop began where another session has the name, unless we started it.

    The window goes on, and so does a halt: what makes itself anew in circles is held all the same.
    """
    identity = snapshot.identity
    if not identity or identity == before.identity:  # a look at what is gone has none
        return before, ()
    after = evolve(anew(before), pulse=None) if before.identity else before
    new = bool(before.identity) and not before.adopts
    if new:
        counts, restarts = before.counts.new_iteration(True), before.restarts.new_iteration(True)
        after = evolve(after, counts=counts, restarts=restarts)
    return evolve(after, identity=identity, adopts=False), (Loop(identity, new),)


def _news(standing: Standing, verdict: Verdict, snapshot: Snapshot) -> tuple[Standing, tuple[Step, ...]]:
    now, screen = shown(verdict), snapshot.screen.fingerprint
    at, news = standing.at or standing.seen, now != standing.seen
    standing = evolve(standing, seen=now, at=at)
    if at is not None and now.same(at):  # more sure of it, or less
        standing = evolve(standing, at_screen=screen)
    elif not _says_nothing(standing, verdict, screen):
        standing = evolve(standing, at=now, at_screen=screen, told=frozenset(), pressed=False, refused=0)
    return standing, (Say("detection", {**describe(verdict), "foreground": snapshot.foreground}),) if news else ()


def _says_nothing(standing: Standing, verdict: Verdict, screen: str) -> bool:
    """Whether a look leaves open if what was there before is still there: only what surely went away may come back.

    A pattern that ran out of its budget hides a prompt for one look, a program that reads its keyboard in turns does.
    """
    unsaid = verdict.state is State.UNKNOWN or bool(verdict.detection.undecided)
    return unsaid or (standing.pressed and screen == standing.at_screen)


def _quota(
    standing: Standing, verdict: Verdict, now: float, rules: Rules, free_in: float | None
) -> tuple[Standing, tuple[Step, ...]]:
    """Requirements D4 and D7: a used-up limit is no stall, and its end is known, or not."""
    if verdict.state is not State.QUOTA:
        over = (Say("quota_over"),) if standing.waits and verdict.state is not State.UNKNOWN else ()
        return (evolve(standing, waits=False, free_at=None), over) if over else (standing, ())
    pulse = evolve(standing.pulse, since=now, beat_at=now, unchanged=0) if standing.pulse else None
    standing = evolve(standing, pulse=pulse)
    if not rules.waits_for_quota:
        return evolve(standing, waits=False, free_at=None), ()
    if standing.waits and (standing.free_at is not None or free_in is None):
        return standing, ()
    free_at = None if free_in is None else now + free_in
    return evolve(standing, waits=True, free_at=free_at), (Say("quota_wait", {"free_in_s": free_in}),)


def _decided(standing: Standing, verdict: Verdict, snapshot: Snapshot, now: float, rules: Rules) -> Decision:
    """What the policy says, where it is time to act on it: sooner by evidence, unless the policy is patient."""
    scene = Scene.of(snapshot)
    decision = rules.policy.decide(verdict, scene)
    suspected = standing.pulse is not None and standing.pulse.suspected(now, rules.tempo)
    free = standing.waits and standing.free_at is not None and now >= standing.free_at
    if isinstance(decision, Wait) and verdict.state is State.QUOTA and free:
        return _resumed(standing, verdict, snapshot, rules)
    if isinstance(decision, Wait | Stop) or verdict.state is State.GONE:
        return decision
    if suspected and isinstance(decision, Ignore) and verdict.state is State.WORKING:
        return decision if rules.policy.rule_for(verdict, scene) else Escalate(_stalled(rules))
    if not suspected and (rules.policy.patient or verdict.certainty is Certainty.MAYBE):
        return Ignore()
    return decision


def _stalled(rules: Rules) -> str:
    return f"nothing changed for {rules.tempo.stall_timeout_s:g} s, and nothing says why"


def _resumed(standing: Standing, verdict: Verdict, snapshot: Snapshot, rules: Rules) -> Resume | Escalate:
    """The limit is free again: keys are pressed under the same conditions as at a prompt."""
    why, agents = "the limit should be free again", rules.policy.agents
    if not rules.resumes or standing.pressed or not rules.policy.presses:
        return Escalate(why)
    if verdict.certainty is not Certainty.SURE:
        return Escalate(f"{why}; but it is doubtful that one is used up")
    if agents and snapshot.foreground not in agents:
        return Escalate(f"{why}; hands off: {snapshot.foreground or 'an unknown program'} is in the foreground")
    return Resume(why)


def _follow(standing: Standing, decision: Decision, now: float, rules: Rules) -> tuple[Standing, tuple[Step, ...]]:
    match decision:
        case Press() | Restart() | Resume():
            return _recover(standing, decision, now, rules)
        case Stop(why):
            return evolve(standing, halted=why), (Halt("policy", why),)
        case Escalate(why):
            return _once(standing, "escalation", why)
    return standing, ()


def _recover(standing: Standing, decision: Deed, now: float, rules: Rules) -> tuple[Standing, tuple[Step, ...]]:
    if standing.pressed:
        return _once(standing, "escalation", ANSWERED)
    if standing.refused >= TRIES:
        return _once(standing, "escalation", f"it was tried {standing.refused} times, and refused")
    if isinstance(decision, Restart):
        return _restart(standing, decision, now, rules)
    reached = rules.limits.reached(standing.counts, now)
    if reached is not None:
        return _halt(standing, reached)
    counts = standing.counts.one_more(now, rules.limits)
    return evolve(standing, counts=counts, pressed=True, busy=True, doing=standing.at), (Do(decision),)


def _restart(standing: Standing, decision: Restart, now: float, rules: Rules) -> tuple[Standing, tuple[Step, ...]]:
    """A restart has limits of its own, and waits longer each time: a program that ends at once would go round."""
    if now < standing.restart_from:
        return standing, ()
    reached = rules.restarts.reached(standing.restarts, now)
    if reached is not None:
        return _halt(standing, f"restarts: {reached}")
    pause = rules.back_off_s * 2 ** min(standing.restarts.iteration, DOUBLINGS)
    restarts = standing.restarts.one_more(now, rules.restarts)
    changed = evolve(standing, restarts=restarts, restart_from=now + pause, busy=True, doing=standing.at)
    if standing.seen is not None and standing.seen.state is State.GONE:
        changed = evolve(changed, adopts=True)  # it will be another session, and the same loop
    return changed, (Do(decision),)


def _halt(standing: Standing, why: str) -> tuple[Standing, tuple[Step, ...]]:
    return evolve(standing, halted=why), (Say("limit", {"why": why}), Halt(STALL_LIMIT, why))


def _once(standing: Standing, name: str, why: str) -> tuple[Standing, tuple[Step, ...]]:
    if why in standing.told:
        return standing, ()
    return evolve(standing, told=standing.told | {why}), (Say(name, {"why": why}),)
