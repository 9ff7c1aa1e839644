"""How sessions are watched, the state of one, and the steps that follow from a look at it, as values.

A state is the product of five small machines: `PromptState`, `RecoveryState`, `QuotaState`, `HaltState`, `NoticeState`.
`transitions` says what they do together.

How long a screen has been the same is counted in heartbeats: that alone suspects a stall, never proves it.  Beats with
a look count, not the time that passed: a process that slept for ten minutes saw nothing of them.
"""

from __future__ import annotations

import math
from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import ge

from stallkit.detect.signature import State
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import Action, Decision, Policy, Restart
from stallkit.press.rules import Scene
from stallkit.settings import seconds
from stallkit.terminal.keys import Keys
from stallkit_supervisor.notification import NoticeSubject, Notification, Notify
from stallkit_supervisor.prompt_state import PromptState
from stallkit_supervisor.recovery_state import BACK_OFF_S, RESTARTS, Counts, Cure, Limits, RecoveryState

INTERVAL_S = 60.0
UNCHANGED = 3  # beats
LOOK_S = 5.0  # between two looks, at most: what appears is told soon, whatever the beats are


@frozen
class Schedule:
    """How often to look, and when to suspect a stall: after `unchanged` equal beats, and `stall_s` at rest.

    `eager_s` is the time between two looks while something looks suspicious, unless the interval is shorter.
    """

    interval_s: float = field(default=INTERVAL_S, converter=float, validator=seconds)
    unchanged: int = field(default=UNCHANGED, validator=ge(1))
    stall_s: float | None = field(default=None, validator=seconds)  # None: unchanged times the interval
    eager_s: float = field(default=1.0, converter=float, validator=seconds)

    @classmethod
    def of(cls, interval_s: float | None = None, stall_s: float | None = None) -> Schedule:
        """The schedule for those settings that are given: a stall time-out alone makes the beats a third of it.

        Raises ValueError for an invalid time.
        """
        if interval_s is None:
            interval_s = INTERVAL_S if stall_s is None else min(INTERVAL_S, stall_s / UNCHANGED)
        return cls(interval_s=interval_s, stall_s=stall_s)

    @property
    def stall_timeout_s(self) -> float:
        """Seconds at rest after which a stall is suspected."""
        return self.interval_s * self.unchanged if self.stall_s is None else self.stall_s


@frozen
class Heartbeat:
    """A screen, since when it has been the same, and for how many beats in a row."""

    fingerprint: str
    since: float
    beat_at: float
    unchanged: int = 0

    def suspected(self, now: float, schedule: Schedule) -> bool:
        """Whether it has been the same for so long that it may be a stall."""
        beaten = self.unchanged * schedule.interval_s * (1 + 1e-9)  # rounding: three thirds may be less than the whole
        long = min(beaten, now - self.since) >= schedule.stall_timeout_s  # time without a look does not count
        return long and self.unchanged >= schedule.unchanged

    def until_suspected(self, now: float, schedule: Schedule) -> float:
        """Seconds from now until it is suspected, if it stays the same and every beat has its look."""
        beats = max(schedule.unchanged, math.ceil(schedule.stall_timeout_s / schedule.interval_s - 1e-9))
        beaten = self.beat_at + (beats - self.unchanged) * schedule.interval_s
        return max(0.0, max(beaten, self.since + schedule.stall_timeout_s) - now)


def beat(before: Heartbeat | None, fingerprint: str, now: float, schedule: Schedule) -> Heartbeat:
    """The heartbeat after a look: any change starts it again, and a beat counts once its interval is over.

    >>> heartbeat = None
    >>> for minute in range(4):
    ...     heartbeat = beat(heartbeat, "same", minute * 60.0, Schedule())
    >>> heartbeat.unchanged, heartbeat.suspected(180.0, Schedule())
    (3, True)
    """
    if before is None or before.fingerprint != fingerprint:
        return Heartbeat(fingerprint, since=now, beat_at=now)
    if now - before.beat_at < schedule.interval_s:
        return before
    return evolve(before, beat_at=now, unchanged=before.unchanged + 1)


