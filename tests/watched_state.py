"""A session over time, for tests of what a look at it leads to."""

from __future__ import annotations

from typing import Any, Iterable

import looks
from attrs import evolve
from stallkit_supervisor.notification import Need, Notify
from stallkit_supervisor.session_state import Emit, Halt, Perform, SessionState, Step, WatchConfig
from stallkit_supervisor.transitions import on_look, on_outcome

from stallkit.detect.signature import Pack
from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.terminal.screen import Screen

OWN = Pack("acme", foreground=["claude"])  # its prompts are the agent's own dialogs
ANYBODYS = Pack("shell_yn")  # any program may show its prompts


def verdict(*given: Any, pack: Pack = OWN, **facts: Any) -> Verdict:
    """A verdict as in `looks`, by a pack of the agent claude or of nobody in particular."""
    made = looks.verdict(*given, **facts)
    match = made.match and evolve(made.match, pack=pack)
    return evolve(made, detection=evolve(made.detection, match=match, executables={"claude": ()}))


def snapshot(
    text: str = "a screen",
    foreground: str | None = "claude",
    identity: str = "%1",
    cursor: tuple[int, int] | None = None,
) -> Snapshot:
    """A look that shows this text; the program in the foreground is proven to read."""
    made = looks.snapshot(text, foreground, identity)
    if cursor is not None:
        made = evolve(made, screen=Screen.from_text(text, cursor=cursor, size=looks.SIZE))
    return evolve(made, kernel=looks.reads(foreground) if foreground else KernelFacts())


ASKS, WORKS, ENDED = verdict(), verdict("working", "maybe", id=None), verdict("ended", id="shell", pack=ANYBODYS)
YES_NO = verdict(id="yes_no", severity="medium", pack=ANYBODYS)
USED_UP = verdict("quota", id="limit", line="limit reached, resets 8pm")
AT_ONCE = Notify(dict.fromkeys(Need, 0.0), remind_s=None)  # what is sure is told by the look that shows it
RULES = {policy.name: WatchConfig(policy, notify=AT_ONCE) for policy in (CAREFUL, DAEMON, OBSERVE)}
RULES["agents"] = evolve(RULES["daemon"], policy=evolve(DAEMON, agents=["claude"]))
RESUME = Rule(do="resume", state="quota", agent="any")
RESUMES = evolve(RULES["careful"], policy=evolve(CAREFUL, rules=[RESUME]))


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
        (decision,) = (step.decision for step in self.steps if isinstance(step, Perform))
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
            case Perform(decision):
                names.append(type(decision).__name__.lower())
            case Emit(name, facts) if name not in ("detection", "cleared"):
                names.append(f"{name}: {facts['why']}" if "why" in facts else name)
            case Halt(reason, _):
                names.append(f"halt: {reason}")
    return names
