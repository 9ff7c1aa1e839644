"""The tables of the register: rows as values, and the last sights of running sessions."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Iterable, Sequence

from attrs import frozen

from stallkit.database import Database
from stallkit.jsonio import structure, unstructure
from stallkit.probes.procfs import Process
from stallkit.redact.redact import redact, redact_all, redact_words
from stallkit_sessions.model import ExitRecord, Order, Session

__all__ = ["Living", "SIGHTS", "Sight", "Sights", "either_of", "living_of", "packed", "plain", "session_of"]


@frozen
class Living:
    """A session without a recorded end."""

    session: Session  # its command and its runtime's options are redacted
    bound: bool  # it runs; else it is being started
    claimed_by: Process  # the process that started it, or gave the last order
    order: Order | None = None
    ready_at: float | None = None  # wall clock
    incident: str | None = None  # from a process that was killed while it wrote its end


def session_of(row: sqlite3.Row) -> Session:
    """The session of a row, as it was kept."""
    return structure(json.loads(row["session"]), Session)


def living_of(row: sqlite3.Row) -> Living:
    """The row of one that has not ended."""
    return Living(
        session=session_of(row),
        bound=row["state"] == "running",
        claimed_by=Process(row["pid"], row["ticks"]),
        order=row["order"] and Order(row["order"]),
        ready_at=row["ready_at"],
        incident=row["incident"],
    )


def either_of(row: sqlite3.Row) -> Living | ExitRecord:
    """The value of any row."""
    if row["state"] != "ended":
        return living_of(row)
    return structure(json.loads(row["record"]), ExitRecord)


def packed(value: Session | ExitRecord) -> str:
    """As JSON in ASCII, which holds any path; redacted, except what finds things again."""
    plain = session = unstructure(value)
    if isinstance(value, ExitRecord):
        session = plain["session"]
        plain = {**redact_all(plain), "session": session}
        if value.screen is not None:  # together: a secret may begin on one line and end on another
            plain["screen"] = redact("\n".join(value.screen)).split("\n")
    for words in ("command", "engine_options"):  # together: one word may name what the next one is
        if session[words]:
            session[words] = redact_words(session[words])
    return json.dumps(plain)


def plain(text: str) -> str:
    """The text as SQLite can hold it: surrogates for invalid bytes are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


VERDICTS = 5  # of a session: the last ones that differ
SIGHTS = """
create table if not exists sight (
    session text primary key, lines text not null, verdicts text not null, at real not null
);
"""


@frozen
class Sight:
    """The last look at a session, redacted."""

    lines: tuple[str, ...]
    verdicts: tuple[dict[str, Any], ...]  # the last ones that differ in state, kind or signature, oldest first
    at: float  # seconds of the wall clock


class Sights:
    """The sights, on a connection of their own, which does not wait for the disk."""

    def __init__(self, base: Database) -> None:
        self._base = base
        self._redacted: dict[str, tuple[Sequence[str], str]] = {}  # so that an unchanged screen is not redacted again

    def keep(self, looks: Iterable[tuple[str, Sequence[str], dict[str, Any] | None, float]]) -> None:
        """Write down looks at running sessions: id, lines, verdict, when; other ids are ignored."""
        rows = [(id, self._masked(id, lines), verdict, at) for id, lines, verdict, at in looks]
        with self._base.writing() as base:
            alive = {row["id"] for row in base.execute("select id from session where state in ('starting', 'running')")}
            for id, lines, verdict, at in rows:
                if id not in alive:
                    continue
                row = base.execute("select verdicts from sight where session = ?", (id,)).fetchone()
                known = json.loads(row["verdicts"]) if row else []
                base.execute(
                    "insert or replace into sight values (?, ?, ?, ?)",
                    (id, lines, json.dumps(_added(known, verdict)), at),
                )
        self._redacted = {id: shown for id, shown in self._redacted.items() if id in alive}

    def of(self, id: str) -> Sight | None:
        """Its last sight; None where it has ended, or was not looked at yet."""
        with self._base.reading() as base:
            row = base.execute("select * from sight where session = ?", (id,)).fetchone()
        if row is None:
            return None
        return Sight(tuple(json.loads(row["lines"])), tuple(json.loads(row["verdicts"])), row["at"])

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def _masked(self, id: str, lines: Sequence[str]) -> str:
        before = self._redacted.get(id)
        if before is None or before[0] != lines:
            # Together: a secret may begin on one line and end on another.
            before = self._redacted[id] = (lines, json.dumps(redact("\n".join(lines)).split("\n")))
        return before[1]


def _added(known: list[dict[str, Any]], verdict: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The verdicts with one more; one equal to the last replaces it."""
    if verdict is None:
        return known
    last = known[-1] if known else {}
    alike = known and all(last.get(key) == verdict.get(key) for key in ("state", "kind", "signature"))
    return [*(known[:-1] if alike else known), redact_all(verdict)][-VERDICTS:]
