"""The rows of the register as values, and values as they are kept in it."""

from __future__ import annotations

import json
import sqlite3

from attrs import frozen

from stallkit.core.redact import redact, redact_all
from stallkit.sessions.facts import Order
from stallkit.sessions.record import ExitRecord, Session, as_object, of_object

__all__ = ["Living", "either_of", "living_of", "packed", "plain", "session_of"]


@frozen
class Living:
    """A session that has not ended, as far as was noted."""

    session: Session  # its command and the engine's options are redacted
    bound: bool  # it runs; else it is being started
    claimed_by: tuple[int, int]  # process and its start in clock ticks, of whoever started it or gave the last order
    order: Order | None = None
    ready_at: float | None = None  # wall clock
    incident: str | None = None  # of whoever began to write its end, and was killed


def session_of(row: sqlite3.Row) -> Session:
    """The session of a row, as it was kept."""
    session: Session = of_object(json.loads(row["session"]), Session)
    return session


def living_of(row: sqlite3.Row) -> Living:
    """A row of one that has not ended."""
    return Living(
        session=session_of(row),
        bound=row["state"] == "running",
        claimed_by=(row["pid"], row["ticks"]),
        order=row["order"] and Order(row["order"]),
        ready_at=row["ready_at"],
        incident=row["incident"],
    )


def either_of(row: sqlite3.Row) -> Living | ExitRecord:
    """A row, whichever it is."""
    if row["state"] != "ended":
        return living_of(row)
    record: ExitRecord = of_object(json.loads(row["record"]), ExitRecord)
    return record


def packed(value: Session | ExitRecord) -> str:
    """As JSON in ASCII, which holds any path; redacted but for what finds things again."""
    plain = session = as_object(value)
    if isinstance(value, ExitRecord):
        session = plain["session"]
        plain = {**redact_all(plain), "session": session}
        if value.screen is not None:  # together: a secret may begin on one line and end on another
            plain["screen"] = redact("\n".join(value.screen)).split("\n")
    for words in ("command", "engine_options"):  # together: one word may name what the next one is
        if session[words]:
            session[words] = str(redact_all("\x1f".join(session[words]))).split("\x1f")
    return json.dumps(plain)


def plain(text: str) -> str:
    """The text as SQLite can hold it: what stands for broken bytes is written out."""
    return text.encode("utf-8", "backslashreplace").decode()
