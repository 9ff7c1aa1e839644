"""Which sessions there are: their names and ports, what was ordered, how each ended, and what is to be told of it.

One SQLite file for each user.  A name and a port belong to one living session at a time, and a session has one end, by
the database's own rules.  What changes and the event that tells of it are written in one transaction.  All text passes
the redactor, but for what is needed to find things again: directory, socket, identity, container.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Iterable, Sequence

from attrs import evolve

from stallkit.core.redact import redact
from stallkit.database import Database
from stallkit.errors import StartRefused
from stallkit.sessions import outbox, ports
from stallkit.sessions.model import Cause, ExitRecord, Order, Session, of_object
from stallkit.sessions.outbox import FINAL, OutEvent
from stallkit.sessions.register_tables import (
    SIGHTS,
    Living,
    Sight,
    Sights,
    either_of,
    living_of,
    packed,
    plain,
    session_of,
)

__all__ = ["Living", "Register"]

BUSY_S = 10.0  # for others' writes: a hundred may start at once
KEPT, KEPT_S = 20, 30 * 86_400.0  # records of a name: so many, and all that are younger
MOST = 1_000  # ... but never more: a session that dies every second must not fill the disk
_LIVING = "state in ('starting', 'running')"
_SCHEMA = f"""
create table if not exists session (
    number integer primary key, id text not null unique, name text not null, state text not null,
    session text not null, pid integer not null, ticks integer not null,
    "order" text, ready_at real, incident text, cause text, ended_at real, record text
);
create unique index if not exists one_of_a_name on session (name) where {_LIVING};
create index if not exists of_a_name on session (name, number);
create table if not exists port (number integer primary key, session text not null);
{outbox.SCHEMA}
{SIGHTS}
"""


class Register:
    """The file, open.  May be used from several threads; close it at the end.  What fails raises StoreError."""

    def __init__(self, path: Path, *, most: int = MOST) -> None:
        """Open or make it; `most` records of a name are kept at most."""
        self.path, self._most = path, most
        self._base = Database(path, "register", [_SCHEMA], busy_s=BUSY_S)
        try:
            self._sights = Sights(Database(path, "register", [_SCHEMA], durable=False, busy_s=BUSY_S))
        except BaseException:
            self._base.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()
        self._sights.close()

    # --- from the claim of a name to the end ---

    def claim(self, session: Session, by: tuple[int, int]) -> Session:
        """Take the name and the ports for a session that is about to be started, or none of them.

        Gives the session with its ports: one of the system's choice for each 0.  `by` is the process that starts it,
        and its start in clock ticks.  Raises StartRefused where the name or a port is taken, ValueError for a name that
        cannot be kept, and for ports that are none.
        """
        if not session.name or not session.name.isprintable() or redact(session.name) != session.name:
            raise ValueError(f"{redact(session.name)!r} is no name: give one of printable characters, without a secret")
        wanted = [port for port in session.ports if port]
        if len(wanted) != len(set(wanted)):
            raise ValueError("a port is given twice")
        with self._base.writing() as base:
            row = base.execute(f"select * from session where name = ? and {_LIVING}", (session.name,)).fetchone()
            if row is not None:
                raise _taken(living_of(row))
            session = evolve(session, ports=self._ports(base, session))
            base.execute(
                "insert into session (id, name, state, session, pid, ticks) values (?, ?, 'starting', ?, ?, ?)",
                (session.id, session.name, packed(session), *by),
            )
            base.executemany("insert into port values (?, ?)", [(port, session.id) for port in session.ports])
        return session

    def _ports(self, base: sqlite3.Connection, session: Session) -> tuple[int, ...]:
        holders = {
            row["number"]: row["name"]
            for row in base.execute("select port.number, name from port join session on session.id = port.session")
        }
        for port in filter(None, session.ports):
            why = f"port {port} belongs to session {holders[port]}" if port in holders else f"port {port} is in use"
            if port in holders or not ports.free(port):
                todo = "give another port, or 0 for any"
                raise StartRefused(session.name, why, todo, holders.get(port), port)
        try:
            chosen = iter(ports.any_free({*holders, *session.ports}, session.ports.count(0)))
        except OSError as error:
            raise StartRefused(session.name, error.strerror or str(error), "free a port") from error
        return tuple(port or next(chosen) for port in session.ports)

    def bound(self, id: str, identity: str, pane_started: int | None = None, container: str | None = None) -> bool:
        """Note that it runs, and where; puts session_started out.

        False where the claim no longer stands, or was bound before: then what was just started has to be taken down.
        """
        with self._base.writing() as base:
            row = self._of(base, id, "state = 'starting'")
            if row is None:
                return False
            session: Session = session_of(row)
            session = evolve(
                session, identity=identity, pane_started=pane_started, container=container or session.container
            )
            base.execute("update session set state = 'running', session = ? where id = ?", (packed(session), id))
            kept = ("command", "engine", "image", "container", "ports", "tmux_socket_name", "tmux_socket_path")
            return _put(base, row, "session_started", {key: getattr(session, key) for key in kept})

    def abandon(self, id: str) -> bool:
        """Give up a claim before it was bound: name and ports are free, as if it had never been.

        There is no event, since session_started was not put out; the caller tells the person.  False, and nothing is
        changed, where it was bound or given up before: what once ran can only `end`.
        """
        with self._base.writing() as base:
            done = base.execute("delete from session where id = ? and state = 'starting'", (id,))
            if done.rowcount:
                _forget(base, id)
            return bool(done.rowcount)

    def order(self, id: str, order: Order | None, by: tuple[int, int] | None = None) -> bool:
        """Write down what is about to be done to it, or that it is not after all; False where it has ended.

        `by` is the process that does it, and its start in clock ticks.
        """
        pid, ticks = by or (None, None)
        with self._base.writing() as base:
            done = base.execute(
                'update session set "order" = ?, pid = coalesce(?, pid), ticks = coalesce(?, ticks)'
                f" where id = ? and {_LIVING}",
                (order, pid, ticks, id),
            )
            return bool(done.rowcount)

    def ready(self, id: str) -> bool:
        """Note that it was seen ready, and put session_ready out; False where that was done before, or it ended."""
        with self._base.writing() as base:
            row = self._of(base, id, "state = 'running' and ready_at is null")
            if row is None:
                return False
            base.execute("update session set ready_at = ? where id = ?", (time.time(), id))
            return _put(base, row, "session_ready", {"after_s": round(time.time() - session_of(row).started_at, 3)})

    def start_timeout(self, id: str, why: str) -> bool:
        """Put start_timeout out: the session is there, its prompt is not; False where it has ended, or was told."""
        with self._base.writing() as base:
            row = self._of(base, id, _LIVING)
            return row is not None and _put(base, row, "start_timeout", {"why": why})

    def end(self, record: ExitRecord, event: str, facts: dict[str, Any]) -> bool:
        """Keep how it ended, free its name and its ports, and put its final event out, all in one.

        `event` is one of `FINAL`.  True for the first who says so, bound or not; a second one changes nothing.
        """
        if event not in FINAL:
            raise ValueError(f"{event!r} ends no session: {', '.join(sorted(FINAL))} do")
        id = record.session.id
        with self._base.writing() as base:
            row = self._of(base, id, _LIVING)
            if row is None:
                return False
            record = evolve(record, incident=record.incident or row["incident"])
            base.execute(
                "update session set state = 'ended', cause = ?, ended_at = ?, incident = ?, record = ? where id = ?",
                (record.cause, record.ended_at, record.incident, packed(record), id),
            )
            _forget(base, id)
            if not _put(base, row, event, facts):
                raise AssertionError(f"session {id} has an end, and lives")  # undoes all of it
            _prune(base, record.session.name, self._most)
            return True

    def incident(self, sessions: Iterable[str], cause: Cause, why: str) -> str | None:
        """What these sessions' ends have in common gets a number of its own, and one event for all of them.

        A process that finds the same end once more gets the same number; None where none of them is known.
        """
        ids = list(sessions)
        with self._base.writing() as base:
            marks = ", ".join("?" * len(ids))
            rows = base.execute(f"select * from session where id in ({marks}) order by number", ids).fetchall()
            living = [row for row in rows if row["state"] != "ended"]
            known = next((row["incident"] for row in rows if row["incident"] is not None), None)
            if known is None and not living:
                return None
            incident = known or secrets.token_hex(4)
            base.executemany("update session set incident = ? where id = ?", [(incident, row["id"]) for row in living])
            if known is None:
                names = [row["name"] for row in living]
                outbox.put(base, "incident", {"incident": incident, "cause": str(cause), "why": why, "sessions": names})
            return incident

    # --- what was last seen of it ---

    def saw(self, looks: Iterable[tuple[str, Sequence[str], dict[str, Any] | None, float]]) -> None:
        """Keep what looks showed, for the records: id, lines, verdict, seconds of the wall clock.

        It is not synchronised to the disk, so that it costs little.
        """
        self._sights.keep(looks)

    def sight(self, id: str) -> Sight | None:
        """What was last seen of a living session."""
        return self._sights.of(id)

    # --- reading ---

    def get(self, id: str) -> Living | ExitRecord | None:
        """The session of this id."""
        return self._first("id = ?", id)

    def latest(self, name: str) -> Living | ExitRecord | None:
        """The living session of that name, else how the last one ended."""
        return self._first("name = ?", name)

    def living(self) -> list[Living]:
        """All that have not ended, in the order of their start."""
        with self._base.reading() as base:
            return [living_of(row) for row in base.execute(f"select * from session where {_LIVING} order by number")]

    def listing(self) -> list[Living | ExitRecord]:
        """Each name's latest, by name."""
        with self._base.reading() as base:
            return [
                either_of(row)
                for row in base.execute(
                    "select * from session where number in (select max(number) from session group by name)"
                    " order by name"
                )
            ]

    def records(self, name: str | None = None, limit: int = 20) -> list[ExitRecord]:
        """How sessions of that name, or all, ended: the latest, newest last."""
        with self._base.reading() as base:
            found = base.execute(
                "select record from session where state = 'ended' and (? is null or name = ?)"
                " order by ended_at desc, number desc limit ?",
                (name, name, limit),
            ).fetchall()
        return [of_object(json.loads(row["record"]), ExitRecord) for row in reversed(found)]

    def earlier(self, name: str, cause: Cause) -> int:
        """How many of that name died of this cause in a row until now; any other end, a stop too, breaks the row."""
        count = 0
        with self._base.reading() as base:
            for row in base.execute(
                "select cause from session where state = 'ended' and name = ? order by number desc", (name,)
            ):
                if row["cause"] != cause:
                    break
                count += 1
        return count

    def pending(self) -> list[OutEvent]:
        """The events that are to be written out, oldest first."""
        with self._base.reading() as base:
            return outbox.pending(base)

    def written(self, id: str) -> None:
        """Note that the logs hold an event."""
        with self._base.writing() as base:
            outbox.written(base, id)

    def _first(self, where: str, value: str) -> Living | ExitRecord | None:
        with self._base.reading() as base:
            row = base.execute(
                f"select * from session where {where} order by number desc limit 1", (plain(value),)
            ).fetchone()
        return None if row is None else either_of(row)

    @staticmethod
    def _of(base: sqlite3.Connection, id: str, where: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = base.execute(f"select * from session where id = ? and {where}", (id,)).fetchone()
        return row


def _taken(holder: Living) -> StartRefused:
    since = datetime.fromtimestamp(holder.session.started_at).isoformat(" ", "seconds")
    name = holder.session.name
    if holder.bound:
        why, todo = f"a session of this name runs since {since}", "stop it, replace it, or give another name"
    else:
        why = f"process {holder.claimed_by.pid} has been starting a session of this name since {since}"
        todo = "wait for it, or give another name"
    return StartRefused(name, why, todo, name)


def _put(base: sqlite3.Connection, row: sqlite3.Row, event: str, facts: dict[str, Any]) -> bool:
    return outbox.put(base, event, facts, row["id"], row["name"], session_of(row).directory)


def _forget(base: sqlite3.Connection, id: str) -> None:
    base.execute("delete from port where session = ?", (id,))
    base.execute("delete from sight where session = ?", (id,))


def _prune(base: sqlite3.Connection, name: str, most: int) -> None:
    """Let old records of a name go, and the events of theirs that were written."""
    old = "state = 'ended' and name = :name"
    place = f"select number from session where {old} order by number desc limit -1 offset"
    given = {"name": name, "before": time.time() - KEPT_S, "kept": KEPT, "most": most}
    base.execute(
        f"delete from session where (number in ({place} :kept) and ended_at < :before) or number in ({place} :most)",
        given,
    )
    base.execute(
        "delete from event where written and at < :before and (session is null or session not in"
        " (select id from session))",
        given,
    )
