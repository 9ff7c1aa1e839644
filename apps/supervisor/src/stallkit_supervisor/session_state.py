"""How sessions are watched, the state of one, and the steps that follow from a look at it, as values."""

from __future__ import annotations

import hashlib
from typing import Any

from attrs import evolve, field, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.decisions import Action, Decision
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import Policy
from stallkit.press.rules import Scene
from stallkit.terminal.keys import Keys
from stallkit_supervisor.hang_recovery import Cure, Hang
from stallkit_supervisor.schedule import Heartbeat, Schedule
from stallkit_supervisor.telling import Notify, Telling
from stallkit_supervisor.topic import Topic, topic_of

__all__ = [
    "BACK_OFF_S",
    "Counts",
    "Do",
    "Halt",
    "Limits",
    "Loop",
    "Moment",
    "Observed",
    "RESTARTS",
    "RecoveryCommands",
    "STALL_LIMIT",
    "Say",
    "SessionState",
    "Step",
    "WatchConfig",
    "observed",
    "reset",
]


# --- how often stallkit may act on one session ---

STALL_LIMIT = "stall_limit"  # the reason in .auto-stop


@frozen
class Limits:
    """The most recoveries of a session: in an iteration, in all, and in a window, which stops endless repetition."""

    per_iteration: int = 3
    total: int = 10
    in_window: int = 5
    window_s: float = 600.0

    def __attrs_post_init__(self) -> None:
        if min(self.per_iteration, self.total, self.in_window) < 0 or not self.window_s > 0:
            raise ValueError("a limit must be 0 or more, and its window longer than 0 s")

    def reached(self, counts: Counts, now: float) -> str | None:
        """The limit that forbids one more; None where none does."""
        if counts.iteration >= self.per_iteration:
            return f"{counts.iteration} recoveries in this iteration, {self.per_iteration} are allowed"
        if counts.total >= self.total:
            return f"{counts.total} recoveries in all, {self.total} are allowed"
        recent = sum(now - at < self.window_s for at in counts.times)
        if recent >= self.in_window:
            return f"{recent} recoveries within {self.window_s:g} s, {self.in_window} are allowed"
        return None


@frozen
class Counts:
    """The recoveries of a session so far; `times` are those of the latest ones, on the clock of `now`."""

    iteration: int = 0
    total: int = 0
    times: tuple[float, ...] = ()

    def one_more(self, now: float, limits: Limits) -> Counts:
        """After one recovery at that time."""
        times = tuple(at for at in self.times if now - at < limits.window_s)
        return Counts(self.iteration + 1, self.total + 1, (*times, now))

    def one_less(self) -> Counts:
        """After the latest one was refused."""
        return Counts(max(0, self.iteration - 1), max(0, self.total - 1), self.times[:-1])

    def new_iteration(self, reset_total: bool = False) -> Counts:
        """After a signal: the iteration's count starts again; the window goes on."""
        return evolve(self, iteration=0, total=0 if reset_total else self.total)


# --- what a look showed, in short ---

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


RESTARTS = Limits(per_iteration=3, total=10, in_window=3, window_s=3600.0)
BACK_OFF_S = 5.0  # before a second restart; doubles for each further one


@frozen
class RecoveryCommands:
    """The actions besides the keys of signatures."""

    restart: tuple[str, ...] = ()  # starts the program again; empty: no restarts
    resume: Keys | None = None  # pressed where a used-up limit is free again


@frozen
class WatchConfig:
    """How a `Supervisor` watches its sessions: by which policy, how often, how much help at most, when it tells.

    >>> from stallkit import Policy
    >>> WatchConfig(Policy("mine"), hung_after_s=600).waits_for_quota
    True
    """

    policy: Policy
    schedule: Schedule = field(factory=Schedule)
    limits: Limits = field(factory=Limits)
    restarts: Limits = RESTARTS
    back_off_s: float = BACK_OFF_S
    waits_for_quota: bool = True  # off: a used-up limit is reported, and its end is not waited for
    notify: Notify = field(factory=Notify)
    can_restart: bool = True  # there is a command to start a program again with
    hung_after_s: float = HUNG_AFTER_S  # 0: it is not watched for that
    cure: Cure = field(factory=Cure)  # of what hangs


@frozen
class Do:
    """Carry the decision out, then call `on_outcome`."""

    decision: Action


@frozen
class Say:
    """An event."""

    name: str
    facts: dict[str, Any] = field(factory=dict)


@frozen
class Halt:
    """Leave this session alone from now on: write `.auto-stop`, with this reason."""

    reason: str
    why: str


@frozen
class Loop:
    """The look is of another session, with these counts; `new`: it only has the name of the one before."""

    identity: str
    new: bool


Step = Do | Say | Halt | Loop


@frozen
class Moment:
    """One look at a session: what it showed, what there is to tell of it, and what its policy decides."""

    verdict: Verdict
    snapshot: Snapshot
    topic: Topic | None
    decision: Decision
    now: float
    config: WatchConfig

    @property
    def scene(self) -> Scene:
        """Where the verdict holds."""
        return Scene.of(self.snapshot)


@frozen
class SessionState:
    """The state of one session."""

    identity: str = ""  # of the session, if it was seen: another one starts again
    adopts: bool = True  # the next identity goes on with the counts: it is the first one, or our restart
    heartbeat: Heartbeat | None = None
    seen: Observed | None = None  # at the last look
    seen_from: float = 0.0  # on, without a change
    seen_screen: str = ""  # at the last look: its fingerprint ...
    screen_from: float = 0.0  # ... and since when it is the same, with what was seen
    said: Observed | None = None  # by the latest `detection`
    at: Observed | None = None  # the subject of the next three: unlike `seen` it outlasts an undecided look
    at_screen: str | None = None  # its fingerprint
    reported: frozenset[str] = frozenset()  # what was reported of it: each is reported once
    pressed: bool = False  # a key was pressed at it, or perhaps: never press again
    refused: int = 0  # this many tries at it
    counts: Counts = field(factory=Counts)
    restarts: Counts = field(factory=Counts)
    restart_from: float = 0.0  # not before
    waits: bool = False  # for a usage limit to be free again
    free_at: float | None = None  # when it is, if known
    halted: str | None = None  # why it is left alone
    held: str | None = None  # the .auto-stop of somebody else: no key while it is there
    busy: bool = False  # an action runs
    doing: Observed | None = None  # its subject
    telling: Telling | None = None  # what a person is told of
    agent: str | None = None  # the latest agent that ran in it
    unnamed: str | None = None  # an agent that no pack names, which was there at the latest look that shows any
    worked: bool = False  # since its latest turn ended
    hang: Hang | None = None  # what was done about it, while it hangs
    sent: bool = False  # a text was typed that a rule says


def reset(state: SessionState) -> SessionState:
    """The state with the prompt and all about it forgotten."""
    return evolve(state, seen=None, said=None, at=None, at_screen=None, reported=frozenset(), pressed=False, refused=0)
