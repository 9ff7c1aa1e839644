"""What a restart keeps of how a session was started: sandbox, container, ports, directory, size; or it is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest
from machine_room import IMAGE, PROGRAMS, Room, missing
from restarted import dead, shows
from stallkit_sessions.containers.runtime_call import BWRAP, call, kept
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.register import RunningSession
from stallkit_supervisor.loop_files import STOP
from stallkit_supervisor.restart import Restarter
from stallkit_supervisor.session_state import RecoveryCommands, WatchConfig
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from started import House
from supervised import EAGER, has, named, run

from stallkit.errors import TransportError
from stallkit.press.gate import End, Outcome
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule
from stallkit.redact.redact import MASK
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

TELL = 'echo "$PORT:$STALLKIT_PORTS:$(pwd):$(stty size):$(readlink /proc/self/ns/pid)" >told; echo anew; exec cat'


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    made = House(tmp_path, monkeypatch)
    yield made
    made.end()


@pytest.fixture
def bwrap(house: House) -> str:
    if why := missing("bwrap"):
        pytest.skip(why)
    try:
        call([BWRAP, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "true"], BWRAP)
    except TransportError as error:  # the kernel forbids its namespaces
        pytest.skip(str(error))
    return BWRAP


def restarter(house: House, script: str = TELL) -> Restarter:
    return Restarter(("sh", "-c", script), house.state / "sessions.db")


def again(house: House, pane: TmuxTransport, how: str, script: str = TELL) -> Outcome:
    """Restart it in its pane, or after that was lost."""
    if how == "in place":
        return restarter(house, script).in_place(pane, "tmux:a", dead(pane))
    house.end_of("a")
    house.tmux("kill-session", "-t", "=a")
    return restarter(house, script).anew(pane, "tmux:a")


def untouched(house: House, outcome: Outcome, why: str) -> None:
    assert outcome.end is End.REFUSED and why in outcome.why and "\n" not in outcome.why, outcome
    assert house.tmux("list-panes", "-t", "=a:", "-F", "#{pane_dead}") == "1\n" and not (house.work / "told").exists()


@pytest.mark.parametrize("how", ["in place", "anew"])
@pytest.mark.parametrize("contained", [False, True])
def test_ports_directory_size_and_sandbox_are_kept(
    house: House, pane: TmuxTransport, how: str, contained: bool, bwrap: str
) -> None:
    house.start("keeper")
    open_too = house.folder / "open"
    open_too.mkdir()
    bounds = {"engine": BWRAP, "engine_options": ("--bind", str(open_too), str(open_too))} if contained else {}
    first = house.start("a", "sh", "-c", "exit 3", ports=(0, 0), **bounds)
    outcome = again(house, pane, how)
    assert outcome.end is End.CLEARED, outcome.why
    shows(house, "anew")
    piped = house.tmux("display-message", "-p", "-t", "=a:", "#{pane_pipe} #{@stallkit_drained}")
    assert piped == "1 1\n", "what it prints just before its end is not lost"
    port, ports, directory, size, namespace = (house.work / "told").read_text().strip().split(":", 4)
    assert (port, ports.split()) == (str(first.ports[0]), [str(port) for port in first.ports])
    assert (directory, size) == (str(house.work), "24 80")
    assert (namespace != str(Path("/proc/self/ns/pid").readlink())) is contained, "an agent in a sandbox stays in it"
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.session.id != first.id
    assert (living.session.engine, living.session.engine_options) == (first.engine, first.engine_options)
    house.tmux("kill-session", "-t", "=a")
    assert house.end_of("a").session.id == living.session.id, "its pane and its end are known by its new id"


def test_a_container_is_started_again_as_a_container(
    house: House, pane: TmuxTransport, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    house.start("keeper")
    given = {"engine": room.name, "image": IMAGE, "engine_environment": kept(os.environ)}
    options = ("--network=none", "--env", "KEPT=yes")
    first = house.start(
        "a", "sh", "-c", "exit 3", ports=(0,), container="stallkit-a-first", engine_options=options, **given
    )
    runtime = runtime_of(first)
    assert runtime is not None and first.container is not None
    outcome = again(house, pane, "in place", 'echo "in $KEPT $PORT"; exec cat')
    assert outcome.end is End.CLEARED, outcome.why
    shows(house, f"in yes {first.ports[0]}")
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.session.container not in (None, first.container)
    assert (living.session.image, living.session.engine_options) == (IMAGE, options)
    assert runtime.facts(str(living.session.container)).running
    with pytest.raises(TransportError):
        runtime.state(first.container)  # it was taken away
    room.discard(str(living.session.container))


def test_while_its_container_runs_on_there_is_no_second_one(
    house: House, pane: TmuxTransport, docker_room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in docker_room.environment.items():
        monkeypatch.setenv(name, value)
    given = {"engine": "docker", "image": IMAGE, "engine_environment": kept(os.environ)}
    house.start("a", "sh", "-c", "echo up; exec sleep 1000", container="stallkit-a-on", **given)
    shows(house, "up")
    os.kill(int(house.tmux("display-message", "-p", "-t", "=a:", "#{pane_pid}")), 9)  # the client alone
    untouched(house, restarter(house).in_place(pane, "tmux:a", dead(pane)), "its container runs on")
    docker_room.discard("stallkit-a-on")


# --- what is not known is refused ---


def test_options_that_were_redacted_are_not_made_up(house: House, pane: TmuxTransport, bwrap: str) -> None:
    secret = ("--setenv", "API_TOKEN", "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2)
    house.start("a", "sh", "-c", "exit 3", engine=BWRAP, engine_options=secret)
    outcome = restarter(house).in_place(pane, "tmux:a", dead(pane))
    untouched(house, outcome, "redacted")
    assert MASK not in outcome.why


def test_what_somebody_put_into_the_pane_of_a_sandbox_is_not_known(
    house: House, pane: TmuxTransport, bwrap: str
) -> None:
    house.start("a", "sh", "-c", "exit 3", engine=BWRAP)
    house.end_of("a")
    house.tmux("respawn-pane", "-t", "=a:", "exit 4")
    untouched(house, restarter(house).in_place(pane, "tmux:a", dead(pane)), "another program was put into its pane")


def test_a_sandbox_that_was_started_by_hand_is_not_left(house: House, pane: TmuxTransport) -> None:
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    house.tmux("set-option", "-g", "remain-on-exit", "on")
    words = ["new-session", "-d", "-s", "a", "-c", str(house.work)]
    house.tmux(*words, "env", "A=b", "/usr/bin/bwrap", "--no-such-option")
    untouched(house, restarter(house).in_place(pane, "tmux:a", dead(pane)), "was started with bwrap")
    own = Restarter(("sh", "-c", "echo instead of bwrap; exec cat"), house.state / "sessions.db")
    assert own.in_place(pane, "tmux:a", dead(pane)).end is End.CLEARED


def test_a_directory_that_is_gone_is_not_replaced_by_another(house: House, pane: TmuxTransport) -> None:
    house.start("a", "sh", "-c", "exit 3")
    seen = dead(pane)
    house.end_of("a")
    house.work.rename(house.folder / "elsewhere")
    outcome = restarter(house).in_place(pane, "tmux:a", seen)
    assert outcome.end is End.REFUSED and "is not a directory" in outcome.why
    assert house.tmux("list-panes", "-t", "=a:", "-F", "#{pane_dead}") == "1\n"


@pytest.mark.parametrize("how", ["in place", "anew"])
def test_a_stop_where_it_was_started_holds_the_restart(house: House, pane: TmuxTransport, how: str) -> None:
    house.start("keeper")
    house.start("a", "sh", "-c", "exit 3")
    (house.work / STOP).touch()
    outcome = again(house, pane, how)
    assert outcome.end is End.REFUSED and f"{house.work / STOP} is there" in outcome.why
    assert not (house.work / "told").exists()


def test_one_that_was_started_by_hand_and_is_gone_comes_back_where_it_was(house: House, pane: TmuxTransport) -> None:
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    assert restarter(house).anew(pane, "tmux:a", house.work).end is End.CLEARED
    shows(house, "anew")
    assert (house.work / "told").read_text().split(":")[2] == str(house.work)


def test_a_supervisor_brings_an_agent_back_into_its_sandbox(house: House, bwrap: str) -> None:
    first = house.start("a", "sh", "-c", "exit 3", engine=BWRAP, ports=(0,))
    store = Store(house.state / "watch.db")
    back = Policy("back", rules=[Rule(do="restart", state="gone")])  # type: ignore[arg-type]  # words become enums
    commands, options = RecoveryCommands(restart=("sh", "-c", TELL)), Options(tmux_socket_path=str(house.socket))
    events = run(
        Supervisor(["tmux:a"], WatchConfig(back, EAGER), options=options, store=store, commands=commands),
        has("restart"),
    )
    assert named(events, "restart")[0].facts["why"] == "the program was started again"
    shows(house, "anew")
    told = (house.work / "told").read_text().strip().split(":", 4)
    assert told[0] == str(first.ports[0]) and told[4] != str(Path("/proc/self/ns/pid").readlink())
    assert store.counts("tmux:a", "restart").total == 1
    store.close()
