"""How sessions are watched, the state of one, and the steps that follow from a look at it, as values."""

from __future__ import annotations

from typing import Any

from attrs import evolve, field, frozen

from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.decisions import Action, Decision
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import Policy
from stallkit.press.rules import Scene
from stallkit.terminal.keys import Keys
from stallkit_supervisor.cure import Cure, Hang
from stallkit_supervisor.limits import Counts, Limits
from stallkit_supervisor.observed import Observed
from stallkit_supervisor.schedule import Heartbeat, Schedule
from stallkit_supervisor.telling import Notify, Telling
from stallkit_supervisor.topic import Topic

__all__ = [
    "BACK_OFF_S",
    "RESTARTS",
    "Do",
    "Halt",
    "Loop",
    "Moment",
    "RecoveryCommands",
    "Say",
    "SessionState",
    "Step",
    "WatchConfig",
    "reset",
]

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
