"""Looks and verdicts as values, for the machines that are fed with them, and what these did, counted."""

from __future__ import annotations

from typing import Any

from attrs import define, field
from stallkit_supervisor.recovery_state import Limits

from stallkit.detect.dialog import Dialog
from stallkit.detect.engine import Detection, Match, Rule
from stallkit.detect.signature import Certainty, Clause, Dismissal, Kind, Pack, Signature, State
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen

PACK = Pack(name="acme")
ONE_LINE = Dialog(
    ["{question}"], "any", {"question": {"is": "line", "decides": True}}
)  # the last row, whatever it says
SIZE = (80, 24)


def verdict(
    state: str = "waiting",
    certainty: str = "sure",
    *,
    id: str | None = "asks",
    line: str = "Proceed? [y/N]",
    severity: str = "low",
    kind: str | None = "confirm",
    keys: str | None = "y Enter",
    undecided: bool = False,
) -> Verdict:
    """A verdict as `judge` might give it; with `id` None no signature matched."""
    waits = state == "waiting"
    match = None
    if id is not None and state not in ("unknown", "gone"):
        given: Any = {"state": state, "kind": kind if waits else None, "severity": severity, "all_of": ["?"]}
        signature = Signature(id=id, title=id, **given)
        if waits and keys:  # as no pack could say it of a secret
            object.__setattr__(signature, "dismissal", Dismissal(keys=keys))
            object.__setattr__(signature, "dialogs", (ONE_LINE,))
        match = Match(signature, PACK, (), line)
    slow = Signature(id="slow", title="", state="waiting", all_of=["?"])  # type: ignore[arg-type]
    ran_out = ((Rule(PACK, slow), Clause(text="?")),)
    shown = Screen.from_text(line, size=SIZE)
    detection = Detection(shown, match, ran_out if undecided else (), words=installed_engine().words)
    asks_for = Kind(kind) if waits and kind else None
    return Verdict(State(state), Certainty(certainty), asks_for, detection, ("seen", "and more"))


def snapshot(text: str = "a screen", foreground: str | None = "claude", identity: str = "%1") -> Snapshot:
    """A look that shows this text."""
    return Snapshot(Screen.from_text(text), process=ProcessFacts(foreground), target="tmux:one", identity=identity)


def reads(program: str, path: str | None = None, cwd: str | None = None, pid: int = 1) -> KernelFacts:
    """A program of this name that reads the terminal; `path` is its file: "" for unknown, by default in /usr/bin."""
    file = f"/usr/bin/{program}" if path is None else path
    member = Member(pid, program, "S", started=pid, interactive=False, path=file or None, cwd=cwd)
    return KernelFacts(
        pid=pid,
        group=pid,
        foreground=program,
        members=(member,),
        complete=True,
        listening=True,
        how="read",
        readers=(member,),
        background=(),
        looked_at=1,
        threads=1,
    )


@define
class Tally:
    """What was done, counted in another way than the machine does: every act stays in the list."""

    limits: Limits
    iteration: int = 0
    total: int = 0
    at: list[float] = field(factory=list)

    def did(self, now: float) -> None:
        self.iteration, self.total = self.iteration + 1, self.total + 1
        self.at.append(now)
        assert self.iteration <= self.limits.per_iteration, "more than an iteration allows"
        assert self.total <= self.limits.total, "more than is allowed in all"
        recent = [at for at in self.at if now - at < self.limits.window_s]
        assert len(recent) <= self.limits.in_window, "more than the window allows"

    def begin(self, reset_total: bool) -> None:
        """An iteration, or a loop: the window goes on."""
        self.iteration, self.total = 0, 0 if reset_total else self.total

    def undo(self) -> None:
        self.iteration, self.total = max(0, self.iteration - 1), max(0, self.total - 1)
        self.at.pop()
