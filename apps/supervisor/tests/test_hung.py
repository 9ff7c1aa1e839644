"""A session that hangs: a person is told; it is interrupted, or started again so that it goes on with its session."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hanging_agent import SESSION, installed, keys, starts
from silent_agent import AGENT, Model
from stallkit_supervisor.recovery_state import Cure
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from started import House
from supervised import EAGER, named, run
from terminals import Server, wait_for

from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL
from stallkit.press.policy_file import DAEMON
from stallkit.transports.base import Options

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")]

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


def test_ones_that_hang_or_only_move_are_told_until_they_go_on_and_one_whose_model_lives_is_not(
    server: Server, models: ExitStack
) -> None:
    start(server, "lives", models, each_s=0.1)
    start(server, "moves", models, does=MOVES)
    start(server, "hangs", models, ticks=120)
    config = WatchConfig(CAREFUL, EAGER, hung_after_s=AFTER_S)
    supervisor = Supervisor([f"tmux:{name}" for name in ("hangs", "moves", "lives")], config, options=server.options)

    def until(seen: list[Event]) -> bool:
        over = any(one.facts["what"] == "hung" and one.target == "tmux:hangs" for one in named(seen, "cleared"))
        return over and len(hangs(seen)) >= 2

    told = hangs(run(supervisor, until))
    assert sorted(one.target or "" for one in told) == ["tmux:hangs", "tmux:moves"]
    for one in told:
        assert one.facts["state"] == "working" and one.facts["hung"]["since_s"] >= AFTER_S
        assert one.facts["message"].startswith("nothing came on 1 TCP connection for ")


def test_the_daemon_tells_as_well_and_it_may_be_turned_off(server: Server, models: ExitStack) -> None:
    start(server, "one", models, ticks=100)
    for after_s, until in (
        (AFTER_S, lambda seen: bool(hangs(seen))),
        (0.0, lambda seen: len(named(seen, "detection")) > 1 or bool(named(seen, "escalation"))),  # it rests
    ):
        supervisor = Supervisor(["tmux:one"], WatchConfig(DAEMON, EAGER, hung_after_s=after_s), options=server.options)
        assert bool(hangs(run(supervisor, until))) is (after_s > 0)


# Its animation takes a core, and its status line starts a child again and again.
MOVES = """
def moves():
    while True:
        subprocess.run(["sleep", "0.1"])
        until = time.monotonic() + 0.5
        while time.monotonic() < until: pass
