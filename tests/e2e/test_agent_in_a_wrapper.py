"""A real agent, killed with kill -9 below a loop that lives on, in tmux: it ended, though its screen stands there."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from terminals import wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.transports.base import look

pytestmark = pytest.mark.e2e

LOOPS = {
    "a pause": "while :; do claude; sleep 1000; done",
    "a question": "while :; do claude; read -p 'press enter to restart '; done",
}


@pytest.mark.parametrize("pause", LOOPS)
def test_a_killed_agent_in_a_loop_has_ended(pause: str, stage: Any, engine: Engine) -> None:
    loop = stage.home / "loop.sh"
    loop.write_text(LOOPS[pause])
    looks: list[Snapshot] = []
    found: list[Verdict] = []

    def told(state: State, seen: Snapshot | None = None) -> bool:
        looks.append(look(stage.transport))
        found.append(judged(engine, looks[-1], looks[-2] if len(looks) > 1 else None, seen))
        return found[-1].state is state and found[-1].certainty is Certainty.SURE

    stage.type(f"bash {loop}")
    stage.keys("Enter")
    wait_for(lambda: told(State.IDLE), "the agent at its composer", patience_s=90)
    assert found[-1].agents == frozenset({"claude"}) and found[-1].shows_agent
    seen, kernel = looks[-1], looks[-1].kernel
    assert kernel is not None and kernel.foreground == "bash"
    os.kill(next(one.pid for one in kernel.members if "claude" in one.names), signal.SIGKILL)
    wait_for(lambda: told(State.ENDED, seen), "its end")
    assert found[-1].ended is AfterExit.WRAPPED
    stranger = judged(engine, looks[-1], looks[-2])
    if stranger.detection.left is not None:  # what the shell prints may stand over what the agent had drawn
        assert stranger.state is State.ENDED, "by what stands there and who is there alone"
