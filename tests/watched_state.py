"""A session over time, for tests of what a look at it leads to."""

from __future__ import annotations

from typing import Any, Iterable

from attrs import evolve
from looks import snapshot, verdict

from stallkit.core.topic import What
from stallkit.core.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.press.policy_file import DAEMON
from stallkit.supervise.session_state import Do, Halt, Say, SessionState, Step, WatchConfig
from stallkit.supervise.state import on_look, on_outcome
from stallkit.supervise.telling import Notify

ASKS, WORKS, ENDED = verdict(), verdict("working", "maybe", id=None), verdict("ended", id="shell")
USED_UP = verdict("quota", id="limit", line="limit reached, resets 8pm")
AT_ONCE = Notify(dict.fromkeys(What, 0.0), remind_s=None)  # what is sure is told by the look that shows it
RULES = {policy.name: WatchConfig(policy, notify=AT_ONCE) for policy in (CAREFUL, DAEMON, OBSERVE)}
RULES["agents"] = evolve(RULES["daemon"], policy=evolve(DAEMON, agents=["claude", "node"]))
RESUMES = evolve(RULES["careful"], resumes=True)


class Watch:
    """A session over time: says what was seen, keeps what came out."""

    def __init__(self, config: WatchConfig = RULES["careful"], state: SessionState = SessionState()) -> None:  # noqa: B008
        self.config, self.state, self.now = config, state, 1000.0
        self.steps: tuple[Step, ...] = ()

    def see(
        self, seen: Verdict, text: str = "a screen", after: float = 1.0, free_in: float | None = None, **look: Any
    ) -> list[str]:
        """What follows from a look, in short."""
        self.now += after
        self.state, self.steps = on_look(self.state, seen, snapshot(text, **look), self.now, self.config, free_in)
        return said(self.steps)

    def on_outcome(self, end: End) -> None:
        """What was decided came to this end."""
        (decision,) = (step.decision for step in self.steps if isinstance(step, Do))
        self.state = on_outcome(self.state, decision, end)

    def press(self, end: End, seen: Verdict = ASKS, text: str = "a screen", after: float = 1.0) -> None:
        """It is pressed, and comes to this end."""
        assert self.see(seen, text, after)[-1] in ("press", "resume", "restart")
        self.on_outcome(end)


def said(steps: Iterable[Step]) -> list[str]:
    """Steps by name; detections, and that something is over, left out."""
    names = []
    for step in steps:
        match step:
            case Do(decision):
                names.append(type(decision).__name__.lower())
            case Say(name, facts) if name not in ("detection", "cleared"):
                names.append(f"{name}: {facts['why']}" if "why" in facts else name)
            case Halt(reason, _):
                names.append(f"halt: {reason}")
    return names
