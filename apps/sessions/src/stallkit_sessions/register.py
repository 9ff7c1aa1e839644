"""The register of sessions: their names and ports, orders, last screens, how each ended, and the events about them.

One SQLite file for each user.  The database enforces that a name or a port belongs to one running session at a time,
and that a session ends once.  A change and its event are written in one transaction, and the event goes from there to
the logs: so kill -9 loses none.  All text passes the redactor, except what is needed to find things again: directory,
socket, identity, container.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from attrs import evolve, frozen

from stallkit import daemon
from stallkit.database import Database
from stallkit.errors import StallkitError, StartRefused, StoreError
from stallkit.jsonio import structure, unstructure
from stallkit.probes.procfs import Process
from stallkit.redact.redact import redact, redact_all, redact_words
from stallkit_sessions import ports
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Order, Session

BUSY_S = 30.0  # to wait for other writers: a hundred sessions may start at once, on a machine with other work
KEPT, KEPT_S = 20, 30 * 86_400.0  # records of a name: this many, and all that are younger
MOST = 1_000  # ... but never more than this: a session that dies every second must not fill the disk
VERDICTS = 5  # of a session: the last ones that differ
_LIVING = "state in ('starting', 'running')"
_EVENT = "id, name, session, target, directory, facts, at"  # the columns of an `OutEvent`
_SCHEMA = f"""
create table if not exists session (
    number integer primary key, id text not null unique, name text not null, state text not null,
    session text not null, pid integer not null, ticks integer not null,
    "order" text, ready_at real, incident text, cause text, ended_at real, record text
);
create unique index if not exists one_of_a_name on session (name) where {_LIVING};
create index if not exists of_a_name on session (name, number);
create table if not exists port (number integer primary key, session text not null);
create table if not exists event (
    number integer primary key, id text not null unique, session text, name text not null, target text not null,
    directory text, facts text not null, at real not null, written integer not null default 0
);
create unique index if not exists one_end on event (session)
    where name in ('session_stopped', 'session_crashed', 'session_drop');
