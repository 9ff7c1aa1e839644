"""What tests of the register share: sessions that run, and their ends."""

from __future__ import annotations

from typing import Any

from stallkit_sessions.model import Cause, ExitRecord, Session
from stallkit_sessions.register import Register

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
