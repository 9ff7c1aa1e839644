"""Names, ports and ends: one of each; what is kept of them, and whose the file is."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Order, Session, Source, Status
from stallkit_sessions.register import Register, RunningSession

from stallkit.errors import StartRefused, StoreError

BY = (4711, 12)
SECRET = "ghp_" + "a1B2c3D4" * 4


def session(name: str = "one", id: str | None = None, **given: Any) -> Session:
    given = {"command": ("sleep", "5"), "directory": "/srv", "started_at": 1_000.0, "boot": "b", **given}
    return Session(name=name, id=id or f"id-{name}", **given)


def record(of: Session, cause: Cause = Cause.EXITED, **given: Any) -> ExitRecord:
    return ExitRecord(session=of, cause=cause, why="its program ended", **{"ended_at": 2_000.0, **given})


def run(register: Register, name: str = "one", id: str | None = None, **given: Any) -> Session:
    """One that runs."""
    made = register.claim(session(name, id, **given), BY)
    assert register.bound(made.id, "1 2 %3 4", 5)
    return made


def ends(register: Register, of: Session, cause: Cause = Cause.EXITED, event: str = "session_crashed") -> bool:
    return register.end(record(of, cause), event, {})


def told(register: Register) -> list[tuple[str, str]]:
    return [(event.name, event.target) for event in register.pending()]


# --- names ---


def test_a_name_is_taken_until_its_end(register: Register) -> None:
    first = register.claim(session(), BY)
    with pytest.raises(StartRefused, match="process 4711 has been starting a session of this name") as refused:
        register.claim(session(id="second"), BY)
    assert (refused.value.target, refused.value.holder, refused.value.port) == ("one", "one", None)
    assert register.bound(first.id, "1 2 %3 4", 5)
    with pytest.raises(StartRefused, match=r"runs since \d{4}-.*; stop it") as refused:
        register.claim(session(id="second"), BY)
    assert "\n" not in str(refused.value)
    assert ends(register, first)
    assert register.claim(session(id="second"), BY).id == "second"


def test_names_that_cannot_be_kept(register: Register) -> None:
    for name in ["", "a\nb", "a\x1bb", "a\udcffb", SECRET]:
        with pytest.raises(ValueError, match="is not a name") as refused:
            register.claim(session(name, "x"), BY)
        assert SECRET not in str(refused.value), name
        assert register.latest(name) is None, name


# --- ports ---


def test_a_port_that_somebody_else_has(register: Register) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartRefused, match=f"port {port} is in use") as refused:
            register.claim(session(ports=(port,)), BY)
    assert (refused.value.holder, refused.value.port) == (None, port)
    assert register.claim(session(ports=(port,)), BY).ports == (port,)
    with pytest.raises(StartRefused, match=f"port {port} belongs to session one") as refused:
        register.claim(session("two", ports=(0, port)), BY)
    assert (refused.value.holder, refused.value.port) == ("one", port)
    assert register.latest("two") is None, "nothing of it was kept"


def test_ports_that_are_none(register: Register) -> None:
    for ports in ((70_000,), (-1,), (8080, 8080)):
        with pytest.raises(ValueError, match="port"):
            register.claim(session(ports=ports), BY)
    assert register.living() == []


# --- ends and events ---


def test_the_events_of_a_session_in_order(register: Register) -> None:
    one = run(register, directory="/srv/\udcff", ports=(0,), engine="docker", container="stallkit-one-x")
    assert register.ready(one.id) and not register.ready(one.id)
    assert register.start_timeout(one.id, "no prompt appeared") and not register.start_timeout(one.id, "again")
    assert register.order(one.id, Order.STOP)
    assert register.living()[0].order is Order.STOP
    assert register.order(one.id, None) and register.living()[0].order is None
    assert register.end(record(one), "session_stopped", {"exit_code": 3})
    found = register.pending()
    assert [event.name for event in found] == ["session_started", "session_ready", "start_timeout", "session_stopped"]
    assert {event.directory for event in found} == {"/srv/\udcff"} and {event.session for event in found} == {one.id}
    assert found[0].facts["ports"] == list(one.ports) and found[-1].facts == {"exit_code": 3}
    assert len({event.id for event in found}) == 4


def test_the_database_refuses_a_second_end(register: Register) -> None:
    """By construction: whatever the code above it does."""
    one = run(register)
    ends(register, one)
    base = sqlite3.connect(register.path)
    insert = "insert into event (id, session, name, target, facts, at) values ('x', ?, 'session_drop', '', '', 0)"
    with pytest.raises(sqlite3.IntegrityError):
        base.execute(insert, (one.id,))
    base.execute("update session set state = 'running' where id = ?", (one.id,))
    base.commit()
    base.close()
    with pytest.raises(AssertionError):
        ends(register, one, Cause.UNKNOWN, "session_drop")
    assert len(register.living()) == 1, "all of it is undone"


def test_what_ends_a_session(register: Register) -> None:
    with pytest.raises(ValueError, match="'session_started' is not a final event"):
        ends(register, run(register), event="session_started")
    unbound = register.claim(session("two"), BY)
    assert ends(register, unbound, Cause.UNKNOWN, "session_drop"), "its starter was killed before it could bind it"
    assert told(register) == [("session_started", "one"), ("session_drop", "two")]


def test_an_end_is_read_as_it_was_written(register: Register) -> None:
    one = run(register, directory="/srv/\udcff")
    full = record(
        evolve(one, container="stallkit-one-x"),
        duration_s=1.5,
        status=Status(Source.PANE, code=3),
        screen=("$ make", "", "error"),
        screen_at=1_999.0,
        verdicts=({"state": "working", "line": 3},),
        worktree={"branch": "main", "dirty": 2},
        ports=({"port": 80, "listener": None},),
        earlier=2,
        reasons=("pane: 3",),
    )
    assert register.end(full, "session_crashed", {})
    assert register.latest("one") == full == register.get(one.id) == register.records("one")[0]
    assert register.listing() == [full] and register.living() == [] and register.sight(one.id) is None


def test_no_secret_gets_into_the_file(register: Register) -> None:
    one = run(register, command=("run", "--token", "abcdef123456", SECRET), engine_options=("-e", f"TOKEN={SECRET}"))
    assert one.command[2] == "abcdef123456", "who starts it needs the words themselves"
    register.saw([(one.id, [f"export X={SECRET}"], {"line": SECRET}, 1.0)])
    register.start_timeout(one.id, SECRET)
    register.incident([one.id], Cause.SERVER_CRASHED, SECRET)
    key = ("-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkq", "-----END PRIVATE KEY-----", "after")
    register.end(record(one, screen=(SECRET, *key), reasons=(SECRET,)), "session_crashed", {"why": SECRET})
    register.close()
    content = b"".join(path.read_bytes() for path in register.path.parent.iterdir())
    assert SECRET.encode() not in content and b"abcdef123456" not in content and b"MIIEvQ" not in content
    again = Register(register.path)
    (found,) = again.records("one")
    assert found.session.command == ("run", "--token", "[redacted]", "[redacted]")
    assert found.screen is not None and found.screen[-1] == "after"
    again.close()


def test_sessions_that_died_of_the_same(register: Register) -> None:
    made = [run(register, name) for name in ("a", "b", "c")]
    other = run(register, "d")
    number = register.incident([one.id for one in made], Cause.SERVER_CRASHED, "tmux was killed")
    assert number and register.incident([made[1].id, "unknown"], Cause.SERVER_CRASHED, "found again") == number
    for one in made:
        assert ends(register, one, Cause.SERVER_CRASHED)
    assert register.incident([one.id for one in made], Cause.SERVER_CRASHED, "too late") == number
    assert {found.incident for found in register.records()} == {number}
    (event,) = [event for event in register.pending() if event.name == "incident"]
    assert (event.facts["incident"], event.facts["sessions"], event.session) == (number, ["a", "b", "c"], None)
    assert register.incident(["unknown"], Cause.UNKNOWN, "") is None
    second = register.incident([other.id], Cause.SERVER_CRASHED, "another")
    assert second is not None and second != number


def test_listing_has_each_names_latest(register: Register) -> None:
    for name in ("b", "a"):
        assert ends(register, run(register, name, f"{name}1"))
        run(register, name, f"{name}2")
    gone = run(register, "c")
    assert ends(register, gone)
    found = [(one.session.id, isinstance(one, RunningSession)) for one in register.listing()]
    assert found == [("a2", True), ("b2", True), ("id-c", False)]


def test_old_records_go(register: Register) -> None:
    now = time.time()

    def dies(number: int, at: float) -> None:
        one = run(register, "one", f"id-{number}")
        assert register.end(record(one, ended_at=at, duration_s=number), "session_crashed", {})

    for number in range(25):
        dies(number, now - 40 * 86_400)
    for number in range(25, 30):
        dies(number, now)
    assert [found.duration_s for found in register.records("one", 100)] == list(range(10, 30))
    for number in range(30, 60):
        dies(number, now)
    assert [found.duration_s for found in register.records("one", 100)] == list(range(25, 60)), "young ones stay"
    few = Register(register.path, most=10)
    one = run(register, "one", "id-60")
    assert few.end(record(one, ended_at=now, duration_s=60), "session_crashed", {})
    few.close()
    assert [found.duration_s for found in register.records("one", 100)] == list(range(51, 61))
    assert len(register.pending()) == 2 * 61, "what was not written out yet stays"


# --- what was last seen ---


def test_sights_are_kept_for_the_living(register: Register) -> None:
    one, two = run(register), run(register, "two")
    assert register.sight(one.id) is None
    working = {"state": "working", "kind": None, "line": 1}
    register.saw([(one.id, ["a"], working, 1.0), (two.id, ["b"], None, 1.0), ("unknown", ["c"], None, 1.0)])
    register.saw([(one.id, ["a"], {**working, "line": 2}, 2.0)])
    waiting = {"state": "waiting", "kind": "confirm"}
    register.saw([(one.id, ["a", "[y/n]"], waiting, 3.0)])
    other = Register(register.path)
    seen = other.sight(one.id)
    assert seen is not None and (seen.lines, seen.at) == (("a", "[y/n]"), 3.0)
    assert seen.verdicts == ({**working, "line": 2}, waiting), "one that says the same takes the place of the last"
    second = other.sight(two.id)
    assert second is not None and second.verdicts == () and other.sight("unknown") is None
    other.close()
    assert ends(register, one)
    register.saw([(one.id, ["late"], None, 4.0)])
    assert register.sight(one.id) is None


# --- the file ---


def test_a_newer_file_is_left_alone(register: Register) -> None:
    with sqlite3.connect(register.path) as base:
        base.execute("pragma user_version=99")
    base.close()
    with pytest.raises(StoreError, match="of version 99"):
        Register(register.path)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"no database" * 1_000)
    for path in (tmp_path / "garbage", tmp_path, tmp_path / "garbage" / "below"):
        with pytest.raises(StoreError):
            Register(path)


# --- many at once, kill -9, a full disk ---


# Lives through sessions in a loop, and acknowledges each step once the register said that it is written.
LIVES = """
import itertools, os, sys, time
from pathlib import Path
from stallkit.errors import StoreError
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Session
from stallkit_sessions.register import Register
register, who = Register(Path(sys.argv[1])), sys.argv[2]

