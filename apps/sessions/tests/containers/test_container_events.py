"""What is made of what docker and podman say, without an engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_sessions.containers.container_events import (
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
from stallkit_sessions.containers.runtime_call import BWRAP, call
from stallkit_sessions.containers.runtimes import judged, weigh

from stallkit.errors import ContainerError
from stallkit.transports.base import Presence

STATE = {"Status": "exited", "Running": False, "ExitCode": 3, "StartedAt": "2026-11-22T", "FinishedAt": "2026-11-22T"}
NEVER = "0001-01-01T00:00:00Z"


def test_inspect_is_believed_of_a_container_that_exited() -> None:
    wrong = [
        (change, code)
        for change, code in [
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
        ]
        if judged({"state": {**STATE, **change}}, lambda pid: True).inspect_code != code
    ]
    assert wrong == []


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


def test_lines_of_both_engines() -> None:
    wrong = [
        (line, event)
        for line, event in [
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
        ]
        if read_event(line) != event
    ]
    assert wrong == []


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


# --- calls that fail ---
def test_an_engine_that_fails_is_an_error_of_its_own() -> None:
    with pytest.raises(ContainerError) as caught:
        call(["false"], "box")
    assert str(caught.value) == "container box: false exited with 1; see whether false info answers by hand"
    assert caught.value.target == "box"


def test_what_is_told_apart_by_its_words_is_one_as_well() -> None:
    for says in ["No such container: box", "Cannot connect to the Docker daemon at unix:///x"]:
        with pytest.raises(ContainerError, match=says):
            call(["sh", "-c", f"echo 'Error: {says}' >&2; exit 1"], "box")


def test_a_sandbox_that_cannot_be_made_is_tried_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    why = "container bwrap: bwrap: setting up uid map: Permission denied; see whether bwrap runs by hand"
    with pytest.raises(ContainerError) as caught:
        call([BWRAP, "true"], BWRAP)
    assert str(caught.value) == why