def next_look(heartbeat: Heartbeat, now: float, schedule: Schedule, suspicious: bool) -> float:
    """When to look again: at the next beat, or sooner while something looks suspicious."""
    due = min(heartbeat.beat_at + schedule.interval_s, now + LOOK_S)
    return min(due, now + schedule.eager_s) if suspicious else due


STALL_LIMIT = "stall_limit"  # the reason in .auto-stop


@frozen
class RecoveryCommands:
    """The actions besides the keys of signatures."""

    restart: tuple[str, ...] = ()  # starts the program again; empty: no restarts
    resume: Keys | None = None  # pressed once a used-up limit is free again


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

    def limits_of(self, decision: Action) -> Limits:
        return self.restarts if isinstance(decision, Restart) else self.limits


# --- what follows from a look ---


@frozen
class Perform:
    """Carry the decision out, then call `on_outcome`."""

    decision: Action


@frozen
class Emit:
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


Step = Perform | Emit | Halt | Loop


@frozen
class Tick:
    """One look at a session: what it showed, what a person may hear of, and what its policy decides."""

    verdict: Verdict
    snapshot: Snapshot
    subject: NoticeSubject | None
    decision: Decision
    now: float
    config: WatchConfig

    @property
    def scene(self) -> Scene:
        return Scene.of(self.snapshot)


# --- the state ---


@frozen
class QuotaState:
    """Whether a usage limit is waited for, and when it is free again, if known."""

    waits: bool = False
    free_at: float | None = None

    def after(self, tick: Tick, free_in: float | None) -> QuotaState:
        """After a look, which shows that the limit is free again in so many seconds, or does not show when."""
        verdict = tick.verdict
        if verdict.state is State.UNKNOWN:
            return self
        if verdict.state is not State.QUOTA or not tick.config.waits_for_quota:
            return QuotaState()
        tries_again = verdict.retrying is not None and self.is_free(tick.now)
        if self.waits and (free_in is None or (self.free_at is not None and not tries_again)):
            return self
        return QuotaState(True, None if free_in is None else tick.now + free_in)

    def is_free(self, now: float) -> bool:
        """Whether the limit should be over."""
        return self.free_at is not None and now >= self.free_at

    def left_s(self, now: float) -> float | None:
        """Seconds until the limit is free again; None if that is unknown, or should be over."""
        return self.free_at - now if self.free_at is not None and self.free_at > now else None


@frozen
class HaltState:
    """Why nothing is done for it any more."""

    halted: str | None = None  # why it is left alone
    held: str | None = None  # the .auto-stop of somebody else: no key while it is there


@frozen
class NoticeState:
    """What a person hears of, and of which agent."""

    notification: Notification | None = None
    agent: str | None = None  # the latest agent that ran in it
    unnamed: str | None = None  # an agent that no pack names, which was there at the latest look that shows any
    worked: bool = False  # since its latest turn ended

    @property
    def who(self) -> str | None:
        """The agent, by whatever name it has."""
        return self.agent or self.unnamed


@frozen
class SessionState:
    """The state of one session."""

    identity: str = ""  # of the session, if it was seen: another one starts again
    adopts: bool = True  # the next identity goes on with the counts: it is the first one, or our restart
    heartbeat: Heartbeat | None = None
    prompt: PromptState = field(factory=PromptState)
    recovery: RecoveryState = field(factory=RecoveryState)
    quota: QuotaState = field(factory=QuotaState)
    halt: HaltState = field(factory=HaltState)
    notice: NoticeState = field(factory=NoticeState)

    def released(self) -> SessionState:
        """After a person released it: all limits start again."""
        recovery = evolve(self.recovery, counts=Counts(), restarts=Counts())
        prompt = evolve(self.prompt, reported=frozenset())
        return evolve(self, halt=evolve(self.halt, halted=None), recovery=recovery, prompt=prompt)
