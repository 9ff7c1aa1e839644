"""What comes first in a run: its end, the caller's time-out, a needed key, the end of the window.

Pure: the driver (`stallkit_sessions.runs.run`) passes what it saw and when; times are seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from enum import StrEnum

from attrs import converters, evolve, field, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.judging.verdict import Verdict

# How often to look while output comes, and after it ended: a look takes a thousandth of a core.
SLOW_S, QUICK_S, QUICK_FOR_S = 1.0, 0.3, 3.0
DRAWN_S = 0.1  # without output before a first look: a screen is drawn in several writes
SETTLED_S = 0.3  # at rest before a sure prompt counts: what a check waits between its two looks
# At rest before a doubtful prompt counts: longer than a network or a disk usually holds a program up.
DOUBTFUL_S = 1.5
# At rest before it counts while a proof is under way: the two seconds of `evidence.blocked_read`, and a look.
PROVED_S = 3.0


class RunStatus(StrEnum):
    """How the wait for a run ended; only after `exited` is the run over.

    >>> from stallkit_sessions import run
    >>> run(["true"]).status
    <RunStatus.EXITED: 'exited'>
    """

    EXITED = "exited"
    WAITING = "waiting"  # it needs input
    MAYBE = "maybe"  # it may need input: the evidence is not certain, or the window is over
    TIMEOUT = "timeout"  # the caller's
    BACKGROUND = "background"  # the caller asked to go on without waiting


@frozen
class Observation:
    """What one look at a run showed; `spell` counts the changes of the screen, `quiet_s` is since the last one.

    >>> from stallkit import MemoryTransport, check
    >>> seen = Observation(check(MemoryTransport("Proceed? [y/N] ")).verdict, alive=True, quiet_s=0.6, spell=1)
    >>> str(seen.verdict.state)
    'waiting'
    """

    verdict: Verdict
    alive: bool
    quiet_s: float
    spell: int


@frozen
class Finish:
    """What came first, and why, for a person."""

    status: RunStatus
    why: str


def _seconds(given: float) -> float:
    """A number of seconds, however large.  Raises ValueError for anything else: it would never be over."""
    try:
        seconds = float(given)
    except (ValueError, TypeError):
        seconds = math.nan
    if math.isnan(seconds):
        raise ValueError(f"a limit is a number of seconds, not {given!r}: write such as 90.0")
    return seconds


@frozen
class WaitLimits:
    """One caller's wait, begun at `started`; `known` is the spell for which the caller knows that it may be waiting.

    Raises ValueError for a limit that is not a number.
    """

    started: float
    window_s: float = field(converter=_seconds)
    timeout_s: float | None = field(default=None, converter=converters.optional(_seconds))
    known: int | None = None

    def decide(self, observation: Observation, now: float) -> Finish | None:
        """What ended the wait, or None; an end of the run takes precedence, since it came before the look."""
        if not observation.alive:
            return Finish(RunStatus.EXITED, observation.verdict.reasons[0])
        if self.timeout_s is not None and now >= self.started + self.timeout_s:
            return Finish(RunStatus.TIMEOUT, f"the caller's {self.timeout_s:g} s are over")
        finish = needs(observation)
        verdict = observation.verdict
        if verdict.by_read and verdict.state is State.WAITING:  # proved, also below what another process draws
            return Finish(RunStatus.WAITING, "it is waiting for input")
        if finish is not None and not (finish.status is RunStatus.MAYBE and observation.spell == self.known):
            return finish
        if now >= self.started + self.window_s:
            return Finish(RunStatus.MAYBE, _at_the_end(self.window_s, observation))
        return None

    @property
    def deadline(self) -> float:
        """When it decides at the latest."""
        return self.started + min(self.window_s, self.window_s if self.timeout_s is None else self.timeout_s)


def needs(observation: Observation) -> Finish | None:
    """Whether a run that is alive needs input, as far as there is evidence; silence alone is not evidence."""
    verdict = observation.verdict
    rests = verdict.state in (State.WAITING, State.IDLE, State.ENDED)  # a shell or an agent at rest wants input as well
    if not rests:
        return None
    if verdict.certainty is Certainty.SURE and observation.quiet_s >= SETTLED_S:
        return Finish(RunStatus.WAITING, "it is waiting for input")
    if observation.quiet_s >= (DOUBTFUL_S if verdict.proof_in_s is None else PROVED_S):
        return Finish(RunStatus.MAYBE, "it may be waiting for input")
    return None


def _at_the_end(window_s: float, observation: Observation) -> str:
    return f"after {window_s:g} s it still runs; {_most_likely(observation)}"


def _most_likely(observation: Observation) -> str:
    match observation.verdict.state:
        case State.WORKING if observation.verdict.certainty is Certainty.SURE or not observation.quiet_s:
            return "most likely it works"
        case State.QUOTA:
            return "a usage limit holds it up"
    return "it may be waiting for input"


@frozen
class QuietNotifier:
    """Which notices of a background run went out: one for each quiet period, one more if a doubtful prompt became sure.

    Also one when the window is over, however often the screen changed: `since` is when that window began, None once its
    end was reported.
    """

    window_s: float
    since: float | None
    told: frozenset[tuple[int, RunStatus]] = frozenset()

    def notice(self, observation: Observation, now: float) -> Finish | None:
        """The notice to give now, that it waits or that it may; or None."""
        finish = needs(observation) if observation.alive else None
        if finish is None and observation.alive and observation.quiet_s >= self.window_s:
            finish = Finish(RunStatus.MAYBE, f"nothing new for {self.window_s:g} s; it may be waiting for input")
        if finish is None and observation.alive and self._over(now):
            finish = Finish(RunStatus.MAYBE, _at_the_end(self.window_s, observation))
        return finish if finish is not None and (observation.spell, finish.status) not in self.told else None

    def after(self, observation: Observation, finish: Finish, now: float) -> QuietNotifier:
        """The state after that notice; any notice after the window is over reports its end as well."""
        this_spell = {notice for notice in self.told if notice[0] == observation.spell}
        since = None if self._over(now) else self.since
        return QuietNotifier(self.window_s, since, frozenset(this_spell | {(observation.spell, finish.status)}))

    def answered(self, now: float) -> QuietNotifier:
        """The state after an answer: another window begins."""
        return evolve(self, since=now)

    def _over(self, now: float) -> bool:
        return self.since is not None and now >= self.since + self.window_s


def next_look(looked: float, printed: float) -> float:
    """When to look again: soon after the last output, rarely while output comes or long after it."""
    if printed > looked:
        return min(max(looked + QUICK_S, printed + DRAWN_S), looked + SLOW_S)
    return looked + (QUICK_S if looked - printed < QUICK_FOR_S else SLOW_S)
