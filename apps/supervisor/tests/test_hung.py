"""A person is told of a session that says it works while nothing happens, with what shows it, and when it goes on."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Iterator

import pytest
from silent_agent import AGENT, Model
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, named, run
from terminals import Server

from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

AFTER_S = 2.0
# After `{for_s}` seconds it is at rest at its composer: its spinner gives way to what it says.
RESTS = "    if number > {ticks}: print('\\r● Done.' + ' ' * 60, end='', flush=True); time.sleep(1000)\n"


@pytest.fixture
def models() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(
    server: Server, name: str, models: ExitStack, each_s: float | None = None, ticks: int = 10**6, does: str = ""
) -> None:
    model = Model(each_s)
    models.callback(model.close)
    script = AGENT.format(does=does) + RESTS.format(ticks=ticks)
    server.start(name, sys.executable, "-c", script, model.port, shows="Herding").close()


def hangs(events: list[Event]) -> list[Event]:
    return [one for one in named(events, "escalation") if one.facts.get("what") == "hung"]


@pytest.mark.parametrize("policy", [CAREFUL, DAEMON])
def test_one_that_hangs_is_told_and_one_whose_model_lives_is_not(
    server: Server, models: ExitStack, policy: Policy
) -> None:
    start(server, "lives", models, each_s=0.1)
    start(server, "hangs", models)
    config = WatchConfig(policy, EAGER, hung_after_s=AFTER_S)
    supervisor = Supervisor(["tmux:hangs", "tmux:lives"], config, options=server.options)
    events = run(supervisor, lambda seen: bool(hangs(seen)))
    (told,) = hangs(events)
    assert told.target == "tmux:hangs" and told.facts["state"] == "working"
    assert told.facts["message"].startswith("nothing came on 1 TCP connection for ")
    assert told.facts["hung"]["since_s"] >= AFTER_S


# Its animation takes a core, and its status line starts a child again and again.
MOVES = """
def moves():
    while True:
        subprocess.run(["sleep", "0.1"])
        until = time.monotonic() + 0.5
        while time.monotonic() < until: pass
threading.Thread(target=moves, daemon=True).start()
"""


def test_one_that_only_moves_is_told(server: Server, models: ExitStack) -> None:
    start(server, "moves", models, does=MOVES)
    config = WatchConfig(CAREFUL, EAGER, hung_after_s=AFTER_S)
    supervisor = Supervisor(["tmux:moves"], config, options=server.options)
    (told,) = hangs(run(supervisor, lambda seen: bool(hangs(seen))))
    assert told.facts["message"].startswith("nothing came on 1 TCP connection for ")


def test_it_is_over_when_it_goes_on(server: Server, models: ExitStack) -> None:
    start(server, "one", models, ticks=80)
    config = WatchConfig(CAREFUL, EAGER, hung_after_s=AFTER_S)
    supervisor = Supervisor(["tmux:one"], config, options=server.options)
    events = run(supervisor, lambda seen: any(one.facts["what"] == "hung" for one in named(seen, "cleared")))
    assert len(hangs(events)) == 1


def test_it_may_be_turned_off(server: Server, models: ExitStack) -> None:
    start(server, "one", models, ticks=80)
    config = WatchConfig(CAREFUL, EAGER, hung_after_s=0.0)
    supervisor = Supervisor(["tmux:one"], config, options=server.options)
    assert not hangs(run(supervisor, lambda seen: len(named(seen, "detection")) > 1))
