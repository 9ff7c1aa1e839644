"""What may be done for a session, and how often: recoveries, restarts, and what helps an agent that hangs.  Pure.

An agent that hangs gets Escape once, then a new start that goes on with its session.  Both are off unless they are
switched on.  Each is done once in a hang, and counts as a recovery or a restart.  A hang lasts until the agent surely
does something else than say that it works, or until something happens long after the key.
"""

from __future__ import annotations

from attrs import evolve, field, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import Action, Decision, Escalate, Interrupt, Policy, Restart, Send
from stallkit.press.rules import PromptFacts, Scene
from stallkit_supervisor.prompt_state import Observed

# --- how often stallkit may act on one session ---


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
        """The limit that forbids one more; None if none does."""
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


RESTARTS = Limits(per_iteration=3, total=10, in_window=3, window_s=3600.0)
BACK_OFF_S = 5.0  # before a second restart; doubles for each further one
DOUBLINGS = 10  # at most, of that pause

# --- an agent that hangs ---

RESTART_AFTER_S = 60.0  # after Escape: an agent takes seconds to end its turn
TRIES = 5  # refusals before a person is told: a spinner may be drawn anew at the very moment of the press


@frozen
class Cure:
    """What may be done about an agent that hangs: press Escape, and, so long after that, end it and start it again."""

    escape: bool = False
    restart: bool = False
    restart_after_s: float = RESTART_AFTER_S


@frozen
class Hang:
    """What was done about a session while it hangs; times are seconds of one monotonic clock."""

    interrupted_at: float | None = None  # Escape was pressed, or perhaps
    restarted: bool = False  # it was ended and started again, or perhaps
    refused: int = 0  # so many tries, in a row
    why: str = ""  # the latest one was refused

    def under_way(self, decision: Action, now: float) -> Hang:
        """It while that is being done: from now on it counts as done."""
        return evolve(self, interrupted_at=now) if isinstance(decision, Interrupt) else evolve(self, restarted=True)

    def concluded(self, decision: Action, end: End, why: str) -> Hang | None:
        """It after that was done, None if it is over: what was refused did not happen."""
        if end in (End.CLEARED, End.REPLACED, End.GONE):
            return None
        if end is not End.REFUSED:
            return evolve(self, refused=0, why="")
        hang = evolve(self, refused=self.refused + 1, why=why)
        return evolve(hang, interrupted_at=None) if isinstance(decision, Interrupt) else evolve(hang, restarted=False)


def is_cure(decision: Decision) -> bool:
    """Whether it is done to an agent that hangs, whatever was done at its screen before."""
    return isinstance(decision, Interrupt) or (isinstance(decision, Restart) and decision.resumes)


def cure(
    hang: Hang | None, verdict: Verdict, snapshot: Snapshot, policy: Policy, may: Cure, now: float
) -> Interrupt | Restart | Escalate | None:
    """What to do about a session that hangs, if no rule of its policy decides; None for nothing.

    A policy that presses nothing cures nothing, nor does one that names other programs than the one that is there.
    """
    if hang is None or verdict.hung is None or verdict.retrying or not (may.escape or may.restart):
        return None
    scene = Scene.of(snapshot)
    agents = verdict.detection.words.resumable(verdict.agents or ())
    if not policy.presses or len(agents) != 1 or policy.rule_for(verdict, scene) is not None:
        return None
    if policy.agents and not scene.agents(PromptFacts.of(verdict), policy.agents):
        return None
    agent, pressed = agents[0], hang.interrupted_at
    why = f"{agent.name} has hung for {verdict.hung.since_s:.0f} s"
    if may.escape and agent.turn.escape and pressed is None:
        return _unless_refused(hang, Interrupt(why), f"{agent.name} hangs, and is not interrupted")
    if not may.restart or hang.restarted or (pressed is not None and now < pressed + may.restart_after_s):
        return None
    return _unless_refused(hang, Restart(why, resumes=True), f"{agent.name} hangs, and is not ended")


def _unless_refused(hang: Hang, decision: Interrupt | Restart, otherwise: str) -> Interrupt | Restart | Escalate:
    return decision if hang.refused < TRIES else Escalate(f"{otherwise}: {hang.why}")


# --- the machine ---


@frozen
class RecoveryState:
    """What was done for a session so far, and what is being done."""

    counts: Counts = field(factory=Counts)
    restarts: Counts = field(factory=Counts)
    restart_from: float = 0.0  # not before
    busy: bool = False  # an action runs
    doing: Observed | None = None  # its subject
    hang: Hang | None = None  # what was done about it, while it hangs
    sent: bool = False  # a text was typed that a rule says

    def after(self, verdict: Verdict, now: float) -> RecoveryState:
        """After a look: whether it hangs still.

        A look at which it works without being hung decides nothing: the key itself makes something happen, and a new
        supervisor does not know yet since when nothing has.
        """
        hang = self.hang
        if verdict.hung is None:
            over = verdict.state is not State.WORKING and verdict.certainty is Certainty.SURE
            hang = None if over else hang
        elif hang is None or (
            hang.interrupted_at is not None and now - verdict.hung.since_s > hang.interrupted_at + RESTART_AFTER_S
        ):
            hang = Hang()
        return self if hang == self.hang else evolve(self, hang=hang)

    def reached(self, decision: Action, limits: Limits, now: float) -> str | None:
        """The limit that forbids it; None if none does."""
        if isinstance(decision, Restart):
            why = limits.reached(self.restarts, now)
            return why and f"restarts: {why}"
        return limits.reached(self.counts, now)

    def begun(
        self, decision: Action, subject: Observed | None, limits: Limits, back_off_s: float, now: float
    ) -> RecoveryState:
        """While that is being done; each restart has the next one wait longer, for a program that ends at once."""
        hang = (self.hang or Hang()).under_way(decision, now) if is_cure(decision) else self.hang
        begun = evolve(self, busy=True, doing=subject, hang=hang)
        if not isinstance(decision, Restart):
            return evolve(begun, counts=self.counts.one_more(now, limits))
        pause = back_off_s * 2 ** min(self.restarts.iteration, DOUBLINGS)
        return evolve(begun, restarts=self.restarts.one_more(now, limits), restart_from=now + pause)

    def concluded(self, decision: Action, end: End, why: str) -> RecoveryState:
        """After it came to this end: a refused action did not happen and does not count; perhaps typed is typed."""
        after = evolve(self, busy=False, doing=None)
        if is_cure(decision):
            after = evolve(after, hang=(self.hang or Hang()).concluded(decision, end, why))
        if end is not End.REFUSED:
            return evolve(after, sent=True) if isinstance(decision, Send) else after
        if isinstance(decision, Restart):
            return evolve(after, restarts=self.restarts.one_less())
        return evolve(after, counts=self.counts.one_less())

    def new_iteration(self, reset_total: bool = False) -> RecoveryState:
        """After a signal that an iteration begins."""
        counts, restarts = self.counts.new_iteration(reset_total), self.restarts.new_iteration(reset_total)
        return evolve(self, counts=counts, restarts=restarts)
