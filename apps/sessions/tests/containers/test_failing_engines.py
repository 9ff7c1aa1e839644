"""Container engines that lie, that were killed, do not answer or are not there."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from contained import Told, ended, engine, heard, run, traps
from machine_room import DockerRoom, PodmanRoom, Room
from stallkit_sessions.containers.container_events import Account, Broke, ContainerFacts, Died, Started
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN
from stallkit_sessions.containers.runtimes import ContainerRuntime
from terminals import wait_for

from stallkit.errors import TransportUnavailable
from stallkit.transports.base import Presence


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
