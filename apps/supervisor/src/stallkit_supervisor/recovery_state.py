"""What is done about an agent that hangs: Escape once, then a new start that goes on with its session.  Pure.

Both are off unless they are switched on.  Each is done once in a hang, and counts as a recovery or a restart.  A hang
lasts until the agent surely does something else than say that it works, or until something happens long after the key.
"""

from __future__ import annotations

from attrs import evolve, frozen

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.decisions import Action, Decision, Escalate, Interrupt, Restart
from stallkit.press.gate import End
from stallkit.press.policy import Policy
from stallkit.press.rules import PromptFacts, Scene

__all__ = ["RESTART_AFTER_S", "Cure", "Hang", "cure", "cures", "hang_after", "on_cure", "under_way"]

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


def hang_after(before: Hang | None, verdict: Verdict, now: float) -> Hang | None:
    """The hang after another look: None where it is over.

    A look at which it works without being hung decides nothing: the key itself makes something happen, and a new
    supervisor does not know yet since when nothing has.
    """
    if verdict.hung is None:
        over = verdict.state is not State.WORKING and verdict.certainty is Certainty.SURE
        return None if over else before
    if before is None or before.interrupted_at is None:
        return before or Hang()
    another = now - verdict.hung.since_s > before.interrupted_at + RESTART_AFTER_S
    return Hang() if another else before


def cure(
    hang: Hang | None, verdict: Verdict, snapshot: Snapshot, policy: Policy, may: Cure, now: float
) -> Interrupt | Restart | Escalate | None:
    """What to do about a session that hangs, where no rule of its policy decides; None for nothing.

    A policy that presses nothing cures nothing, nor does one that names other programs than the one that is there.
    """
    if hang is None or verdict.hung is None or verdict.retrying or not (may.escape or may.restart):
        return None
    scene = Scene.of(snapshot)
    agents = verdict.detection.words.resumable(verdict.agents or ())
    if not policy.presses or len(agents) != 1:
        return None
    if policy.agents and not scene.agents(PromptFacts.of(verdict), policy.agents):
        return None
    if policy.rule_for(verdict, scene) is not None:
        return None
    why = f"{agents[0].name} has hung for {verdict.hung.since_s:.0f} s"
    pressed = hang.interrupted_at
    if may.escape and agents[0].turn.escape and pressed is None:
        return (
            Interrupt(why)
            if hang.refused < TRIES
            else Escalate(f"{agents[0].name} hangs, and is not interrupted: {hang.why}")
        )
    if not may.restart or hang.restarted or (pressed is not None and now < pressed + may.restart_after_s):
        return None
    return (
        Restart(why, resumes=True)
        if hang.refused < TRIES
        else Escalate(f"{agents[0].name} hangs, and is not ended: {hang.why}")
    )


def cures(decision: Decision) -> bool:
    """Whether it is done to an agent that hangs, whatever was done at its screen before."""
    return isinstance(decision, Interrupt) or (isinstance(decision, Restart) and decision.resumes)


def under_way(hang: Hang | None, decision: Action, now: float) -> Hang:
    """The hang once that is being done: from now on it counts as done."""
    hang = hang or Hang()
    return evolve(hang, interrupted_at=now) if isinstance(decision, Interrupt) else evolve(hang, restarted=True)


def on_cure(hang: Hang | None, decision: Action, end: End, why: str) -> Hang | None:
    """The hang after that was done: what was refused did not happen."""
    if end in (End.CLEARED, End.REPLACED, End.GONE):
        return None
    hang = hang or Hang()
    if end is not End.REFUSED:
        return evolve(hang, refused=0, why="")
    hang = evolve(hang, refused=hang.refused + 1, why=why)
    return evolve(hang, interrupted_at=None) if isinstance(decision, Interrupt) else evolve(hang, restarted=False)
