"""Sessions begun and ended by order, in real panes: one end each, and nobody else's session is touched."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from attrs import evolve
from stallkit_sessions import panes
from stallkit_sessions.lifecycle import finalize_now, lasting, stop
from stallkit_sessions.model import Cause, Order, Session, Source, Status
from stallkit_sessions.register import RunningSession
from started import House, alive
from terminals import wait_for

from stallkit.errors import StartRefused, StoreError, TransportError
from stallkit.probes.procfs import Process
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e


def living(house: House, name: str) -> RunningSession:
    found = house.register.latest(name)
    assert isinstance(found, RunningSession), found
    return found


def program(session: Session) -> int:
    return Identity.of(session.identity).pid


def names(house: House) -> list[str]:
    return house.tmux("list-sessions", "-F", "#{session_name}").split()


def shows(house: House, session: Session, text: str) -> None:
    pane = Identity.of(session.identity).pane
    wait_for(lambda: text in house.tmux("capture-pane", "-p", "-t", pane), text)


def test_a_stop_is_told_as_one_and_takes_everything_away(house: House) -> None:
    house.start("keeper")
    session = house.start("a", "sh", "-c", "echo at work; exec cat")
    shows(house, session, "at work")
    record = stop(house.register, living(house, "a"))
    assert (record.cause, record.status) == (Cause.STOPPED, Status(Source.PANE, signal=signal.SIGTERM))
    assert record.screen == ("at work",)
    assert names(house) == ["keeper"]
    assert not alive(program(session))
    assert house.final("a")["event"] == "session_stopped"
    assert [one["event"] for one in house.events("a")] == ["session_started", "session_stopped"]


def test_how_it_took_the_stop(house: House) -> None:
    for name, script, status in (
        ("own", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done", {"code": 7}),
        ("deaf", "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done", {"signal": 9}),
    ):
        session = house.start(name, "sh", "-c", script)
        shows(house, session, "ready")
        record = stop(house.register, living(house, name), grace_s=1)
        assert (record.cause, record.status) == (Cause.STOPPED, Status(Source.PANE, **status)), name
        assert house.final(name)["event"] == "session_stopped"


def test_a_replacement_ends_the_first_and_has_its_name_and_port(house: House) -> None:
    first = house.start("a", replace=True, ports=(0,))  # nobody was there
    with pytest.raises(StartRefused, match="a session of this name runs since"):
        house.start("a")
    second = house.start("a", replace=True, ports=first.ports)
    assert second.ports == first.ports
    assert not alive(program(first)) and alive(program(second))
    [record] = house.register.records("a")
    assert record.cause is Cause.REPLACED
    told = [one["event"] for one in house.events("a")]
    assert told == ["session_started", "session_stopped", "session_started"]


def test_a_name_that_begins_like_anothers(house: House) -> None:
    for name in ("s1", "s10", "s"):
        house.start(name)
    stop(house.register, living(house, "s1"))
    assert names(house) == ["s", "s10"]
    house.start("s1", replace=True)
    stop(house.register, living(house, "s"))
    finalize_now(house.register)
    assert [one.session.name for one in house.register.living()] == ["s10", "s1"]


def test_a_session_of_somebody_else_has_the_name(house: House) -> None:
    house.start("keeper")
    house.tmux("new-session", "-d", "-s", "a", "cat")
    for _ in range(2):  # the claim was given up
        with pytest.raises(panes.NameTaken, match="a session of that name exists"):
            house.start("a", ports=(0,))
    with pytest.raises(panes.NameTaken):
        house.start("a", replace=True)
    assert house.register.latest("a") is None
    assert names(house) == ["a", "keeper"]
    assert house.events("a") == []


def test_what_an_ended_one_left_is_taken_away_by_its_next_start(house: House) -> None:
    house.start("a", "sh", "-c", "exit 3")
    house.end_of("a")
    assert names(house) == ["a"]  # its dead pane
    house.start("a")
    assert house.tmux("list-panes", "-a", "-F", "#{pane_dead}").split() == ["0"]


def test_the_program_is_told_its_ports(house: House) -> None:
    session = house.start("a", "sh", "-c", "echo $PORT/$STALLKIT_PORTS/; exec cat", ports=(0, 0))
    shows(house, session, f"{session.ports[0]}/{session.ports[0]} {session.ports[1]}/")
    assert session.ports[0] != session.ports[1]
    with pytest.raises(StartRefused, match=f"port {session.ports[1]} belongs to session a"):
        house.start("b", ports=(session.ports[1],))
    assert house.register.latest("b") is None
    stop(house.register, living(house, "a"))
    house.start("b", ports=session.ports)


def test_one_that_cannot_be_started_gives_its_name_up(house: House) -> None:
    with pytest.raises(panes.StartError, match="is not a directory"):
        house.start("a", directory=str(house.folder / "none"), ports=(0,))
    assert house.register.latest("a") is None
    house.start("a")


def test_one_that_cannot_be_noted_does_not_run(house: House) -> None:
    """The database refuses what `bound` writes, as a full disk would."""
    house.start("keeper")
    with closing(sqlite3.connect(house.register.path)) as base:
        base.execute(
            "create trigger full before update on session when new.state = 'running' and new.name = 'a'"
            " begin select raise(abort, 'database or disk is full'); end"
        )
        base.commit()
    with pytest.raises(StoreError, match="disk is full"):
        house.start("a")
    assert names(house) == ["keeper"]
    assert house.register.latest("a") is None


def test_one_whose_claim_was_given_up_meanwhile_does_not_run(house: House) -> None:
    house.start("keeper")
    with closing(sqlite3.connect(house.register.path)) as base:  # between the claim and the note that it runs
        base.execute(
            "create trigger lost after insert on session when new.name = 'a'"
            " begin update session set state = 'given up' where name = 'a'; end"
        )
        base.commit()
    with pytest.raises(StartRefused, match="its claim was given up meanwhile"):
        house.start("a")
    assert names(house) == ["keeper"]


def test_one_that_is_still_being_started_is_not_stopped(house: House) -> None:
    house.register.claim(house.session("a"), Process.ours())
    with pytest.raises(TransportError, match=f"process {os.getpid()} is starting it just now"):
        stop(house.register, living(house, "a"))
    with pytest.raises(TransportError, match=f"process {os.getpid()} is starting it just now"):
        house.start("a", replace=True)
    assert living(house, "a").order is None


def test_a_server_that_does_not_answer_is_no_reason_to_end_anything(house: House) -> None:
    session = house.start("a")
    pid = house.tmux_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        finalize_now(house.register)
        with pytest.raises(TransportError):
            stop(house.register, living(house, "a"))
        assert alive(program(session))
        assert living(house, "a").order is None
    finally:
        os.kill(pid, signal.SIGCONT)
    assert stop(house.register, living(house, "a")).cause is Cause.STOPPED
    assert house.final("a")["event"] == "session_stopped"


def test_two_who_stop_it_at_once_have_the_same_record(house: House) -> None:
    house.start("a")
    seen = living(house, "a")
    first = stop(house.register, seen)
    second = stop(house.register, seen, Order.REPLACE)
    assert second == first


def test_the_socket_is_the_same_in_every_environment(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor and later commands have another TMUX_TMPDIR, and are called in another tmux or in none."""
    house.start("keeper")
    elsewhere = house.folder / "sockets"
    elsewhere.mkdir()
    monkeypatch.setenv("TMUX_TMPDIR", str(elsewhere))
    session = house.start("a", tmux_socket_path=None)
    try:
        assert Path(session.tmux_socket_path or "").is_relative_to(elsewhere)
        monkeypatch.delenv("TMUX_TMPDIR")
        monkeypatch.setenv("TMUX", f"{house.socket},1,0")
        inside = house.start("b", tmux_socket_path=None)
        assert inside.tmux_socket_path == str(house.socket)
        monkeypatch.delenv("TMUX")
        assert stop(house.register, living(house, "a")).cause is Cause.STOPPED
    finally:
        for pid in (program(session), Identity.of(session.identity).server.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_where_a_socket_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for environment, name, path, found in [
        ({}, None, None, (None, None)),
        ({}, "x", None, ("x", None)),
        ({"TMUX_TMPDIR": "/", "TMUX": "/s,1,0"}, None, "/own", (None, "/own")),
        ({"TMUX": "/a/s,1,0"}, None, None, (None, "/a/s")),
        ({"TMUX": "/a/s,1,0", "TMUX_TMPDIR": "/"}, None, None, (None, "/a/s")),
        ({"TMUX_TMPDIR": "/"}, None, None, (None, "/tmux-{uid}/default")),
        ({"TMUX": "/a/s,1,0", "TMUX_TMPDIR": "/"}, "x", None, (None, "/tmux-{uid}/x")),
    ]:
        for variable in ("TMUX", "TMUX_TMPDIR"):
            monkeypatch.delenv(variable, raising=False)
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        there = None if found[1] is None else found[1].format(uid=os.getuid())
        assert lasting(name, path) == (found[0], there), (environment, name)


HARD = ["a\udcffb", "ghp_" + "a1B2c3D4e5F6" * 3, "\x01\x1b[2J"]  # bytes that are no text, a token, control characters


def test_commands_of_any_bytes_are_recorded(house: House) -> None:
    for number, word in enumerate(HARD):
        house.start(f"a{number}", "printf", "%s", word)
    for number, word in enumerate(HARD):
        assert house.end_of(f"a{number}").status == Status(Source.PANE, code=0), word
        assert house.final(f"a{number}")["event"] == "session_stopped", word
    everything = b"".join(path.read_bytes() for path in house.state.iterdir() if path.is_file())
    assert b"ghp_a1B2" not in everything + (house.work / ".stallkit" / "runtime.log").read_bytes()


STARTS = """
import os
from pathlib import Path
from stallkit_sessions.model import Session
from stallkit_sessions.register import Register
from stallkit_sessions import lifecycle
begin = lifecycle.begin
lifecycle.begin = lambda *given: (begin(*given), os._exit(9))
session = Session("a", "cafe", ("cat",), {work!r}, 1.0, "", tmux_socket_path={socket!r})
lifecycle.start(Register(Path({state!r}, "sessions.db")), session, (80, 24))
"""


def test_who_was_killed_between_the_start_and_its_note(house: House) -> None:
    """Whoever looks next binds what runs, and its end is told like any other."""
    house.start("keeper")
    assert house.child(STARTS) == 9
    wait_for(lambda: finalize_now(house.register) or living(house, "a").bound, "its binding")
    assert alive(program(living(house, "a").session))
    stop(house.register, living(house, "a"))
    assert house.final("a")["event"] == "session_stopped"
    assert [one["event"] for one in house.events("a")] == ["session_started", "session_stopped"]


def test_who_was_killed_before_it_started_anything(house: House) -> None:
    session = evolve(house.session("a"), ports=(0,), started_at=time.time() - 600)
    house.register.claim(session, (os.getpid(), 1))  # a process of that number that began at another time
    wait_for(lambda: finalize_now(house.register) or house.register.latest("a") is None, "its claim given up")
    assert isinstance(house.start("a"), Session)
    assert house.register.records("a") == []


STOPS = """
import os
from pathlib import Path
from stallkit_sessions.register import Register
from stallkit_sessions import lifecycle
lifecycle.{place} = lambda *given: os._exit(9)
register = Register(Path({state!r}, "sessions.db"))
lifecycle.stop(register, register.latest({place!r}))
"""


def test_who_stops_was_killed_half_way(house: House) -> None:
    """After the order, after the program's end, after the record: the next who comes finishes it, with one end."""
    house.start("keeper")
    for place in ("end_program", "finalize_now", "tidy"):
        session = house.start(place)
        assert house.child(STOPS, place=place) == 9
        if place == "end_program":
            finalize_now(house.register)
            assert alive(program(session))
            stop(house.register, living(house, place))
        else:
            assert house.end_of(place).cause is Cause.STOPPED, place
        assert house.final(place)["event"] == "session_stopped", place
        house.start(place)
        assert len([one for one in house.events(place) if one["event"] == "session_started"]) == 2, place
