"""What a supervisor decided on at one look is done at later ones only with the same reader."""

from __future__ import annotations

from attrs import evolve
from looks import ONE_LINE, SIZE, reads

from stallkit.core.engine import Engine
from stallkit.core.facts import KernelFacts
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Dismissal, Pack, Signature
from stallkit.core.verdict import Snapshot
from stallkit.press.check import observe
from stallkit.press.decisions import Press
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL
from stallkit.press.rules import Scene
from stallkit.supervise.observed import observed
from stallkit.supervise.recovery import Recoverer
from stallkit.supervise.session_state import WatchConfig
from stallkit.testing import FakeClock, MemoryTransport

ASKS = Signature(
    id="asks",
    title="asks",
    state="waiting",
    kind="confirm",
    severity="low",  # type: ignore[arg-type]  # as a pack says it
    all_of=[Clause(text="Go on?")],
    dismissal=Dismissal(keys="y Enter"),  # type: ignore[arg-type]
    dialog=ONE_LINE,
)
ENGINE = Engine([Pack(name="acme", foreground=["acme"], signatures=[ASKS])])  # type: ignore[arg-type]


def test_another_reader_than_at_the_look_that_was_decided_on_gets_no_key() -> None:
    for pid, pressed in ((2, False), (1, True)):
        clock = FakeClock()
        asks = Screen.from_text("Go on? ", cursor=(7, 0), size=SIZE)
        transport = MemoryTransport(
            asks, lambda keys: Screen.from_text("gone"), foreground="acme", kernel=reads("acme")
        )
        verdict, seen = observe(transport, ENGINE, sleep=clock.sleep, clock=clock)
        decision = CAREFUL.decide(verdict, Scene.of(seen))
        assert isinstance(decision, Press)
        recoverer = Recoverer(ENGINE, None, clock=clock, sleep=clock.sleep)
        outcome = recoverer.act(transport, "one", decision, WatchConfig(CAREFUL), observed(verdict), last=by(seen, pid))
        assert (outcome.end is not End.REFUSED, bool(transport.sent)) == (pressed, pressed), outcome
        assert pressed or "did not when the prompt was first seen" in outcome.why


def by(seen: Snapshot, pid: int) -> Snapshot:
    """The look as it would be with another process that reads."""
    kernel = seen.kernel or KernelFacts()
    return evolve(seen, kernel=evolve(kernel, readers=tuple(evolve(one, pid=pid) for one in kernel.readers or ())))
