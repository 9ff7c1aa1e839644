"""Starting and stopping sessions in real containers: nothing of them runs on, whenever they are stopped."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Iterator

import pytest
from machine_room import IMAGE, Room
from stallkit_sessions.containers.runtime_call import kept
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.explain import event_of
from stallkit_sessions.lifecycle import stop
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import CRASHED, STOPPED, Cause, ExitRecord, Session
from stallkit_sessions.register import RunningSession
from started import House
from terminals import wait_for

from stallkit.errors import StartRefused
from stallkit.transports.base import Presence


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: Room) -> Iterator[House]:
    made = House(tmp_path, monkeypatch)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.end()


def container(house: House, room: Room, name: str, *command: str) -> Session:
    engine = {"engine": room.name, "image": IMAGE, "container": f"stallkit-{name}"}
    return house.start(name, *command, **engine, engine_environment=kept(os.environ))


def command_lines() -> Iterator[bytes]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            yield (entry / "cmdline").read_bytes()


def test_variables_reach_a_container_and_no_command_line(house: House, room: Room) -> None:
    secret, script = "nobody-reads-4711 '$HOME' \"x\"", 'printf "%s" "$TOKEN" >told; exec sleep 1000'
    given = {"engine": room.name, "image": IMAGE, "directory": house.work, "tmux_socket_path": house.socket}
    with Sessions(house.state / "sessions.db") as sessions:
        made = sessions.start("with", ["sh", "-c", script], env={"TOKEN": secret, "EMPTY": ""}, **given)  # type: ignore[arg-type]
        file = house.work / "told"
        wait_for(lambda: file.exists() and file.read_text(), "the program's word")
        assert file.read_text() == secret
        lines = list(command_lines())
        assert any(b"--env-file" in line for line in lines) and not any(b"nobody-reads" in line for line in lines)
        assert not [one for one in house.state.rglob("*") if one.is_file() and b"nobody-reads" in one.read_bytes()]
        sessions.stop(made.name, grace_s=1)


def living(house: House, name: str) -> RunningSession:
    found = house.register.latest(name)
    assert isinstance(found, RunningSession)
    return found


def test_a_container_that_is_only_being_made_is_stopped_as_well(house: House, room: Room) -> None:
    session = container(house, room, "soon", "sleep", "1000")
    record = stop(house.register, living(house, "soon"), grace_s=1)
    assert (record.cause, event_of(record)) == (Cause.STOPPED, STOPPED)
    engine = runtime_of(session)
    assert engine is not None and session.container is not None
    assert engine.facts(session.container).place is Presence.GONE, "it is removed"


def test_an_image_that_does_not_exist_is_said_at_the_start(house: House, room: Room) -> None:
    given = {"engine": room.name, "image": "localhost/none-such:1", "tmux_socket_path": house.socket}
    with Sessions(house.state / "sessions.db") as sessions:
        with pytest.raises(StartRefused, match=r"its container was not started: .*(none-such|policy\.json)"):
            sessions.start("web", ["true"], directory=house.work, **given)  # type: ignore[arg-type]
        record = sessions.latest("web")
    assert isinstance(record, ExitRecord) and record.cause is Cause.NOT_STARTED, record
    assert event_of(record) == CRASHED and record.status is None


def test_the_code_of_a_container_is_in_its_record(house: House, room: Room) -> None:
    container(house, room, "seven", "sh", "-c", "echo seen; exit 7")
    record = house.end_of("seven")
    assert record.cause is Cause.EXITED and record.status is not None and record.status.code == 7
    assert any("seen" in line for line in record.screen or ())
    assert record.container is not None and record.container["status"] == "exited"
