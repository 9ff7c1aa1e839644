"""Events of sessions in both logs, each once, whatever stands in the way of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

import pytest
from stallkit_sessions.end_facts import PaneFacts
from stallkit_sessions.explain import EndFacts
from stallkit_sessions.finalize import EndedSession, finalize, write_out
from stallkit_sessions.model import Session
from stallkit_sessions.register import Register, RunningSession

from stallkit.transports.base import Presence

EXITED = EndFacts(PaneFacts(Presence.THERE, dead=True, code=0))


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    made = Register(tmp_path / "state" / "sessions.db")
    yield made
    made.close()


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


class Killed(Register):
    """The process is killed between an event's write and the note of it."""

    def written(self, id: str) -> None:
        raise KeyboardInterrupt


def test_who_was_killed_after_a_write_does_not_write_it_again(register: Register, tmp_path: Path) -> None:
    ended(register, tmp_path)
    killed = Killed(register.path)
    with pytest.raises(KeyboardInterrupt):
        write_out(killed)
    killed.close()
    write_out(register)
    for log in (tmp_path / "state" / "events.jsonl", tmp_path / "work" / ".stallkit" / "runtime.log"):
        assert [one["event"] for one in lines(log)] == ["session_started", "session_stopped"]


def test_a_log_of_an_agents_that_is_a_link_is_not_followed(register: Register, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work" / ".stallkit").symlink_to(tmp_path / "elsewhere")
    ended(register, tmp_path)
    assert write_out(register) == 0
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert len(lines(tmp_path / "state" / "events.jsonl")) == 2


def test_a_session_whose_directory_is_gone_is_told_of_in_the_state_directory(
    register: Register, tmp_path: Path
) -> None:
    (tmp_path / "work").rmdir()
    ended(register, tmp_path)
    assert write_out(register) == 0
    assert not (tmp_path / "work").exists()
    assert len(lines(tmp_path / "state" / "events.jsonl")) == 2


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
