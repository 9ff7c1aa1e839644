"""Containers of real engines: what is made of what docker and podman say, above all where that is not true."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from machine_room import IMAGE, DockerRoom, PodmanRoom, Room
from terminals import Server, wait_for

from stallkit.errors import TransportError, TransportUnavailable
from stallkit.sessions.model import Session
from stallkit.transports.base import Presence
from stallkit.transports.containers.container_events import (
    Account,
    Broke,
    ContainerEvent,
    ContainerFacts,
    Died,
    Killed,
    OutOfMemory,
    Removed,
    Started,
    read_event,
)
from stallkit.transports.containers.event_stream import ContainerEventStream
from stallkit.transports.containers.runtime_call import DOCKER, PODMAN, kept
from stallkit.transports.containers.runtimes import ContainerRuntime, judged, runtime_of, weigh

LABEL = "stallkit.session=abc"
TRAPS = "trap 'exit 9' USR1; trap 'exit 0' USR2; echo ready; while :; do sleep 0.05; done"


def engine(room: Room) -> ContainerRuntime:
    return ContainerRuntime(room.name, kept({**os.environ, **room.environment}))


@pytest.fixture
def container(room: Room, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for a container, which is gone afterwards."""
    yield from _named(room, request)


@pytest.fixture
def of_docker(docker_room: DockerRoom, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _named(docker_room, request)


@pytest.fixture
def of_podman(podman_room: PodmanRoom, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _named(podman_room, request)


def _named(room: Room, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"stallkit-{abs(hash(request.node.name))}"
    yield name
    room.discard(name)


def session_of(room: Room, name: str, *command: str, **more: Any) -> Session:
    return Session(
        name="work",
        id="abc",
        command=command,
        directory=more.pop("directory", "/"),
        started_at=0.0,
        boot="",
        engine=room.name,
        image=IMAGE,
        container=name,
        engine_environment=kept({**os.environ, **room.environment}),
        **more,
    )


def run(room: Room, name: str, script: str, *options: str) -> None:
    """A container in the background."""
    room.run("run", "-d", "--name", name, "--label", LABEL, *options, IMAGE, "sh", "-c", script)


def traps(room: Room, name: str, *options: str) -> int:
    """One that waits for a signal; its program's number."""
    run(room, name, TRAPS, *options)
    wait_for(lambda: "ready" in room.call("logs", name).stdout, "the traps")
    return room.pid(name)


def ended(room: Room, name: str) -> ContainerFacts:
    looks = [engine(room).facts(name)]
    wait_for(lambda: not looks[-1].running or looks.append(engine(room).facts(name)), f"the end of {name}")
    assert not any(look.engine_died for look in looks), "it ended in order, whenever one looked"
    return looks[-1]


class Told:
    """A stream of events, listened to while something is done; and what it says of one container."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.heard: list[ContainerEvent | Broke] = []

    def during(
        self, act: Callable[[], object], until: Callable[[list[ContainerEvent | Broke]], object]
    ) -> list[ContainerEvent | Broke]:
        async def listened() -> None:
            stream = ContainerEventStream(self.room.name, engine(self.room).environment, self.now()).listen()
            async with contextlib.aclosing(stream), asyncio.timeout(90):
                while not until(self.heard):
                    self.heard.append(await anext(stream))

        # Beside us, not the act: a daemon that is started ends with the thread that started it.
        with ThreadPoolExecutor(1) as beside:
            listening = beside.submit(asyncio.run, listened())
            act()
            listening.result()
        return self.heard

    def now(self) -> float:
        """Of the events of this test alone."""
        return time.time() + 0.9  # a stream begins a little before what it is asked for

    def account(self, name: str) -> Account:
        told = Account()
        for event in self.heard:
            if isinstance(event, Broke) or event.container == name:
                told = told.after(event)
        return told


def heard(kind: type[ContainerEvent], *names: str) -> Callable[[list[ContainerEvent | Broke]], object]:
    """Whether all of these containers were heard of; a stream also tells of those of the test before."""
    return lambda events: set(names) <= {one.container for one in events if isinstance(one, kind)}


# --- how it is started -----------------------------------------------------------------------------------------------


def test_a_session_runs_in_its_directory_whatever_the_tmux_server_knows(
    room: Room, container: str, server: Server, tmp_path: Path
) -> None:
    directory = tmp_path / 'odd, "name": here'
    directory.mkdir()
    # The server's environment knows nothing of the engine: the command line has to bring it.
    script = 'pwd >found; echo "$STALLKIT_SESSION $PORT" >>found; exit 3'
    session = session_of(room, container, "sh", "-c", script, directory=str(directory), ports=(47_011,))
    made = runtime_of(session)
    assert made is not None
    server.start("work", *made.run_command(session))
    wait_for(lambda: server.tmux("display-message", "-p", "-t", "=work:", "#{pane_dead}") == "1\n", "its end")
    facts = made.facts(container)
    assert (facts.place, facts.started, facts.running, facts.inspect_code) == (Presence.THERE, True, False, 3)
    # What tmux did not collect yet it does not know: `end_facts` has it do so.
    assert server.tmux("display-message", "-p", "-t", "=work:", "#{pane_dead_status}") in ("3\n", "\n")
    assert (directory / "found").read_text().splitlines() == [str(directory), "abc 47011"]
    described = made.state(container)
    assert (described["image"], described["status"], described["error"]) == (IMAGE, "exited", None)
    assert described["started"] is not None and described["finished"] is not None


def words(*options: str, directory: str = "/work", ports: tuple[int, ...] = (80,)) -> list[str]:
    session = Session("n", "i", ("x",), directory, 0.0, "", DOCKER, "img", "c", options, ports=ports)
    return ContainerRuntime(DOCKER).run_command(session)


@pytest.mark.parametrize("option", [("--network", "host"), ("--network=none",), ("--net=container:other",)])
def test_no_port_is_published_without_a_network_of_its_own(option: tuple[str, ...]) -> None:
    assert "--publish" in words("--network", "some")
    assert "--publish" not in words(*option)
    assert "PORT=80" in words(*option)


@pytest.mark.parametrize(
    "option",
    [
        ("-v", "/elsewhere:/work:ro"),
        ("-v/elsewhere:/work",),
        ("--volume=vol:/work",),
        ("--mount", "type=tmpfs,target=/work"),
        ("-w", "/app"),
        ("--workdir=/app",),
    ],
)
def test_the_options_win_over_the_directory(option: tuple[str, ...]) -> None:
    assert "--mount" in words("-v", "/a:/b") and "--workdir" in words()
    assert 'type=bind,"source=/work","target=/work"' not in words(*option)
    assert words(*option)[-2 - len(option) :] == [*option, "img", "x"]


def test_a_session_that_names_no_image_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="names no image"):
        ContainerRuntime(DOCKER).run_command(Session("n", "i", (), "/", 0.0, "", DOCKER))


def test_the_environment_of_the_start_is_kept_without_secrets() -> None:
    assert kept({"DOCKER_HOST": "unix:///x", "DOCKER_AUTH_CONFIG": "secret", "EDITOR": "vi"}) == (
        ("DOCKER_HOST", "unix:///x"),
    )
    session = Session("n", "i", ("x",), "/", 0.0, "", PODMAN, "img", "c", engine_environment=(("PATH", "/bin"),))
    made = runtime_of(session)
    assert made is not None
    command = made.run_command(session)
    assert command[:3] == ["env", "-u", "CONTAINERS_CONF"] and "PATH=/bin" in command


# --- how it ended ----------------------------------------------------------------------------------------------------


def test_codes_are_told_by_the_event_and_by_inspect(room: Room) -> None:
    codes = [0, 1, 125, 137, 143, 255]
    names = {code: f"stallkit-code-{code}" for code in codes}
    told = Told(room)

    def act() -> None:
        for code, name in names.items():
            run(room, name, f"exit {code}")

    told.during(act, heard(Died, *names.values()))
    for code, name in names.items():
        facts = engine(room).facts(name, told.account(name))
        # podman 4 leaves a 0 out of its events: there, and there alone, inspect has to tell.
        of_event = None if room.name == PODMAN and code == 0 else code
        assert (facts.event_code, facts.inspect_code, facts.started) == (of_event, code, True), name
        assert not facts.doubtful and not facts.engine_died
        room.run("rm", name)


def test_a_code_of_255_is_not_believed_without_the_event(room: Room, container: str) -> None:
    run(room, container, "exit 255")
    assert ended(room, container).inspect_code is None


def test_a_container_that_removes_itself_is_known_from_its_event(room: Room, container: str) -> None:
    told = Told(room)
    told.during(lambda: run(room, container, "exit 7", "--rm"), heard(Removed, container))
    facts = engine(room).facts(container, told.account(container))
    assert (facts.place, facts.event_code, facts.inspect_code) == (Presence.GONE, 7, None)


def test_a_program_that_could_not_be_started_has_no_code(room: Room, container: str) -> None:
    assert room.call("run", "--name", container, IMAGE, "/no/such").returncode == 127
    facts = engine(room).facts(container)  # where podman says ExitCode 0
    assert (facts.started, facts.inspect_code) == (False, None)


def test_a_container_that_runs_has_no_code(room: Room, container: str) -> None:
    traps(room, container)
    facts = engine(room).facts(container)  # where both say ExitCode 0
    assert (facts.running, facts.started, facts.inspect_code) == (True, True, None)
    with pytest.raises(TransportError, match=r"running|stop the container"):
        engine(room).remove(container)


def test_a_kill_is_told_from_an_exit(room: Room, container: str) -> None:
    told = Told(room)

    def act() -> None:
        traps(room, container)
        room.run("kill", container)

    told.during(act, heard(Died, container))
    account = told.account(container)
    assert (account.code, account.signal) == (137, 9 if room.name == DOCKER else None)
    assert heard(Killed, container)(told.heard)


def test_stop_and_remove(room: Room, container: str) -> None:
    run(room, container, "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    wait_for(lambda: "ready" in room.call("logs", container).stdout, "the trap")
    engine(room).stop(container, 10.0)
    assert engine(room).facts(container).inspect_code == 5
    engine(room).remove(container)
    assert engine(room).facts(container).place is Presence.GONE
    engine(room).stop(container, 0.0)  # one that is gone is fine
    engine(room).remove(container)
    with pytest.raises(TransportError, match=r"(?i)no such container"):
        engine(room).state(container)


def test_memory(docker_room: DockerRoom, of_docker: str) -> None:
    told = Told(docker_room)
    told.during(
        lambda: docker_room.call("run", "--name", of_docker, "--label", LABEL, "-m", "20m", IMAGE, "tail", "/dev/zero"),
        heard(Died, of_docker),
    )
    assert told.account(of_docker).oom
    facts = engine(docker_room).facts(of_docker, told.account(of_docker))
    assert (facts.oom, facts.event_code) == (True, 137)


# --- where an engine lies, or is not there ---------------------------------------------------------------------------


@pytest.mark.parametrize("survivor", [True, False], ids=["program lives", "program killed"])
def test_podman_whose_monitor_was_killed_says_running_for_ever(
    podman_room: PodmanRoom, of_podman: str, survivor: bool
) -> None:
    program = traps(podman_room, of_podman)
    podman_room.kill_monitor(of_podman)
    if not survivor:
        os.kill(program, signal.SIGKILL)
    wait_for(lambda: engine(podman_room).facts(of_podman).engine_died, "the monitor's end")
    if not survivor:
        wait_for(lambda: not engine(podman_room).facts(of_podman).running, "the program's end")
    facts = engine(podman_room).facts(of_podman)
    assert (facts.place, facts.running, facts.inspect_code) == (Presence.THERE, survivor, None)
    assert podman_room.says(of_podman, "{{.State.Status}} {{.State.ExitCode}}") == "running 0"


@pytest.mark.parametrize("options", [[], ["--rm"]], ids=["kept", "--rm"])
def test_docker_whose_shim_was_killed_makes_a_code_up(
    docker_room: DockerRoom, of_docker: str, options: list[str]
) -> None:
    told = Told(docker_room)

    def act() -> None:
        traps(docker_room, of_docker, *options)
        docker_room.kill_shim(of_docker)

    told.during(act, heard(Died, of_docker))
    assert told.account(of_docker).code == 255
    facts = engine(docker_room).facts(of_docker, told.account(of_docker))
    assert facts.doubtful and facts.event_code is None and facts.inspect_code is None


def test_a_daemon_that_was_killed(docker_room: DockerRoom, of_docker: str) -> None:
    """Its stream breaks, nobody knows of a container meanwhile; then the code is the true one, or none."""
    lost = f"{of_docker}-lost"
    program, other = traps(docker_room, of_docker), traps(docker_room, lost)
    shim = docker_room.says(lost, "{{.Id}}")
    told = Told(docker_room)
    try:
        told.during(docker_room.kill, lambda events: any(isinstance(event, Broke) for event in events))
        assert [event.runtime_gone for event in told.heard if isinstance(event, Broke)] == [True]
        account = Account(started=True).after(told.heard[-1])
        away = engine(docker_room).facts(of_docker)
        assert (away.place, away.engine_died, away.inspect_code) == (Presence.UNSEEN, True, None)
        os.kill(program, signal.SIGUSR1)
        docker_room.kill_all_of(shim, other)
        wait_for(lambda: not Path(f"/proc/{program}/root/bin").exists(), "the program's end")
    finally:
        docker_room.start()
    facts = engine(docker_room).facts(of_docker, account)
    assert (facts.inspect_code, facts.event_code, facts.engine_died) == (9, None, True)
    assert docker_room.says(lost, "{{.State.ExitCode}}") == "255"
    assert engine(docker_room).facts(lost, account).inspect_code is None
    docker_room.run("rm", lost)


def test_a_stream_is_begun_again_and_tells_nothing_twice(docker_room: DockerRoom, of_docker: str) -> None:
    told = Told(docker_room)

    def act() -> None:
        run(docker_room, of_docker, "exit 4")
        docker_room.kill()
        docker_room.start()
        run(docker_room, f"{of_docker}-again", "exit 6")

    told.during(act, heard(Died, f"{of_docker}-again"))
    assert told.account(f"{of_docker}-again").code == 6
    events = [event for event in told.heard if not isinstance(event, Broke)]
    assert len(events) == len(set(events))
    docker_room.discard(f"{of_docker}-again")


def test_a_stream_whose_child_was_killed_loses_nothing(room: Room, container: str) -> None:
    """It is not taken for the engine's end, and what happened meanwhile is told afterwards."""
    told = Told(room)

    def act() -> None:
        traps(room, container)
        wait_for(lambda: heard(Started, container)(told.heard), "the first event")
        listening = [pid for pid in children() if b"events" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert listening
        for pid in listening:
            os.kill(pid, signal.SIGKILL)
        room.run("kill", "--signal", "USR1", container)

    told.during(act, heard(Died, container))
    assert [event.runtime_gone for event in told.heard if isinstance(event, Broke)] == [False]
    assert told.account(container).code == 9 and not told.account(container).runtime_gone


def children() -> list[int]:
    """Our own."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def test_a_daemon_that_does_not_answer_is_not_gone(docker_room: DockerRoom, of_docker: str) -> None:
    run(docker_room, of_docker, "exit 3")
    with docker_room.stopped():
        facts = engine(docker_room).facts(of_docker)
    assert (facts.place, facts.engine_died, facts.inspect_code) == (Presence.UNSEEN, False, None)
    assert ended(docker_room, of_docker).inspect_code == 3


def test_an_engine_that_is_not_installed(tmp_path: Path) -> None:
    for name in (DOCKER, PODMAN):
        absent = ContainerRuntime(name, (("PATH", str(tmp_path)),))
        with pytest.raises(TransportUnavailable, match=f"{name} is not installed"):
            absent.state("x")
        assert absent.facts("x") == ContainerFacts(Presence.UNSEEN)


# --- the pure part ---------------------------------------------------------------------------------------------------

STATE = {"Status": "exited", "Running": False, "ExitCode": 3, "StartedAt": "2026-11-22T", "FinishedAt": "2026-11-22T"}
NEVER = "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, 3),
        ({"ExitCode": 0}, 0),
        ({"Status": "stopped"}, 3),  # podman's word for one that it has not cleaned up after
        ({"ExitCode": -1}, None),
        ({"ExitCode": None}, None),
        ({"ExitCode": "3"}, None),
        ({"Status": "created", "ExitCode": 0}, None),  # after a restart of the machine, StartedAt stays
        ({"Status": "stopping", "ExitCode": 0}, None),
        ({"Status": "running", "Running": True, "ExitCode": 0}, None),
        ({"Status": "dead", "ExitCode": 0}, None),
        ({"FinishedAt": NEVER, "ExitCode": 0}, None),
    ],
)
def test_inspect_is_believed_of_a_container_that_exited(change: dict[str, Any], code: int | None) -> None:
    assert judged({"state": {**STATE, **change}}, lambda pid: True).inspect_code == code


def test_a_monitor_that_ended_leaves_a_container_that_nobody_watches() -> None:
    running = {**STATE, "Status": "running", "Running": True, "ExitCode": 0, "ConmonPid": 7, "Pid": 8}
    alone = judged({"state": running}, lambda pid: pid == 8)
    assert (alone.running, alone.engine_died, alone.inspect_code) == (True, True, None)
    both = judged({"state": running}, lambda pid: False)
    assert (both.running, both.engine_died, both.inspect_code) == (False, True, None)
    stopping = {**running, "Status": "stopping", "Running": False}
    assert judged({"state": stopping}, lambda pid: False).engine_died
    assert not judged({"state": running}, lambda pid: True).engine_died
    assert not judged({"state": {**STATE, "ConmonPid": 7}}, lambda pid: False).engine_died  # it ended in order


def test_what_two_witnesses_make_of_255() -> None:
    seen = ContainerFacts(Presence.THERE, inspect_code=255)
    assert weigh(seen, Account(died=True, code=255)).event_code == 255
    assert weigh(seen, None).inspect_code is None
    made_up = weigh(evolve(seen, inspect_code=137), Account(died=True, code=255))
    assert (made_up.event_code, made_up.inspect_code, made_up.doubtful) == (None, None, True)
    gone = weigh(ContainerFacts(Presence.GONE), Account(died=True, code=255))
    assert gone.event_code is None and gone.doubtful


DOCKER_LINE = (
    '{"status":"die","id":"95f","from":"localhost/bb:1","Type":"container","Action":"die","Actor":{"ID":"95f",'
    '"Attributes":{"exitCode":"7","image":"localhost/bb:1","name":"c","stallkit.session":"abc"}},"scope":"local",'
    '"time":1795256400,"timeNano":1795256400250000000}'
)
PODMAN_LINE = (
    '{"ContainerExitCode":3,"ID":"009","Image":"localhost/bb:1","Name":"c","Status":"died",'
    '"Time":"2026-11-22T10:20:00.5Z","Type":"container","Attributes":{"stallkit.session":"abc"}}'
)


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (DOCKER_LINE, Died("c", "abc", 1795256400.25, 7)),
        (DOCKER_LINE.replace('"die"', '"start"'), Started("c", "abc", 1795256400.25)),
        (DOCKER_LINE.replace('"die"', '"oom"'), OutOfMemory("c", "abc", 1795256400.25)),
        (DOCKER_LINE.replace('"die"', '"destroy"'), Removed("c", "abc", 1795256400.25)),
        (
            DOCKER_LINE.replace('"die"', '"kill"').replace('"exitCode":"7"', '"signal":"15"'),
            Killed("c", "abc", 1795256400.25, 15),
        ),
        (DOCKER_LINE.replace('"7"', '"seven"'), Died("c", "abc", 1795256400.25, None)),
        (DOCKER_LINE.replace('"7"', '"256"'), Died("c", "abc", 1795256400.25, None)),
        (DOCKER_LINE.replace('"die"', '"exec_die"'), None),
        (DOCKER_LINE.replace("stallkit.session", "other"), None),
        (DOCKER_LINE.replace('"container"', '"network"'), None),
        (PODMAN_LINE, Died("c", "abc", 1795342800.5, 3)),
        (PODMAN_LINE.replace('"ContainerExitCode":3,', ""), Died("c", "abc", 1795342800.5, None)),
        (PODMAN_LINE.replace("died", "remove"), Removed("c", "abc", 1795342800.5)),
        (PODMAN_LINE.replace("died", "kill"), Killed("c", "abc", 1795342800.5, None)),
        (PODMAN_LINE.replace("died", "cleanup"), None),
        ("unexpected EOF", None),
    ],
)
def test_lines_of_both_engines(line: str, event: ContainerEvent | None) -> None:
    assert read_event(line) == event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("Type", "Action", "status", "Status", "Actor", "Attributes", "time", "timeNano", "Time", "Name", "exitCode")
ODD = st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(["container", "die", "died", "kill"]), max_size=8)


@given(st.text() | ODD.map(json.dumps))
def test_any_line_is_an_event_or_nothing(line: str) -> None:
    event = read_event(line)
    assert event is None or (event.container and event.session)
    assert not isinstance(event, Died) or event.code is None or 0 <= event.code <= 255


@given(st.lists(st.sampled_from([Started, Died, Killed, OutOfMemory, Removed])), st.booleans())
def test_no_code_is_made_from_events_without_one(kinds: list[type[ContainerEvent]], broke: bool) -> None:
    account = Account()
    for kind in kinds:
        account = account.after(kind("c", "abc", 1.0))
    if broke:
        account = account.after(Broke(runtime_gone=True))
        assert account.died or account.runtime_gone
    assert weigh(ContainerFacts(Presence.GONE), account).event_code is None
