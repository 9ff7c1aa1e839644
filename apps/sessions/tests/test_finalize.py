"""Ends written down: once, with what was known and seen, and as one incident where they share a cause."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from stallkit_sessions.end_facts import PaneFacts, ServerEnd
from stallkit_sessions.explain import EndFacts
from stallkit_sessions.finalize import LINES, EndedSession, finalize
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Order, Session, Source, Status
from stallkit_sessions.register import Register, RunningSession

from stallkit.transports.base import Presence

NOW = 2_000_000_000.0
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
EXITED = EndFacts(PaneFacts(Presence.THERE, dead=True, code=3))
KILLED = EndFacts(PaneFacts(Presence.THERE, dead=True, signal=15))
CRASHED = EndFacts(PaneFacts(Presence.GONE), ServerEnd.CRASHED)
SERVER = "100 1700000000"


def running(register: Register, folder: Path, name: str, server: str = SERVER, **more: Any) -> RunningSession:
    """A session of which the register knows that it runs."""
    id = f"id-{name}-{len(register.records(name))}"
    session = Session(name, id, ("x",), str(folder), NOW - 60, "this boot", **more)
    register.claim(session, (1, 1))
    register.bound(id, f"{server} %1 200")
    found = register.get(id)
    assert isinstance(found, RunningSession)
    return found


def finals(register: Register) -> list[tuple[str, str]]:
    return [(one.target, one.name) for one in register.pending() if one.name in FINAL]


def test_an_end_is_written_once(register: Register, tmp_path: Path) -> None:
    ended = EndedSession(running(register, tmp_path, "a"), EXITED, screen=["Traceback", "bye"], lines=7)
    [record] = finalize(register, [ended], NOW)
    assert finalize(register, [ended], NOW + 1) == []
    assert register.latest("a") == register.records("a")[0] == record
    assert (record.cause, record.status) == (Cause.EXITED, Status(Source.PANE, code=3))
    assert (record.screen, record.screen_at, record.duration_s) == (("Traceback", "bye"), NOW, 60)
    assert finals(register) == [("a", "session_crashed")]
    told = register.pending()[-1].facts
    assert (told["exit_code"], told["signal"], told["source"], told["lines"]) == (3, None, "pane_dead_status", 7)


def test_of_many_who_see_it_one_writes_it(register: Register, tmp_path: Path) -> None:
    ended = EndedSession(running(register, tmp_path, "a"), EXITED)
    written: list[ExitRecord] = []
    threads = [threading.Thread(target=lambda: written.extend(finalize(register, [ended], NOW))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert finals(register) == [("a", "session_crashed")]


def test_nothing_is_written_of_what_did_not_end(register: Register, tmp_path: Path) -> None:
    one = running(register, tmp_path, "a")
    for facts in (EndFacts(PaneFacts(Presence.THERE)), EndFacts(PaneFacts(Presence.UNSEEN), ServerEnd.UNSEEN)):
        assert finalize(register, [EndedSession(one, facts)], NOW) == [], facts
        assert isinstance(register.latest("a"), RunningSession)


def test_an_order_counts_that_was_written_after_the_session_was_read(register: Register, tmp_path: Path) -> None:
    living = running(register, tmp_path, "a")
    register.order(living.session.id, Order.STOP)
    [record] = finalize(register, [EndedSession(living, KILLED)], NOW)
    assert record.cause is Cause.STOPPED
    assert finals(register) == [("a", "session_stopped")]


def test_an_order_that_was_withdrawn_does_not_count(register: Register, tmp_path: Path) -> None:
    living = evolve(running(register, tmp_path, "a"), order=Order.STOP)
    [record] = finalize(register, [EndedSession(living, evolve(KILLED, order=Order.STOP))], NOW)
    assert record.cause is Cause.SIGNALLED


def test_what_was_seen_last_stands_in_for_a_pane_that_is_gone(register: Register, tmp_path: Path) -> None:
    living = running(register, tmp_path, "a")
    register.saw([(living.session.id, ["working"], {"state": "working", "kind": None, "signature": None}, NOW - 5)])
    [record] = finalize(register, [EndedSession(living, CRASHED)], NOW)
    assert (record.screen, record.screen_at) == (("working",), NOW - 5)
    assert [verdict["state"] for verdict in record.verdicts] == ["working"]
    [unseen] = finalize(register, [EndedSession(running(register, tmp_path, "b"), CRASHED)], NOW)
    assert (unseen.screen, unseen.screen_at, unseen.verdicts, unseen.status) == (None, None, (), None)


def test_a_screen_is_cut_and_masked_in_record_and_event(register: Register, tmp_path: Path) -> None:
    screen = [f"line {number}" for number in range(LINES + 50)] + [f"token {TOKEN}"]
    finalize(register, [EndedSession(running(register, tmp_path, "a"), EXITED, screen=screen)], NOW)
    record = register.latest("a")
    assert isinstance(record, ExitRecord) and record.screen is not None
    assert len(record.screen) == LINES
    assert record.screen[-2] == f"line {LINES + 49}"
    everything = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    assert TOKEN.encode() not in everything


def test_those_that_died_with_their_server_are_one_incident(register: Register, tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(5)]
    dead = [EndedSession(running(register, tmp_path, name), CRASHED) for name in names]
    alone = EndedSession(running(register, tmp_path, "alone", server="101 1700000000"), CRASHED)
    other = EndedSession(running(register, tmp_path, "other"), EXITED)
    records = {record.session.name: record for record in finalize(register, [*dead, alone, other], NOW)}
    [incident] = [one for one in register.pending() if one.name == "incident"]
    assert incident.facts["sessions"] == names
    assert {records[name].incident for name in names} == {incident.facts["incident"]}
    assert (records["alone"].incident, records["other"].incident) == (None, None)
    assert len(finals(register)) == 7


class KilledAtTheThird(Register):
    """The process is killed when it writes its third end."""

    def end(self, record: ExitRecord, event: str, facts: dict[str, Any]) -> bool:
        if len(self.records()) == 2:
            raise KeyboardInterrupt
        return super().end(record, event, facts)


def test_who_was_killed_while_writing_an_incident_leaves_it_to_the_next(register: Register, tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(5)]
    dead = [EndedSession(running(register, tmp_path, name), CRASHED) for name in names]
    killed = KilledAtTheThird(register.path)
    with pytest.raises(KeyboardInterrupt):
        finalize(killed, dead, NOW)
    killed.close()
    finalize(register, dead, NOW + 1)
    incidents = [one for one in register.pending() if one.name == "incident"]
    assert [one.facts["sessions"] for one in incidents] == [names]
    assert {record.incident for record in register.records()} == {incidents[0].facts["incident"]}
    assert sorted(finals(register)) == [(name, "session_drop") for name in names]


def test_the_machine_was_restarted(register: Register, tmp_path: Path) -> None:
    facts = EndFacts(PaneFacts(Presence.UNSEEN), ServerEnd.UNSEEN, same_boot=False)
    dead = [EndedSession(running(register, tmp_path, name), facts) for name in ("a", "b")]
    first, second = finalize(register, dead, NOW)
    assert (first.cause, first.status) == (Cause.MACHINE_RESTARTED, None)
    assert first.incident == second.incident is not None


def test_deaths_alike_are_counted_until_one_is_not(register: Register, tmp_path: Path) -> None:
    counted = []
    for facts in (EXITED, EXITED, EXITED, CRASHED, EXITED):
        [record] = finalize(register, [EndedSession(running(register, tmp_path, "a"), facts)], NOW)
        counted.append(record.earlier)
    assert counted == [0, 1, 2, 0, 0]


def test_a_directory_that_is_not_there_is_no_reason_not_to_tell(register: Register, tmp_path: Path) -> None:
    for name in ["gone", "\udcff", "a\nb"]:
        [record] = finalize(register, [EndedSession(running(register, tmp_path / name, "a"), EXITED)], NOW)
        assert record.status == Status(Source.PANE, code=3), name


def test_who_listens_on_its_ports_is_told(register: Register, tmp_path: Path) -> None:
    living = running(register, tmp_path, "a", ports=(0, 0))
    [record] = finalize(register, [EndedSession(living, EXITED)], NOW)
    assert record.ports == tuple({"port": port, "listener": None} for port in sorted(living.session.ports))
