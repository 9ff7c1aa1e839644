"""Containers of real engines: how they are started, and how they ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from contained import LABEL, Told, ended, engine, heard, run, session_of, traps
from machine_room import IMAGE, DockerRoom, Room
from stallkit_sessions.containers.container_events import Died, Killed, Removed
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN, kept
from stallkit_sessions.containers.runtimes import ContainerRuntime, runtime_of
from stallkit_sessions.model import Session
from terminals import Server, wait_for

from stallkit.errors import TransportError
from stallkit.transports.base import Presence

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
