"""Each event is written once and in order to both logs, whoever is killed and whatever stands in the way of one."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from stallkit_sessions.end_facts import PaneFacts
from stallkit_sessions.explain import EndFacts
from stallkit_sessions.finalize import EndedSession, finalize, write_out
from stallkit_sessions.model import Session
from stallkit_sessions.register import OutEvent, Register, RunningSession

from stallkit.errors import StoreError
from stallkit.transports.base import Presence

DRAIN = """
import sys
from pathlib import Path
from stallkit_sessions.register import Register
from stallkit.jsonlog import holds
from stallkit_sessions.finalize import append, log_of
def write(event):
    if not holds(log_of(event.directory), event.id):
        append(event.directory, {"id": event.id, "event": event.name, "session": event.target})
        print("wrote", event.id, flush=True)
print(Register(Path(sys.argv[1])).drain(write), "left", flush=True)
"""


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    made = Register(tmp_path / "state" / "sessions.db")
    yield made
    made.close()


def start(register: Register, name: str, directory: str = "/srv") -> None:
    one = Session(name=name, id=name, command=("x",), directory=directory, started_at=0.0, boot="b")
    register.claim(one, (1, 1))
    assert register.bound(name, "1 2 %3 4") and register.ready(name) and register.start_timeout(name, "")


def test_what_cannot_be_written_stays_and_keeps_its_order(register: Register) -> None:
    for name in ("a", "b"):
        start(register, name)
    out: list[OutEvent] = []

    def write(event: OutEvent) -> None:
        if event.target == "a" and event.name == "session_ready":
            raise StoreError("log", "of a", "the disk is full", "make room")
        out.append(event)

    assert register.drain(write) == 2
    assert [event.name for event in out if event.target == "a"] == ["session_started"]
    assert len(out) == 4, "the other session's events went out"
    assert register.drain(out.append) == 0
    assert [event.name for event in out if event.target == "a"] == ["session_started", "session_ready", "start_timeout"]


def test_a_defect_in_the_writer_is_not_swallowed(register: Register) -> None:
    start(register, "a")
    with pytest.raises(ZeroDivisionError):
        register.drain(lambda _: print(1 / 0))
    assert len(register.pending()) == 3 and register.drain(lambda _: None) == 0, "the lock was given back"


def test_a_stopped_writer_holds_nobody_up(register: Register) -> None:
    start(register, "a")
    out: list[OutEvent] = []
    with register.path.with_name("sessions.db.outbox").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert register.drain(out.append) == 3 and out == []
    assert register.drain(out.append) == 0 and len(out) == 3


@pytest.mark.e2e  # real processes
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_writes_nothing_twice(register: Register, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    directories = [tmp_path / str(number) for number in range(10)]
    for directory in directories:
        directory.mkdir()
        start(register, directory.name, str(directory))
    expected = {event.id for event in register.pending()}
    for _ in range(4):
        # Two at once; one is killed as soon as it has written, before or after it could say so to the register.
        both = [
            subprocess.Popen([sys.executable, "-c", DRAIN, str(register.path)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for process in both:
            assert process.stdout is not None
            with process.stdout as pipe:
                for _ in range(chance.randrange(1, 6)):
                    pipe.readline()
                process.send_signal(signal.SIGKILL)
            process.wait()
    done = subprocess.run([sys.executable, "-c", DRAIN, str(register.path)], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0 left\n")
    found = []
    for directory in directories:
        lines = [json.loads(line) for line in (directory / ".stallkit" / "runtime.log").read_text().splitlines()]
        assert [line["event"] for line in lines] == ["session_started", "session_ready", "start_timeout"]
        found += [line["id"] for line in lines]
    assert len(found) == len(set(found)) and set(found) == expected


def test_the_lock_is_not_inherited(register: Register) -> None:
    """A program that was started while events were written must not keep them from being written later."""
    start(register, "a")
    children: list[subprocess.Popen[bytes]] = []

    def write(event: OutEvent) -> None:
        children.append(subprocess.Popen(["sleep", "60"], close_fds=False))

    try:
        assert register.drain(write) == 0
        start(register, "b")
        out: list[OutEvent] = []
        assert register.drain(out.append) == 0 and len(out) == 3
    finally:
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()


# --- both logs ---
EXITED = EndFacts(PaneFacts(Presence.THERE, dead=True, code=0))


def ended(register: Register, folder: Path, name: str = "a") -> None:
    """A session that ran in FOLDER/work, and exited."""
    session = Session(name, f"id-{name}", ("x", "y"), str(folder / "work"), 1_700_000_000.0, "boot")
    register.claim(session, (1, 1))
    register.bound(session.id, "100 1700000000 %1 200")
    living = register.get(session.id)
    assert isinstance(living, RunningSession)
    finalize(register, [EndedSession(living, EXITED)])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_both_logs_have_the_same_events_in_order(register: Register, tmp_path: Path) -> None:
    ended(register, tmp_path)
    assert write_out(register) == 0
    assert write_out(register) == 0
    here = lines(tmp_path / "state" / "events.jsonl")
    assert here == lines(tmp_path / "work" / ".stallkit" / "runtime.log")
    assert [one["event"] for one in here] == ["session_started", "session_stopped"]
    assert (here[0]["command"], here[1]["exit_code"], here[1]["target"]) == (["x", "y"], 0, "a")


def test_a_link_or_a_directory_that_is_gone_leaves_the_log_of_the_state_directory(
    register: Register, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        if name == "a":
            (tmp_path / "work" / ".stallkit").symlink_to(tmp_path / "elsewhere")
        ended(register, tmp_path, name)
        assert write_out(register) == 0
        assert list((tmp_path / "elsewhere").iterdir()) == []
        assert len(lines(tmp_path / "state" / "events.jsonl")) == (2 if name == "a" else 4)
        shutil.rmtree(tmp_path / "work", ignore_errors=True)
        assert not (tmp_path / "work").exists()


def test_what_cannot_be_written_is_written_later(register: Register, tmp_path: Path) -> None:
    log = tmp_path / "state" / "events.jsonl"
    log.mkdir()
    ended(register, tmp_path)
    assert write_out(register) == 2
    assert not (tmp_path / "work" / ".stallkit").exists()
    log.rmdir()
    assert write_out(register) == 0
    assert [one["event"] for one in lines(log)] == ["session_started", "session_stopped"]


def test_an_incident_has_no_directory(register: Register, tmp_path: Path) -> None:
    for name in ("a", "b"):
        session = Session(name, f"id-{name}", ("x",), str(tmp_path / "work"), 1_700_000_000.0, "another boot")
        register.claim(session, (1, 1))
        register.bound(session.id, f"100 1700000000 %{ord(name)} 200")
    facts = EndFacts(PaneFacts(Presence.UNSEEN), same_boot=False)
    finalize(register, [EndedSession(living, facts) for living in register.living()])
    assert write_out(register) == 0
    told = [one["event"] for one in lines(tmp_path / "state" / "events.jsonl")]
    assert told == [*["session_started"] * 2, "incident", *["session_drop"] * 2]
    assert "incident" not in [one["event"] for one in lines(tmp_path / "work" / ".stallkit" / "runtime.log")]