threading.Thread(target=moves, daemon=True).start()
"""

BOTH = Cure(escape=True, restart=True, restart_after_s=0.5)
CONFIG = WatchConfig(CAREFUL, EAGER, hung_after_s=2.0, cure=BOTH)
RESUMES = f"--resume {SESSION}"


@pytest.fixture
def port() -> Iterator[str]:
    """Of a model on loopback that never answers."""
    model = Model()
    yield model.port
    with suppress(OSError), socket.create_connection(("127.0.0.1", int(model.port))):
        pass  # it waits for one, if no agent ever asked
    model.close()


def acts(events: list[Event], name: str) -> list[Event]:
    return [one for one in events if one.name == name]


def ended(events: list[Event], name: str) -> Event | None:
    """How that ended: done, or refused for good."""
    found = acts(events, name)
    return next((one for one in found if one.facts["outcome"] != "refused"), found[0] if len(found) >= 2 else None)


def test_escape_ends_its_turn_and_nothing_more_is_done(server: Server, tmp_path: Path, port: str) -> None:
    server.start("one", installed(tmp_path, "obeys", port), shows="Herding").close()
    supervisor = Supervisor(["tmux:one"], CONFIG, options=server.options)
    events = run(supervisor, lambda seen: any(one.facts["what"] == "hung" for one in acts(seen, "cleared")))
    pressed = [one for one in acts(events, "interrupt") if one.facts["outcome"] != "refused"]
    assert [(one.facts["keys"], one.facts["outcome"]) for one in pressed] == [("Escape", "cleared")]
    assert keys(tmp_path) == b"\x1b" and not acts(events, "restart")
    (over,) = [one for one in acts(events, "cleared") if one.facts["what"] == "hung"]
    assert over.facts["by"] == "stallkit"


@pytest.mark.parametrize("how", ["ignores", "ignores stubborn"])
def test_one_that_ignores_it_goes_on_with_its_session_in_a_new_process(
    house: House, store: Store, tmp_path: Path, port: str, how: str
) -> None:
    program = installed(tmp_path, how, port)
    first = house.start("a", program, "--model", "opus", "fix the tests")
    wait_for(lambda: starts(tmp_path), "its start")
    options, stubborn = Options(tmux_socket_path=str(house.socket)), "stubborn" in how
    config = evolve(CONFIG, cure=evolve(BOTH, escape=not stubborn))
    supervisor = Supervisor(["tmux:a"], config, options=options, store=store)
    restart = ended(run(supervisor, lambda seen: bool(ended(seen, "restart"))), "restart")
    assert restart is not None and restart.facts["outcome"] == "cleared" and SESSION in restart.facts["why"]
    assert ("by force" in restart.facts["why"]) is stubborn
    wait_for(lambda: len(starts(tmp_path)) == 2, "its second start")
    assert starts(tmp_path) == ["--model opus fix the tests", f"{RESUMES} --model opus"]
    recoveries = [(one.act, one.outcome) for one in store.recoveries("tmux:a")]
    assert recoveries == ([] if stubborn else [("interrupt", "unchanged")]) + [("restart", "cleared")]
    again = house.register.latest("a")
    assert again is not None and again.session.id != first.id
    assert again.session.directory == first.directory and again.session.command[1:3] == ("--resume", SESSION)


def test_in_a_shell_its_own_command_line_is_what_goes_on(server: Server, tmp_path: Path, port: str) -> None:
    program = installed(tmp_path, "ignores", port)
    shell = server.start("one", "bash", "--norc", "-i", shows="bash-")
    server.tmux("send-keys", "-t", "=one:", f"PATH={tmp_path}:$PATH; claude --model opus 'go on'", "Enter")
    server.wait(shell, "Herding")
    before = shell.capture().identity
    supervisor = Supervisor(["tmux:one"], evolve(CONFIG, cure=evolve(BOTH, escape=False)), options=server.options)
    restart = ended(run(supervisor, lambda seen: bool(ended(seen, "restart"))), "restart")
    assert restart is not None and restart.facts["outcome"] == "cleared", restart
    wait_for(lambda: len(starts(tmp_path)) == 2, "its second start")
    assert starts(tmp_path)[1] == f"{RESUMES} --model opus", program
    assert shell.capture().identity == before, "the shell was not ended"


@pytest.mark.alone
def test_without_its_sessions_id_it_is_not_ended_and_a_person_is_told_why(
    server: Server, tmp_path: Path, port: str
) -> None:
    server.start("one", installed(tmp_path, "nameless", port), shows="Herding").close()
    supervisor = Supervisor(["tmux:one"], evolve(CONFIG, cure=evolve(BOTH, escape=False)), options=server.options)

    events = run(supervisor, lambda seen: any("is not ended: " in one.facts.get("why", "") for one in seen))
    assert {one.facts["outcome"] for one in acts(events, "restart")} == {"refused"}
    assert "the id of its session is unknown" in acts(events, "restart")[0].facts["why"]
    assert len(starts(tmp_path)) == 1


def test_below_what_starts_it_again_by_itself_it_is_left_alone(server: Server, tmp_path: Path, port: str) -> None:
    loop = f"while :; do {installed(tmp_path, 'ignores', port)} --model opus; sleep 1000; done"
    server.start("one", "bash", "-c", loop, shows="Herding").close()
    supervisor = Supervisor(["tmux:one"], CONFIG, options=server.options)
    events = run(supervisor, lambda seen: any("is not interrupted: " in one.facts.get("why", "") for one in seen))
    assert {one.facts["outcome"] for one in acts(events, "interrupt")} == {"refused"}
    assert keys(tmp_path) == b"" and len(starts(tmp_path)) == 1


@pytest.mark.parametrize("act", ["interrupt", "restart"])
def test_an_intent_without_an_outcome_is_never_repeated(
    server: Server, tmp_path: Path, port: str, act: str, store: Store
) -> None:
    transport = server.start("one", installed(tmp_path, "ignores", port), shows="Herding")
    identity = transport.capture().identity
    store.new_loop("tmux:one", identity)
    store.intend("tmux:one", act, identity, "", "working  ", None)
    cure = Cure(escape=act == "interrupt", restart=act == "restart", restart_after_s=0.0)
    config = evolve(CONFIG, cure=cure, notify=evolve(CONFIG.notify, remind_s=2.0))
    supervisor = Supervisor(["tmux:one"], config, options=server.options, store=store)
    events = run(supervisor, lambda seen: len([one for one in seen if one.facts.get("what") == "hung"]) >= 2)
    assert acts(events, "outcome_unknown") and not acts(events, act)
    assert keys(tmp_path) == b"" and len(starts(tmp_path)) == 1