create unique index if not exists once on event (session, name) where session is not null;
create index if not exists unwritten on event (number) where not written;
create table if not exists sight (
    session text primary key, lines text not null, verdicts text not null, at real not null
);
"""

Look = tuple[str, Sequence[str], dict[str, Any] | None, float]  # id, rows, verdict, and when, by the wall clock


@frozen
class RunningSession:
    """A session without a recorded end."""

    session: Session  # its command and its runtime's options are redacted
    bound: bool  # it runs; else it is being started
    claimed_by: Process  # the process that started it, or gave the last order
    order: Order | None = None
    ready_at: float | None = None  # wall clock
    incident: str | None = None  # from a process that was killed while it wrote its end


@frozen
class Sight:
    """The last look at a session, redacted."""

    lines: tuple[str, ...]
    verdicts: tuple[dict[str, Any], ...]  # the last ones that differ in state, kind or signature, oldest first
    at: float  # seconds of the wall clock


@frozen
class OutEvent:
    """An event that is not yet in all its logs."""

    id: str  # random; also in the logs, so that no event is written twice
    name: str  # session_started, session_ready, start_timeout, incident, or one of FINAL
    session: str | None  # Session.id; None for an incident, which has several
    target: str  # Session.name
    directory: str | None  # of the session
    facts: dict[str, Any]
    at: float  # seconds of the wall clock, when it happened


class Register:
    """The open file.  May be used from several threads; close it at the end.  Failures raise StoreError."""

    def __init__(self, path: Path, *, most: int = MOST, or_copy: bool = False) -> None:
        """Open or make it; it keeps at most `most` records of a name.

        With `or_copy`, one that cannot be written is read into memory, and `unwritable` says why.
        """
        self.path, self._most = path, most
        self._base = self._quick = Database(path, "register", [_SCHEMA], busy_s=BUSY_S, or_copy=or_copy)
        self.unwritable = self._base.unwritable
        if self.unwritable is None:
            try:  # last screens need not wait for the disk
                self._quick = Database(path, "register", [_SCHEMA], durable=False, busy_s=BUSY_S)
            except BaseException:
                self._base.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._base.close()
        self._quick.close()

    # --- from the claim of a name to the end ---

    def claim(self, session: Session, by: tuple[int, int]) -> Session:
        """Take the name and all ports for a session that is about to be started, or nothing.

        Returns the session with its ports: a free one for each 0.  `by` is the process that starts it, and its start
        in clock ticks.  Raises StartRefused if the name or a port is taken, ValueError for a name that cannot be
        kept, and for invalid ports.
        """
        if not session.name or not session.name.isprintable() or redact(session.name) != session.name:
            raise ValueError(f"{redact(session.name)!r} is not a name: give printable characters, without a secret")
        wanted = [port for port in session.ports if port]
        if len(wanted) != len(set(wanted)):
            raise ValueError("a port is given twice")
        with self._base.writing() as base:
            row = base.execute(f"select * from session where name = ? and {_LIVING}", (session.name,)).fetchone()
            if row is not None:
                raise _taken(_running(row))
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

    def bound(self, id: str, identity: str, pane_started: int | None = None) -> bool:
        """Note that it runs, and where; adds the event session_started.

        False if the claim was given up, or bound before: then the caller must stop what it just started.
        """
        with self._base.writing() as base:
            row = self._of(base, id, "state = 'starting'")
            if row is None:
                return False
            session = evolve(_session(row), identity=identity, pane_started=pane_started)
            base.execute("update session set state = 'running', session = ? where id = ?", (packed(session), id))
            kept = ("command", "engine", "image", "container", "ports", "tmux_socket_name", "tmux_socket_path")
            return _put(base, "session_started", {key: getattr(session, key) for key in kept}, row)

    def abandon(self, id: str) -> bool:
        """Give up a claim before it was bound: name and ports are free again.

        There is no event, since there was no session_started; the caller tells the person.  False, and no change, where
        it was bound or given up before: a session that ran can only `end`.
        """
        with self._base.writing() as base:
            done = base.execute("delete from session where id = ? and state = 'starting'", (id,))
            if done.rowcount:
                _forget(base, id)
            return bool(done.rowcount)

    def order(self, id: str, order: Order | None, by: tuple[int, int] | None = None) -> bool:
        """Write down an order before it is carried out, or take it back; False if the session has ended.

        `by` is the process that carries it out, and its start in clock ticks.
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
        """Note that it was ready, and add the event session_ready; False if that was done before, or it ended."""
        with self._base.writing() as base:
            row = self._of(base, id, "state = 'running' and ready_at is null")
            if row is None:
                return False
            base.execute("update session set ready_at = ? where id = ?", (time.time(), id))
            after_s = round(time.time() - _session(row).started_at, 3)
            return _put(base, "session_ready", {"after_s": after_s}, row)

    def start_timeout(self, id: str, why: str) -> bool:
        """Add the event start_timeout: the session runs, its prompt is missing; False after its end, or done before."""
        with self._base.writing() as base:
            row = self._of(base, id, _LIVING)
            return row is not None and _put(base, "start_timeout", {"why": why}, row)

    def end(self, record: ExitRecord, event: str, facts: dict[str, Any]) -> bool:
        """Write down how it ended, free its name and its ports, and add its final event, all in one transaction.

        `event` is one of `FINAL`.  True for the first call, bound or not; a second one changes nothing.
        """
        if event not in FINAL:
            raise ValueError(f"{event!r} is not a final event: give one of {', '.join(sorted(FINAL))}")
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
            if not _put(base, event, facts, row):
                raise AssertionError(f"session {id} has an end, and runs")  # rolls back
            _prune(base, record.session.name, self._most)
            return True

    def incident(self, sessions: Iterable[str], cause: Cause, why: str) -> str | None:
        """Give the common cause of these sessions' ends an id, and one event for all of them.

        A process that finds the same end again gets the same id; None if none of the sessions is known.
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
                facts = {"incident": incident, "cause": str(cause), "why": why}
                _put(base, "incident", {**facts, "sessions": [row["name"] for row in living]})
            return incident

    # --- what was last seen of it ---

    def saw(self, looks: Iterable[Look]) -> None:
        """Keep what looks at running sessions showed, for the records; other ids are ignored.  Without fsync."""
        # Redacted together: a secret may begin on one line and end on another.
        rows = [(id, json.dumps(redact("\n".join(lines)).split("\n")), verdict, at) for id, lines, verdict, at in looks]
        with self._quick.writing() as base:
            alive = {row["id"] for row in base.execute(f"select id from session where {_LIVING}")}
            for id, shown, verdict, at in rows:
                if id in alive:
                    row = base.execute("select verdicts from sight where session = ?", (id,)).fetchone()
                    verdicts = json.dumps(_added(json.loads(row["verdicts"]) if row else [], verdict))
                    base.execute("insert or replace into sight values (?, ?, ?, ?)", (id, shown, verdicts, at))

    def sight(self, id: str) -> Sight | None:
        """The last sight of a running session; None if it has ended, or was not looked at yet."""
        with self._quick.reading() as base:
            row = base.execute("select * from sight where session = ?", (id,)).fetchone()
        if row is None:
            return None
        return Sight(tuple(json.loads(row["lines"])), tuple(json.loads(row["verdicts"])), row["at"])

    # --- events on their way out ---

    def pending(self) -> list[OutEvent]:
        """The events that are not in all their logs, oldest first."""
        with self._base.reading() as base:
            rows = base.execute(f"select {_EVENT} from event where not written order by number").fetchall()
        plain = [dict(row) for row in rows]
        for one in plain:
            one["facts"] = json.loads(one["facts"])
            one["directory"] = one["directory"] and json.loads(one["directory"])  # as JSON, since it need not be UTF-8
        return [OutEvent(**one) for one in plain]

    def written(self, id: str) -> None:
        """Note that the logs hold an event."""
        with self._base.writing() as base:
            base.execute("update event set written = 1 where id = ?", (id,))

    def drain(self, write: Callable[[OutEvent], None]) -> int:
        """Write out the pending events, oldest first, and return how many are left.

        One process at a time does so; another waits a moment, since a stopped one must not delay it.  `write` must
        check whether the log has the event's id, since a process may have been killed after its write.  Where it raises
        a StallkitError or an OSError, the event stays, and so do the later ones of its session: their order is kept.
        """
        if not self.pending():
            return 0
        path = self.path.with_name(self.path.name + ".outbox")
        try:
            lock = daemon.lock(path)
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreError("register", str(path), why, "check that it can be written") from error
        if lock is not None:
            try:
                self._write_out(write)
            finally:
                os.close(lock)
        return len(self.pending())

    def _write_out(self, write: Callable[[OutEvent], None]) -> None:
        stuck: set[str] = set()
        for event in self.pending():
            if event.session not in stuck:
                try:
                    write(event)
                except (StallkitError, OSError):
                    stuck |= {event.session} if event.session else set()
                else:
                    self.written(event.id)

    # --- reading ---

    def get(self, id: str) -> RunningSession | ExitRecord | None:
        """The session of this id."""
        return self._first("id = ?", id)

    def latest(self, name: str) -> RunningSession | ExitRecord | None:
        """The running session of that name, else how the last one ended."""
        return self._first("name = ?", name)

    def living(self) -> list[RunningSession]:
        """All that have not ended, in the order of their start."""
        with self._base.reading() as base:
            return [_running(row) for row in base.execute(f"select * from session where {_LIVING} order by number")]

    def listing(self) -> list[RunningSession | ExitRecord]:
        """Each name's latest, by name."""
        with self._base.reading() as base:
            latest = "select max(number) from session group by name"
            return [
                _either(row) for row in base.execute(f"select * from session where number in ({latest}) order by name")
            ]

    def records(self, name: str | None = None, limit: int = 20) -> list[ExitRecord]:
        """The latest exit records of that name, or of all, newest last."""
        with self._base.reading() as base:
            found = base.execute(
                "select record from session where state = 'ended' and (? is null or name = ?)"
                " order by ended_at desc, number desc limit ?",
                (name, name, limit),
            ).fetchall()
        return [structure(json.loads(row["record"]), ExitRecord) for row in reversed(found)]

    def earlier(self, name: str, cause: Cause) -> int:
        """How many of that name died of this cause in a row; any other end, also a stop, breaks the row."""
        count = 0
        with self._base.reading() as base:
            for row in base.execute(
                "select cause from session where state = 'ended' and name = ? order by number desc", (name,)
            ):
                if row["cause"] != cause:
                    break
                count += 1
        return count

    def _first(self, where: str, value: str) -> RunningSession | ExitRecord | None:
        held = value.encode("utf-8", "backslashreplace").decode()  # as SQLite can hold it
        with self._base.reading() as base:
            row = base.execute(f"select * from session where {where} order by number desc limit 1", (held,)).fetchone()
        return None if row is None else _either(row)

    @staticmethod
    def _of(base: sqlite3.Connection, id: str, where: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = base.execute(f"select * from session where id = ? and {where}", (id,)).fetchone()
        return row


def _session(row: sqlite3.Row) -> Session:
    return structure(json.loads(row["session"]), Session)


def _running(row: sqlite3.Row) -> RunningSession:
    return RunningSession(
        session=_session(row),
        bound=row["state"] == "running",
        claimed_by=Process(row["pid"], row["ticks"]),
        order=row["order"] and Order(row["order"]),
        ready_at=row["ready_at"],
        incident=row["incident"],
    )


def _either(row: sqlite3.Row) -> RunningSession | ExitRecord:
    if row["state"] != "ended":
        return _running(row)
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


def _added(known: list[dict[str, Any]], verdict: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The verdicts with one more; one equal to the last replaces it."""
    if verdict is None:
        return known
    last = known[-1] if known else {}
    alike = known and all(last.get(key) == verdict.get(key) for key in ("state", "kind", "signature"))
    return [*(known[:-1] if alike else known), redact_all(verdict)][-VERDICTS:]


def _taken(holder: RunningSession) -> StartRefused:
    since = datetime.fromtimestamp(holder.session.started_at).isoformat(" ", "seconds")
    name = holder.session.name
    if holder.bound:
        why, todo = f"a session of this name runs since {since}", "stop it, replace it, or give another name"
    else:
        why = f"process {holder.claimed_by.pid} has been starting a session of this name since {since}"
        todo = "wait for it, or give another name"
    return StartRefused(name, why, todo, name)


def _put(base: sqlite3.Connection, event: str, facts: dict[str, Any], of: sqlite3.Row | None = None) -> bool:
    """Add an event, of a session or of several, in the open transaction; False if that session has it, or an end."""
    whose = (None, "", None) if of is None else (of["id"], of["name"], json.dumps(_session(of).directory))
    row = (secrets.token_hex(8), event, *whose, json.dumps(redact_all(facts)), time.time())
    return base.execute(f"insert or ignore into event ({_EVENT}) values (?, ?, ?, ?, ?, ?, ?)", row).rowcount == 1


def _forget(base: sqlite3.Connection, id: str) -> None:
    base.execute("delete from port where session = ?", (id,))
    base.execute("delete from sight where session = ?", (id,))


def _prune(base: sqlite3.Connection, name: str, most: int) -> None:
    """Delete old records of a name, and their written events."""
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
