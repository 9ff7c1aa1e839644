"""What a supervisor decided on at one look is done at later ones only with the same reader."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import ONE_LINE, SIZE, reads
from stallkit_supervisor.prompt_state import observed
from stallkit_supervisor.recovery import Recoverer
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.supervisor import Supervisor
from supervised import ASKS as SHELL_ASKS
from supervised import EAGER, named, run, shell
from terminals import Server

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Pack, Signature
from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.press.check import observe
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Policy, Press
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.screen import Screen
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
NAMES = ["tmux:one", "one", "tmux:%3", "memory:one"]
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


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([*NAMES, "tmux:o*", "memory:*"]))
def test_what_a_look_decides_is_what_is_done_however_its_session_is_named_and_reached(
    watched: str, reached: str, ruled: str
) -> None:
    """`policy explain` decides on the look at the name; the key goes by another way, as the number of the pane."""
    clock = FakeClock()
    policy = Policy("mine", rules=[Rule(do="press", signature="acme:asks", session=[ruled, "tmux:never"])])
    asks = Screen.from_text("Go on? ", cursor=(7, 0), size=SIZE)
    transport = MemoryTransport(asks, lambda keys: Screen.from_text("gone"), reached, "acme", kernel=reads("acme"))
    verdict, seen = observe(transport, ENGINE, sleep=clock.sleep, clock=clock)
    seen = evolve(seen, target=watched)
    explained = policy.decide(verdict, Scene.of(seen))
    decision = explained if isinstance(explained, Press) else Press(ASKS)
    recoverer = Recoverer(ENGINE, None, clock=clock, sleep=clock.sleep)
    outcome = recoverer.act(transport, watched, decision, WatchConfig(policy), observed(verdict), last=seen)
    assert bool(transport.sent) == isinstance(explained, Press), outcome


@pytest.mark.e2e
def test_a_rule_on_a_session_holds_in_every_way_to_watch_it(server: Server) -> None:
    policy = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session=["tmux:o*"])])
    for number, way in enumerate(({"targets": "tmux:{}"}, {"everything": True}), 1):
        name = f"o{number}"
        shell(server, name, SHELL_ASKS + "exec sleep 100", "Press any key")
        given = {key: value.format(name) if isinstance(value, str) else value for key, value in way.items()}
        watch: Any = {"policy": WatchConfig(policy, EAGER), "options": server.options, **given}
        events = run(Supervisor(**watch), lambda seen: bool(named(seen, "dismissal") or named(seen, "escalation")))
        assert [one.facts["outcome"] for one in named(events, "dismissal")] == ["cleared"], (way, events)


def by(seen: Snapshot, pid: int) -> Snapshot:
    """The look as it would be with another process that reads."""
    kernel = seen.kernel or KernelFacts()
    return evolve(seen, kernel=evolve(kernel, readers=tuple(evolve(one, pid=pid) for one in kernel.readers or ())))
