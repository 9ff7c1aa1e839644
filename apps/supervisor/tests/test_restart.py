"""Starting a program again: its end recorded first, its sandbox, ports and directory kept; or nothing is started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Sequence

import pytest
from machine_room import IMAGE, PROGRAMS, Room, missing
from stallkit_sessions.containers.runtime_call import BWRAP, call, kept
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.model import Cause, ExitRecord, Source, Status
from stallkit_sessions.register import RunningSession
from stallkit_supervisor.loop_files import STOP
from stallkit_supervisor.recovery import Restarter, ended_here, keep_exit, start_here
from stallkit_supervisor.session_state import RecoveryCommands, WatchConfig
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from started import House
from supervised import EAGER, has, named, run
from terminals import wait_for

from stallkit.errors import StartRefused, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.gate import End, Outcome
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule
from stallkit.redact.redact import MASK
from stallkit.testing import MemoryTransport
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport


def dead(pane: TmuxTransport) -> Snapshot:
    """The first look at a pane whose program ended."""
    looks: list[Snapshot] = []

    def ended() -> bool:
        looks.append(pane.capture())
        return looks[-1].alive is False

    wait_for(ended, "its end")
    return looks[-1]


def shows(house: House, text: str) -> None:
    """Wait until the pane of the session `a` shows a text."""
    wait_for(lambda: text in house.tmux("capture-pane", "-p", "-t", "=a:"), f"{text!r} in its pane")


ANEW = ("sh", "-c", "echo anew; exec cat")
BYE = "stty -echo; echo bye; read x; exit 3"  # tmux may lose what a program writes right before it ends


class Startable(MemoryTransport):
    """A session in memory that can start programs, or fails to."""

    def __init__(self, refuses: bool = False) -> None:
        super().__init__("bye")
        self.refuses = refuses
        self.began: list[tuple[str, tuple[str, ...]]] = []

    def restart(self, command: Sequence[str], seen: Snapshot) -> None:
        assert seen == self.now
        self._begin("restart", command)

    def start(self, command: Sequence[str]) -> None:
        self._begin("start", command)

    def _begin(self, how: str, command: Sequence[str]) -> None:
        if self.refuses:
            raise TransportError(self.target, "there is one", "look again")
        self.began.append((how, tuple(command)))


def register_of(house: House) -> Path:
    return house.state / "sessions.db"


@pytest.fixture
def restarter(house: House) -> Restarter:
    return Restarter(ANEW, register_of(house))


def by_hand(house: House, *command: str) -> None:
    """A session `a` that nobody started through us."""
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    house.tmux("set-option", "-g", "remain-on-exit", "on")
    house.tmux("new-session", "-d", "-s", "a", "-c", str(house.work), *command)


def said_bye(house: House, pane: TmuxTransport) -> Snapshot:
    """The first look at the pane after its program, `BYE`, was shown and then ended."""
    shows(house, "bye")
    house.tmux("send-keys", "-t", "=a:", "Enter")
    return dead(pane)


def identity(house: House) -> str:
    """Of what is in its pane now."""
    return house.tmux("display-message", "-p", "-t", "=a:", "#{pid} #{start_time} #{pane_id} #{pane_pid}").strip()


def test_a_transport_starts_it_or_cannot_or_perhaps_did(tmp_path: Path) -> None:
    for register in (None, tmp_path / "sessions.db"):
        session = Startable()
        restarter = Restarter(ANEW, register)
        outcome = restarter.in_place(session, "memory:", session.now)
        assert (outcome.end, outcome.after) == (End.CLEARED, session.now)
        outcome = restarter.anew(session, "memory:")
        assert (outcome.end, outcome.after) == (End.CLEARED, None)
        assert session.began == [("restart", ANEW), ("start", ANEW)]
        assert not (tmp_path / "sessions.db").exists(), "only panes of tmux have exit records"
    for other, end, why in (
        (MemoryTransport("bye"), End.REFUSED, "its transport cannot start a program"),
        (Startable(refuses=True), End.UNKNOWN, "there is one"),
    ):
        for outcome in (restarter.in_place(other, "memory:", other.now), restarter.anew(other, "memory:")):
            assert outcome.end is end and why in outcome.why


@pytest.mark.e2e
def test_one_of_ours_is_recorded_and_goes_on_under_its_name(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    first = house.start("a", "sh", "-c", BYE, ports=(0,))
    with pytest.raises(StartRefused, match="not explained yet"):
        keep_exit(register_of(house), "tmux:a", pane, pane.capture())  # of one that lives nothing is written
    outcome = restarter.in_place(pane, "tmux:a", said_bye(house, pane))
    assert (outcome.end, outcome.why) == (End.CLEARED, "the program was started again")
    shows(house, "anew")
    [record] = house.register.records("a")
    assert (record.session.id, record.screen) == (first.id, ("bye",)), "what the restart takes away was kept"
    assert record.status == Status(Source.PANE, code=3)
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.bound
    assert (living.session.command, living.session.ports) == (ANEW, first.ports)
    assert living.session.identity == identity(house)
    events = [one["event"] for one in house.events("a")]
    assert events == ["session_started", "session_crashed", "session_started"]
    outcome = restarter.anew(pane, "tmux:a")
    assert outcome.end is End.REFUSED and "it may still run" in outcome.why, "it is not started a second time"
    assert len(house.events("a")) == 3
    house.tmux("kill-session", "-t", "=a")
    assert house.end_of("a").cause in (Cause.SESSION_KILLED, Cause.SERVER_ENDED)


@pytest.mark.e2e
def test_one_that_was_started_by_hand_is_recorded_and_stays_nobodys(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    by_hand(house, "sh", "-c", BYE)
    assert restarter.in_place(pane, "tmux:a", said_bye(house, pane)).end is End.CLEARED
    shows(house, "anew")
    latest = house.register.latest("a")
    assert isinstance(latest, ExitRecord)
    assert (latest.cause, latest.status, latest.screen) == (Cause.EXITED, Status(Source.PANE, code=3), ("bye",))
    assert latest.session.directory == str(house.work)
    assert [one["event"] for one in house.events("a")] == ["session_crashed"]  # nobody saw it start
    for target in ("tmux:a", "tmux:never"):
        assert ended_here(register_of(house), target, pane.options) is None
    register_of(house).rename(house.folder / "kept")
    house.tmux("respawn-pane", "-k", "-t", "=a:", "exit 3")
    with TmuxTransport("a", pane.options) as now:
        assert Restarter(ANEW, None).in_place(now, "tmux:a", dead(now)).end is End.CLEARED
    shows(house, "anew")
    assert not register_of(house).exists(), "without a register it is restarted all the same"


@pytest.mark.e2e
def test_what_cannot_be_recorded_is_not_restarted(house: House, pane: TmuxTransport, restarter: Restarter) -> None:
    by_hand(house, "sh", "-c", "echo bye; exit 3")
    seen = dead(pane)
    register_of(house).mkdir(parents=True)
    outcome = restarter.in_place(pane, "tmux:a", seen)
    assert outcome.end is End.REFUSED and outcome.why.startswith("its end could not be recorded: register ")
    outcome = restarter.anew(pane, "tmux:a")
    assert outcome.end is End.UNKNOWN and outcome.why.startswith("register "), "nor is another one started"
    now = pane.capture()
    assert (now.alive, now.identity) == (False, seen.identity)


@pytest.mark.e2e
def test_one_whose_name_is_a_living_session_of_ours_is_restarted_unrecorded(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    other = house.folder / "other.sock"
    ours = house.start("a", tmux_socket_path=str(other))
    try:
        by_hand(house, "sh", "-c", "exit 3")
        assert restarter.in_place(pane, "tmux:a", dead(pane)).end is End.CLEARED
        shows(house, "anew")
        living = house.register.latest("a")
        assert isinstance(living, RunningSession) and living.session.id == ours.id
        assert house.register.records("a") == []
    finally:
        house.tmux("kill-server")
        house.socket = other


@pytest.mark.e2e
def test_a_pane_that_somebody_restarted_meanwhile_or_whose_port_was_taken_is_left_alone(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    first = house.start("a", "sh", "-c", "exit 3", ports=(0,))
    seen = dead(pane)
    with socket.create_server(("127.0.0.1", first.ports[0])):
        outcome = restarter.in_place(pane, "tmux:a", seen)
    assert outcome.end is End.REFUSED and outcome.why.startswith("could not start a: port ")
    record = house.register.latest("a")
    assert pane.capture().alive is False and isinstance(record, ExitRecord)
    assert keep_exit(register_of(house), "tmux:a", pane, seen) == record, "one that was written before is the one"
    house.tmux("respawn-pane", "-t", "=a:", "echo theirs; exec cat")
    shows(house, "theirs")
    outcome = restarter.in_place(pane, "tmux:a", seen)
    assert outcome.end is End.UNKNOWN and "another process or server has its place now" in outcome.why
    assert "theirs" in house.tmux("capture-pane", "-p", "-t", "=a:")
    assert house.register.records("a") == [record], "its end is recorded, and what runs there now is not ours"
    house.tmux("kill-session", "-t", "=a")
    house.start("a")
    with pytest.raises(StartRefused, match="a session of this name runs"):
        start_here(register_of(house), record, ANEW)


TELL = 'echo "$PORT:$STALLKIT_PORTS:$(pwd):$(stty size):$(readlink /proc/self/ns/pid)" >told; echo anew; exec cat'


@pytest.fixture
def bwrap(house: House, monkeypatch: pytest.MonkeyPatch) -> str:
    if why := missing("bwrap"):
        pytest.skip(why)
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    try:
        call([BWRAP, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "true"], BWRAP)
    except TransportError as error:  # the kernel forbids its namespaces
        pytest.skip(str(error))
    return BWRAP


def restarter_of(house: House, script: str = TELL) -> Restarter:
    return Restarter(("sh", "-c", script), register_of(house))


def again(house: House, pane: TmuxTransport, how: str, script: str = TELL) -> Outcome:
    """Restart it in its pane, or after that was lost."""
    if how == "in place":
        return restarter_of(house, script).in_place(pane, "tmux:a", dead(pane))
    house.end_of("a")
    house.tmux("kill-session", "-t", "=a")
    return restarter_of(house, script).anew(pane, "tmux:a")


def untouched(house: House, outcome: Outcome, why: str) -> None:
    assert outcome.end is End.REFUSED and why in outcome.why and "\n" not in outcome.why, outcome
    assert house.tmux("list-panes", "-t", "=a:", "-F", "#{pane_dead}") == "1\n" and not (house.work / "told").exists()


@pytest.mark.parametrize("contained", [False, True])
def test_ports_directory_size_and_sandbox_are_kept(
    house: House, pane: TmuxTransport, contained: bool, bwrap: str
) -> None:
    house.start("keeper")
    open_too = house.folder / "open"
    open_too.mkdir()
    bounds = {"engine": BWRAP, "engine_options": ("--bind", str(open_too), str(open_too))} if contained else {}
    first = house.start("a", "sh", "-c", "exit 3", ports=(0, 0), **bounds)
    ids = {first.id}
    for how in ("in place", "anew"):
        outcome = again(house, pane, how)
        assert outcome.end is End.CLEARED, outcome.why
        shows(house, "anew")
        piped = house.tmux("display-message", "-p", "-t", "=a:", "#{pane_pipe} #{@stallkit_drained}")
        assert piped == "1 1\n", "what it prints just before its end is not lost"
        port, ports, directory, size, namespace = (house.work / "told").read_text().strip().split(":", 4)
        assert (port, ports.split()) == (str(first.ports[0]), [str(port) for port in first.ports])
        assert (directory, size) == (str(house.work), "24 80")
        assert (namespace != str(Path("/proc/self/ns/pid").readlink())) is contained, (
            "an agent in a sandbox stays in it"
        )
        living = house.register.latest("a")
        assert isinstance(living, RunningSession) and living.bound and living.session.id not in ids
        assert (living.session.engine, living.session.engine_options) == (first.engine, first.engine_options)
        assert living.session.directory == first.directory
        ids.add(living.session.id)
        (house.work / "told").unlink()
        house.tmux("kill-session", "-t", "=a") if how == "anew" else house.tmux(
            "respawn-pane", "-k", "-t", "=a:", "exit"
        )
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
    untouched(house, restarter_of(house).in_place(pane, "tmux:a", dead(pane)), "its container runs on")
    docker_room.discard("stallkit-a-on")


def test_what_is_not_known_of_a_sandbox_is_not_made_up(house: House, pane: TmuxTransport, bwrap: str) -> None:
    secret = ("--setenv", "API_TOKEN", "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2)
    house.start("a", "sh", "-c", "exit 3", engine=BWRAP, engine_options=secret)
    outcome = restarter_of(house).in_place(pane, "tmux:a", dead(pane))
    untouched(house, outcome, "redacted")
    assert MASK not in outcome.why
    house.start("a", "sh", "-c", "exit 3", replace=True, engine=BWRAP)
    house.end_of("a")
    house.tmux("respawn-pane", "-t", "=a:", "exit 4")
    with TmuxTransport("a", pane.options) as now:
        untouched(house, restarter_of(house).in_place(now, "tmux:a", dead(now)), "another program runs in its pane")


def test_a_sandbox_that_was_started_by_hand_is_not_left(house: House, pane: TmuxTransport) -> None:
    by_hand(house, "env", "A=b", "/usr/bin/bwrap", "--no-such-option")
    untouched(house, restarter_of(house).in_place(pane, "tmux:a", dead(pane)), "was started with bwrap")
    own = Restarter(("sh", "-c", "echo instead of bwrap; exec cat"), house.state / "sessions.db")
    assert own.in_place(pane, "tmux:a", dead(pane)).end is End.CLEARED


def test_a_directory_that_is_gone_is_not_replaced_and_a_stop_in_it_holds_the_restart(
    house: House, pane: TmuxTransport
) -> None:
    house.start("keeper")
    house.start("a", "sh", "-c", "exit 3")
    (house.work / STOP).touch()
    outcome = restarter_of(house).in_place(pane, "tmux:a", dead(pane))
    untouched(house, outcome, f"{house.work / STOP} is there")
    house.work.rename(house.folder / "elsewhere")
    outcome = restarter_of(house).in_place(pane, "tmux:a", dead(pane))
    untouched(house, outcome, "is not a directory")
    (house.folder / "elsewhere").rename(house.work)
    outcome = again(house, pane, "anew")
    assert outcome.end is End.REFUSED and f"{house.work / STOP} is there" in outcome.why
    assert not (house.work / "told").exists()


def test_one_that_was_started_by_hand_and_is_gone_comes_back_where_it_was_as_nobodys(
    house: House, pane: TmuxTransport
) -> None:
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    outcome = restarter_of(house).anew(pane, "tmux:a", house.work)
    assert (outcome.end, outcome.why) == (End.CLEARED, "the program was started again")
    shows(house, "anew")
    assert (house.work / "told").read_text().split(":")[2] == str(house.work)
    assert house.register.latest("a") is None


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


ROOT = Path(__file__).resolve().parents[3]
AGENTS = ROOT / ".cache" / "agents" / "pinned" / "claude" / "node_modules" / ".bin"  # fetched by scripts/test


@pytest.mark.skipif(not (AGENTS / "claude").exists(), reason="scripts/test has not fetched it")
def test_a_real_agent_runs_again_after_each_end() -> None:
    script = ROOT / "corpora" / "agents" / "restarts.py"
    command = [sys.executable, str(script), "--path", str(AGENTS), "--times", "4", "claude"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and "4 of 4 run again" in done.stdout, done.stdout + done.stderr
