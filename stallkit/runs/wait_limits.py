"""What comes first in a run: its end, the caller's time-out, a key that is needed, the end of the window.

Pure: the driver (`stallkit.runs.run`) says what it saw and when; times are seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from enum import StrEnum

from attrs import converters, evolve, field, frozen

from stallkit.core.signature import Certainty, State
from stallkit.core.verdict import Verdict

__all__ = ["Finish", "WaitLimits", "RunStatus", "Observation", "QuietNotifier", "needs", "next_look"]

# A look while output comes, and one after three seconds without any: a thousandth of a core.
SLOW_S, QUICK_S, QUICK_FOR_S = 1.0, 0.3, 3.0
DRAWN_S = 0.1  # without output before a first look: a screen is drawn in several writes
SETTLED_S = 0.3  # at rest before a prompt counts: what a check waits between its two looks
# At rest before what is only perhaps a prompt does: longer than a network or a disk holds a program up, as a rule.
DOUBTFUL_S = 1.5


class RunStatus(StrEnum):
    """How the wait for a run ended; only after `exited` it is over."""

    EXITED = "exited"
    WAITING = "waiting"  # it needs input
    MAYBE = "maybe"  # it may need input: evidence that is no proof, or the window is over
    TIMEOUT = "timeout"  # the caller's
    BACKGROUND = "background"  # the caller asked to go on without waiting


@frozen
class Observation:
    """What one look at a run showed; `spell` counts how often the screen changed, `quiet_s` is since it last did."""

    verdict: Verdict
    alive: bool
    quiet_s: float
    spell: int


@frozen
class Finish:
    """Which of them came first, and why, for a person."""

    status: RunStatus
    why: str


def _seconds(given: float) -> float:
    """A number of seconds, however large; raises ValueError or TypeError for what is none: it would never be over."""
    if math.isnan(seconds := float(given)):
        raise ValueError("a limit is a number of seconds, not nan")
    return seconds


@frozen
class WaitLimits:
    """One caller's wait, begun at `started`; `known` is the spell of which the caller knows that it may be waiting.

    Raises ValueError or TypeError for a limit that is no number.
    """

    started: float
    window_s: float = field(converter=_seconds)
    timeout_s: float | None = field(default=None, converter=converters.optional(_seconds))
    known: int | None = None

    def decide(self, observation: Observation, now: float) -> Finish | None:
        """What ended the wait, or None; an end of the run comes before all else, as it came before the look at it."""
        if not observation.alive:
            return Finish(RunStatus.EXITED, observation.verdict.reasons[0])
        if self.timeout_s is not None and now >= self.started + self.timeout_s:
            return Finish(RunStatus.TIMEOUT, f"the caller's {self.timeout_s:g} s are over")
        finish = needs(observation)
        if finish is not None and not (finish.status is RunStatus.MAYBE and observation.spell == self.known):
            return finish
        if now >= self.started + self.window_s:
            return Finish(RunStatus.MAYBE, _at_the_end(self.window_s, observation))
        return None

    @property
    def deadline(self) -> float:
        """When it decides, whatever is seen."""
        return self.started + min(self.window_s, self.window_s if self.timeout_s is None else self.timeout_s)


def needs(observation: Observation) -> Finish | None:
    """Whether a run that is alive needs input, as far as there is evidence; silence alone is none."""
    verdict = observation.verdict
    rests = verdict.state in (State.WAITING, State.IDLE, State.ENDED)  # a shell or an agent at rest wants input as well
    if not rests:
        return None
    if verdict.certainty is Certainty.SURE and observation.quiet_s >= SETTLED_S:
        return Finish(RunStatus.WAITING, "it is waiting for input")
    if observation.quiet_s >= DOUBTFUL_S:
        return Finish(RunStatus.MAYBE, "it may be waiting for input")
    return None


def _at_the_end(window_s: float, observation: Observation) -> str:
    return f"after {window_s:g} s it still runs; {_most_likely(observation)}"


def _most_likely(observation: Observation) -> str:
    match observation.verdict.state:
        case State.WORKING if observation.verdict.certainty is Certainty.SURE or not observation.quiet_s:
            return "most likely it works"
        case State.QUOTA:
            return "a limit of use holds it up"
    return "it may be waiting for input"


@frozen
class QuietNotifier:
    """What of a run in the background was told: once a spell of quiet, and once more if what was doubtful is sure.

    Also once that the window is over, however often the screen changed: `since` is when that window began, None once
    its end was told.
    """

    window_s: float
    since: float | None
    told: frozenset[tuple[int, RunStatus]] = frozenset()

    def notice(self, observation: Observation, now: float) -> Finish | None:
        """What is to be told now: that it waits, or that it may; or None."""
        finish = needs(observation) if observation.alive else None
        if finish is None and observation.alive and observation.quiet_s >= self.window_s:
            finish = Finish(RunStatus.MAYBE, f"nothing new for {self.window_s:g} s; it may be waiting for input")
        if finish is None and observation.alive and self._over(now):
            finish = Finish(RunStatus.MAYBE, _at_the_end(self.window_s, observation))
        return finish if finish is not None and (observation.spell, finish.status) not in self.told else None

    def after(self, observation: Observation, finish: Finish, now: float) -> QuietNotifier:
        """The same, once that was told; whatever is told when the window is over tells its end."""
        this_spell = {told for told in self.told if told[0] == observation.spell}
        since = None if self._over(now) else self.since
        return QuietNotifier(self.window_s, since, frozenset(this_spell | {(observation.spell, finish.status)}))

    def answered(self, now: float) -> QuietNotifier:
        """The same, once it was answered: another window begins."""
        return evolve(self, since=now)

    def _over(self, now: float) -> bool:
        return self.since is not None and now >= self.since + self.window_s


def next_look(looked: float, printed: float) -> float:
    """When to look again: soon after the last output, seldom while it comes and when it is long over."""
    if printed > looked:
        return min(max(looked + QUICK_S, printed + DRAWN_S), looked + SLOW_S)
    return looked + (QUICK_S if looked - printed < QUICK_FOR_S else SLOW_S)