def write(act, *what):  # the other one, which never rests, may hold the file whenever this one tries
    while True:
        try:
            return act(*what)
        except StoreError as error:
            if "locked" not in str(error):
                raise

for number in itertools.count():
    name, id = f"{who}-{number}", f"{who}-id-{number}"
    one = Session(name=name, id=id, command=("x",), directory="/", started_at=time.time(), boot="b", ports=(0, 0))
    mine = write(register.claim, one, (os.getpid(), 1))
    print("claimed", id, *mine.ports, flush=True)
    assert write(register.bound, id, "1 2 %3 4", 5)
    print("bound", id, flush=True)
    if number % 2:
        assert write(register.end, ExitRecord(mine, Cause.EXITED, "", time.time()), "session_crashed", {})
        print("ended", id, flush=True)
"""


@pytest.mark.e2e  # real processes
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_loses_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "sessions.db"
    command = [sys.executable, "-c", LIVES, str(path)]
    both = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in "ab"]
    said: list[list[str]] = []
    for process in both:
        assert process.stdout is not None
        with process.stdout as pipe:
            said += [pipe.readline().split() for _ in range(chance.randrange(1, 40))]
            process.send_signal(signal.SIGKILL)
            said += [line.split() for line in pipe if line.endswith("\n")]
        process.wait()
    register = Register(path)
    living = {one.session.id: one for one in register.living()}
    ended = {one.session.id for one in register.records(limit=10_000)}
    for what, id, *ports in said:
        assert id in living or id in ended
        if what == "claimed" and id in living:
            assert living[id].session.ports == tuple(map(int, ports))
        elif what == "bound":
            assert id in ended or living[id].bound
        elif what == "ended":
            assert id in ended and id not in living
    handed = [port for one in living.values() for port in one.session.ports]
    assert len(handed) == len(set(handed))
    events = [(event.session, event.name) for event in register.pending()]
    assert len(events) == len(set(events))
    assert {id for id, name in events if name == "session_started"} == {
        one for one in living if living[one].bound
    } | ended
    assert {id for id, name in events if name in FINAL} == ended
    for one in list(living.values()):  # whatever was left can be ended, and its name and ports taken again
        assert ends(register, one.session, Cause.UNKNOWN, "session_drop")
        assert register.claim(evolve(one.session, id=one.session.id + "+"), BY).ports == one.session.ports
    with sqlite3.connect(path) as base:
        assert base.execute("pragma integrity_check").fetchone() == ("ok",)
    base.close()
    register.close()


def test_a_full_disk_keeps_the_session_alive(tmp_path: Path) -> None:
    """An end that could not be written is none: the next one who looks ends it."""
    path = tmp_path / "sessions.db"
    register = Register(path)
    one = run(register)
    code = """
import resource, signal, sys
from pathlib import Path
from stallkit.errors import StoreError
from stallkit_sessions.model import FINAL, Cause, ExitRecord
from stallkit_sessions.register import Register
register = Register(Path(sys.argv[1]))
(one,) = register.living()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
record = ExitRecord(one.session, Cause.EXITED, "", 1.0)
for _ in range(2):
    try:
        register.end(record, "session_crashed", {})
    except StoreError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("register ") == 2, done
    assert [living.session.id for living in register.living()] == [one.id]
    assert told(register) == [("session_started", "one")]
    assert ends(register, one) and told(register)[-1] == ("session_crashed", "one")
    register.close()
