"""A case and its prediction: the verdict, and what each policy would have pressed.

Pure.  One `Prediction` is all that the figures need of a case, and small enough to come back from another process.
"""

from __future__ import annotations

from typing import Any, Literal

from attrs import field, frozen

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import NEVER_ANSWERED, NEVER_PRESSED, Certainty, Kind, State
from stallkit.evidence.agents import asked
from stallkit.evidence.claim import Classifier
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judge
from stallkit.press.policy import CAREFUL, Policy, Press
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import PromptFacts, Scene
from stallkit.terminal.keys import KEY_NAMES, Keys
from stallkit.terminal.screen import Screen
from stallkit_lab.corpus_lines import Case

POLICIES = (CAREFUL, DAEMON)
Pressed = Literal["none", "right", "wrong"]
_LOOKS = 4
_ENTER = Keys.parse("Enter").to_bytes()


# Kinds that call for the same sort of answer: a person's alone, a choice, a line, a key.
SORTS = (
    NEVER_ANSWERED,
    frozenset(
        {Kind.CONFIRM, Kind.SELECT, Kind.MULTISELECT, Kind.PERMISSION, Kind.TRUST, Kind.QUESTION, Kind.PLAN_APPROVAL}
    ),
    frozenset({Kind.TEXT, Kind.REPL_PROMPT}),
    frozenset({Kind.PRESS_KEY, Kind.PAGER, Kind.EDITOR, Kind.TUI}),
)


@frozen
class Prediction:
    """One case's truth and its verdict; `pressed` has what each of `POLICIES` would have done."""

    id: str
    program: str
    true_state: State
    true_kind: Kind | None
    state: State
    kind: Kind | None
    certainty: Certainty
    pressed: tuple[Pressed, ...]
    hard: bool = False
    signature: str | None = None
    reasons: tuple[str, ...] = ()
    screen: Screen | None = field(default=None, repr=False)  # where the state or a key is wrong

    def as_object(self) -> dict[str, Any]:
        """Truth and verdict as plain values, as ``--json`` and a baseline have them."""
        return {
            "id": self.id,
            "program": self.program,
            "true": self.true_state,
            "true_kind": self.true_kind,
            "predicted": self.state,
            "predicted_kind": self.kind,
            "certainty": self.certainty,
        }

    @property
    def same_sort(self) -> bool:
        """Whether the judged kind calls for the same sort of answer as the true one."""
        return any({self.kind, self.true_kind} <= sort for sort in SORTS)

    @property
    def right(self) -> bool:
        """Whether the state is right."""
        return self.state is self.true_state

    @property
    def waits(self) -> bool:
        """Whether it truly waits."""
        return self.true_state is State.WAITING

    @property
    def said(self) -> bool:
        """Whether it was judged waiting."""
        return self.state is State.WAITING

    @property
    def surely(self) -> bool:
        """Whether it was judged, surely, waiting."""
        return self.said and self.certainty is Certainty.SURE


def judge_case(case: Case, engine: Engine, classifier: Classifier | None = None) -> Prediction:
    """The verdict on a case, beside its label; `classifier` as for `judge`."""
    verdict = judge(decided(engine, case.snapshot), case.snapshot, case.history, classifier=classifier)
    match = verdict.match
    asks = PromptFacts.of(verdict)  # once for all policies
    pressed = tuple(_press(case, asks, policy) for policy in POLICIES)
    fine = verdict.state is case.label.state and "wrong" not in pressed
    return Prediction(
        id=case.id,
        program=case.program,
        true_state=case.label.state,
        true_kind=case.label.kind,
        state=verdict.state,
        kind=verdict.kind,
        certainty=verdict.certainty,
        pressed=pressed,
        hard=case.label.hard,
        signature=f"{match.pack.name}:{match.signature.id}" if match else None,
        reasons=verdict.reasons,
        screen=None if fine else case.snapshot.screen,
    )


def decided(engine: Engine, seen: Screen | Snapshot) -> Detection:
    """The engine's result for a look; it is asked again where a pattern ran out of its budget.

    The budget is CPU time of the process, so other threads (those of a cluster's worker) spend it as well.  A pattern
    that itself runs away does so each time; figures must not depend on other threads.
    """
    now = Snapshot(screen=seen) if isinstance(seen, Screen) else seen
    for _ in range(_LOOKS - 1):
        detection = asked(engine, now)
        if not detection.undecided:
            return detection
    return asked(engine, now)


def _press(case: Case, asks: PromptFacts, policy: Policy) -> Pressed:
    """What a policy would have done to a case, if every agent that is known were proven to be there.

    A key is wrong where nothing waits, and for the kinds in `NEVER_PRESSED`; under ``careful`` also if the label has
    another way out.  Under ``daemon``, which may agree to what a person would refuse, a plain Enter is wrong on a
    harmful default: one that is labelled so, or that differs from the label's safe way out.
    """
    decision = policy.decide(asks, Scene(logged=frozenset(asks.programs)))
    if not isinstance(decision, Press):
        return "none"
    label = case.label
    if label.state is not State.WAITING or label.kind in NEVER_PRESSED:
        return "wrong"
    keys = decision.keys.to_bytes()
    differs = label.dismissable_keys is not None and _bytes(label.dismissable_keys) != keys
    if policy is CAREFUL:
        return "wrong" if differs else "right"
    return "wrong" if keys == _ENTER and (label.harmful_default or differs) else "right"


def _bytes(words: tuple[str, ...]) -> bytes:
    """What the keys of a label send: tmux's names, and text that types itself, such as ``:q!``."""
    return b"".join((Keys.parse(word) if word in KEY_NAMES else Keys.typed(word)).to_bytes() for word in words)
