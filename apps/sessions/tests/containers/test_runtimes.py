"""Containers of real engines: how they are started, and how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest
from machine_room import IMAGE, DockerRoom, PodmanRoom, Room
from stallkit_sessions.containers.container_events import (
    Account,
    Broke,
    ContainerEvent,
    ContainerEventStream,
    ContainerFacts,
    Died,
    Killed,
    Removed,
    Started,
)
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN, kept
from stallkit_sessions.containers.runtimes import ContainerRuntime, runtime_of
from stallkit_sessions.model import Session
from terminals import Server, read_of, wait_for

from stallkit.errors import TransportError, TransportUnavailable
from stallkit.transports.base import Presence

LABEL = "stallkit.session=abc"
TRAPS = "trap 'exit 9' USR1; trap 'exit 0' USR2; echo ready; while :; do sleep 0.05; done"


def engine(room: Room) -> ContainerRuntime:
    return ContainerRuntime(room.name, kept({**os.environ, **room.environment}))


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


def test_no_port_is_published_without_a_network_of_its_own() -> None:
    for option in [("--network", "host"), ("--network=none",), ("--net=container:other",)]:
        assert "--publish" in words("--network", "some"), option
        assert "--publish" not in words(*option), option
        assert "PORT=80" in words(*option), option


def test_the_options_win_over_the_directory() -> None:
    for option in [
        ("-v", "/elsewhere:/work:ro"),
        ("-v/elsewhere:/work",),
        ("--volume=vol:/work",),
        ("--mount", "type=tmpfs,target=/work"),
        ("-w", "/app"),
        ("--workdir=/app",),
    ]:
        assert "--mount" in words("-v", "/a:/b") and "--workdir" in words(), option
        assert 'type=bind,"source=/work","target=/work"' not in words(*option), option
        assert words(*option)[-2 - len(option) :] == [*option, "img", "x"], option


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


def test_ends_that_an_engine_cannot_vouch_for_have_no_code(room: Room, container: str) -> None:
    assert room.call("run", "--name", container, IMAGE, "/no/such").returncode == 127
    facts = engine(room).facts(container)  # where podman says ExitCode 0
    assert (facts.started, facts.inspect_code) == (False, None)
    room.discard(container)
    run(room, container, "exit 255")
    assert ended(room, container).inspect_code is None, "without the event"
    room.discard(container)
    traps(room, container)
    facts = engine(room).facts(container)  # where both say ExitCode 0
    assert (facts.running, facts.started, facts.inspect_code) == (True, True, None)
    with pytest.raises(TransportError, match=r"running|stop the container"):
        engine(room).remove(container)


def test_a_container_that_removes_itself_and_one_that_is_killed_are_known_from_their_events(
    room: Room, container: str
) -> None:
    told = Told(room)
    told.during(lambda: run(room, container, "exit 7", "--rm"), heard(Removed, container))
    facts = engine(room).facts(container, told.account(container))
    assert (facts.place, facts.event_code, facts.inspect_code) == (Presence.GONE, 7, None)
    killed, told = f"{container}-killed", Told(room)

    def act() -> None:
        traps(room, killed)
        room.run("kill", killed)

    told.during(act, heard(Died, killed))
    account = told.account(killed)
    assert (account.code, account.signal) == (137, 9 if room.name == DOCKER else None)
    assert heard(Killed, killed)(told.heard)
    room.discard(killed)


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


# --- engines that lie, that were killed, do not answer or are not there ---
def test_podman_whose_monitor_was_killed_says_running_for_ever(podman_room: PodmanRoom, of_podman: str) -> None:
    program = traps(podman_room, of_podman)
    podman_room.kill_monitor(of_podman)
    wait_for(lambda: engine(podman_room).facts(of_podman).engine_died, "the monitor's end")
    for survivor in (True, False):
        if not survivor:
            os.kill(program, signal.SIGKILL)
            wait_for(lambda: not engine(podman_room).facts(of_podman).running, "the program's end")
        facts = engine(podman_room).facts(of_podman)
        assert (facts.place, facts.running, facts.inspect_code) == (Presence.THERE, survivor, None)
        assert podman_room.says(of_podman, "{{.State.Status}} {{.State.ExitCode}}") == "running 0"


def test_docker_whose_shim_was_killed_makes_a_code_up(docker_room: DockerRoom, of_docker: str) -> None:
    for name, options in ((of_docker, []), (f"{of_docker}-rm", ["--rm"])):
        told = Told(docker_room)

        def act(name: str = name, options: list[str] = options) -> None:
            traps(docker_room, name, *options)
            docker_room.kill_shim(name)

        told.during(act, heard(Died, name))
        assert told.account(name).code == 255
        facts = engine(docker_room).facts(name, told.account(name))
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
        listening = [pid for pid in children() if b"events" in read_of(pid, "cmdline")]
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
