"""The steps of a rebuild, in their order, and what each failure leads to.  Pure.

Until the teardown a failure ends the rebuild, and the sandbox goes on as it was.  After it the rebuild always comes to
an end of two: the replacement runs, or, where that cannot be started, the sandbox as it was is started again.  What is
interrupted in between goes on where it stopped.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Mapping

__all__ = ["ORDER", "Leads", "Outcome", "Step", "StepState", "leads_to", "next_step", "outcome"]


class Step(StrEnum):
    """One step; its row is written before it begins."""

    SNAPSHOT = "snapshot"  # the work tree as a commit of ours
    PUSH = "push"  # to the repository that was recorded when the sandbox was registered
    READ_BACK = "read back"  # fetched from there into an empty repository, and compared
    TEARDOWN = "teardown"  # exit record first, then its program, pane and container
    LATEST = "latest"  # what it wrote between the snapshot and its end
    TRANSCRIPT = "transcript"
    RESTORE = "restore"  # what is missing in the work tree
    HAND_OFF = "hand-off"
    START = "start"  # the changed manifest is noted, and the replacement started
    SET_GOING = "set going"  # the agent is told to go on, if its command line did not say so
    COMMENT = "comment"  # on the pull request
    REPLY = "reply"  # what asked for it is answered
    FALL_BACK = "fall back"  # the sandbox as it was is started again


class StepState(StrEnum):
    """How far a step is."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


class Leads(StrEnum):
    """What the failure of a step leads to."""

    END = "end"  # nothing was torn down: the sandbox goes on as it was
    GO_ON = "go on"  # it was worth a try
    AGAIN = "again"  # the rebuild waits, and begins with this step when it goes on
    FALL_BACK = "fall back"


class Outcome(StrEnum):
    """How a rebuild ended."""

    REPLACED = "replaced"
    AS_IT_WAS = "as it was"


ORDER = tuple(step for step in Step if step is not Step.FALL_BACK)
_LEADS = {
    Step.SNAPSHOT: Leads.END,
    Step.PUSH: Leads.END,
    Step.READ_BACK: Leads.END,
    Step.TEARDOWN: Leads.END,  # where it failed the sandbox still runs; else it is done
    Step.LATEST: Leads.GO_ON,  # the work tree still has it
    Step.TRANSCRIPT: Leads.GO_ON,
    Step.RESTORE: Leads.AGAIN,
    Step.HAND_OFF: Leads.AGAIN,
    Step.START: Leads.FALL_BACK,
    Step.SET_GOING: Leads.GO_ON,
    Step.COMMENT: Leads.GO_ON,
    Step.REPLY: Leads.GO_ON,
    Step.FALL_BACK: Leads.AGAIN,
}


def leads_to(step: Step) -> Leads:
    """What the failure of a step leads to."""
    return _LEADS[step]


def next_step(rows: Mapping[Step, StepState]) -> Step | None:
    """The step that is to be done, from the rows that were written; None where it is over.

    One that was begun is done again: each leaves alone what it finds done.  A comment is not: better none than two.

    >>> next_step({Step.SNAPSHOT: StepState.DONE, Step.PUSH: StepState.BEGUN})
    <Step.PUSH: 'push'>
    >>> next_step({Step.SNAPSHOT: StepState.FAILED}) is None
    True
    """
    for step in ORDER:
        state = rows.get(step)
        if state is StepState.DONE or (step is Step.COMMENT and state is StepState.BEGUN):
            continue
        if state is not StepState.FAILED:
            return step
        match leads_to(step):
            case Leads.END:
                return None
            case Leads.AGAIN:
                return step
            case Leads.FALL_BACK:
                return None if rows.get(Step.FALL_BACK) is StepState.DONE else Step.FALL_BACK
    return None


def outcome(rows: Mapping[Step, StepState]) -> Outcome | None:
    """How it ended; None where it has not."""
    if next_step(rows) is not None:
        return None
    return Outcome.REPLACED if rows.get(Step.START) is StepState.DONE else Outcome.AS_IT_WAS
