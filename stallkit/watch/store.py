"""What has to survive kill -9: recoveries with their outcomes, counts, waits for limits of use, incidents.

One SQLite file for each user, in WAL mode and synchronous=FULL: what was said to be written is on the disk.  Several
supervisors may share it.  Every failure is a StoreError; who cannot record a press does not make it.  All text passes
the redactor, names of sessions too.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping

from attrs import frozen

from stallkit.core.redact import redact, redact_all
from stallkit.errors import StoreError
from stallkit.watch.limits import Counts

__all__ = ["Recovery", "Store", "Waiting"]

VERSION = 1
BUSY_S = 2.0  # for another supervisor's write: one takes milliseconds
UNKNOWN = "unknown"
_SCHEMA = """
create table if not exists recovery (
    id integer primary key, session text not null, iteration integer not null, loop integer not null,
    act text not null, identity text not null, fingerprint text not null, shown text not null, keys text,
    asked_at real not null, boot text not null, clock real not null,
    outcome text, why text, done_at real
);
create index if not exists recovery_of on recovery (session, loop, iteration);
create table if not exists session (
    name text primary key, iteration integer not null default 1, loop integer not null default 1,
    halted text, stop_file text, waits_since real, free_at real, signal text, status text, seen_at real
);
create table if not exists incident (
    id integer primary key, at real not null, session text not null, event text not null, facts text not null
);
"""


@frozen
class Recovery:
    """One act on a session: its intent was on the disk before, its outcome after; None is *nobody knows*."""

    id: int
    session: str
    act: str
    identity: str
    shown: str
    keys: str | None
    asked_at: float  # seconds of the wall clock, for the record
    boot: str  # of the machine: `clock` counts from there
    clock: float
    outcome: str | None
    why: str | None


@frozen
class Waiting:
    """A session that waits for a limit of use; by the wall clock, as the limit's end is told."""

    since: float
    free_at: float | None


class Store:
    """The file, open.  May be used from several threads; close it at the end."""

    def __init__(self, path: Path) -> None:
        """Open or make it.  Raises StoreError."""
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._base = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error
        try:
            self._prepare()
        except StoreError:
            self._base.close()
            raise

    def _prepare(self) -> None:
        with self._mapped():
            self._base.row_factory = sqlite3.Row
            found = self._base.execute("pragma user_version").fetchone()[0]
            if found > VERSION:
                why = f"it is of version {found}"
                raise StoreError("store", str(self.path), why, "update stallkit, or move it away")
            self._in_turn("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=full")
            if found < VERSION:
                self._base.executescript(f"begin immediate; {_SCHEMA} pragma user_version={VERSION}; commit")

    def _in_turn(self, command: str) -> None:
        """Where SQLite does not wait for others by itself: for the change of the journal's mode."""
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                self._base.execute(command)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._base.close()

    def intend(self, session: str, act: str, identity: str, fingerprint: str, shown: str, keys: str | None) -> int:
        """Write down what is about to be done, and return its number: it is on the disk when this returns."""
        session = _name(session)
        with self._writing() as base:
            self._know(session)
            row = base.execute("select iteration, loop from session where name = ?", (session,)).fetchone()
            given = (
                session,
                row["iteration"],
                row["loop"],
                act,
                _plain(identity),
                fingerprint,
                shown,
                keys and redact(keys),
            )
            done = base.execute(
                "insert into recovery (session, iteration, loop, act, identity, fingerprint, shown, keys,"
                " asked_at, boot, clock) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*given, time.time(), boot_id(), time.monotonic()),
            )
            assert done.lastrowid is not None  # an insert has one
            return done.lastrowid

    def conclude(self, id: int, outcome: str, why: str) -> None:
        """Write down what came of it."""
        with self._writing() as base:
            base.execute(
                "update recovery set outcome = ?, why = ?, done_at = ? where id = ?",
                (outcome, _plain(redact(why)), time.time(), id),
            )

    def recoveries(self, session: str, act: str | None = None) -> list[Recovery]:
        """What was done to a session in its present loop, refusals left out, oldest first."""
        return [one for one, _ in self._recoveries(session) if act in (None, one.act)]

    def counts(self, session: str, *acts: str) -> Counts:
        """How often these were done in this iteration, in all, and when, on this boot's monotonic clock.

        What was done before the machine was last started is as old as its start: the window may hold it too long.
        """
        with self._mapped():
            row = self._base.execute("select iteration from session where name = ?", (_name(session),)).fetchone()
        iteration = row["iteration"] if row else 1
        found = [one for one in self._recoveries(session) if one[0].act in acts]
        times = tuple(one.clock if one.boot == boot_id() else 0.0 for one, _ in found)
        return Counts(sum(of == iteration for _, of in found), len(found), times)

    def unresolved(self, session: str) -> list[Recovery]:
        """What was begun and has no outcome: its supervisor was killed.  Nobody knows whether a key was pressed."""
        return [one for one in self.recoveries(session) if one.outcome in (None, UNKNOWN)]

    def last(self, session: str) -> Recovery | None:
        """What was done to it last in its present loop: unless it went well, it may still stand there."""
        found = self.recoveries(session)
        return found[-1] if found else None

    def new_iteration(self, session: str, reset_total: bool = False) -> None:
        """A signal came (requirement D6)."""
        session = _name(session)
        with self._writing() as base:
            self._know(session)
            base.execute(
                "update session set iteration = iteration + 1, loop = loop + ? where name = ?", (reset_total, session)
            )

    def halt(self, session: str, reason: str | None, stop_file: str | None = None) -> None:
        """Note why nothing is done to a session any more, and which file says so; None: it may be again."""
        self._set(session, halted=reason and _plain(redact(reason)), stop_file=stop_file and _plain(stop_file))

    def halted(self, session: str) -> str | None:
        """Why nothing is done to it any more."""
        row = self._row(session)
        return row["halted"] if row else None

    def stop_file(self, session: str) -> str | None:
        """The file that was written when it was halted; None where none was: then no removal of one lifts the halt."""
        row = self._row(session)
        return row["stop_file"] if row else None

    def signal(self, session: str, stamp: str | None) -> None:
        """Note which signal was seen last."""
        self._set(session, signal=stamp)

    def signalled(self, session: str) -> str | None:
        """Which signal was seen last."""
        row = self._row(session)
        return row["signal"] if row else None

    def wait(self, session: str, free_at: float | None) -> None:
        """Note that it waits for a limit of use, from now until then by the wall clock, as far as that is known."""
        self._set(session, waits_since=time.time(), free_at=free_at)

    def wait_over(self, session: str) -> None:
        """Note that it does so no longer."""
        self._set(session, waits_since=None, free_at=None)

    def waiting(self, session: str) -> Waiting | None:
        """The wait for a limit of use that a session is in."""
        row = self._row(session)
        return Waiting(row["waits_since"], row["free_at"]) if row and row["waits_since"] is not None else None

    def saw(self, sessions: Mapping[str, Mapping[str, Any]]) -> None:
        """Note what sessions do, by name, for `stallkit status`: one write for all of them."""
        now = time.time()
        with self._writing() as base:
            for session, status in sessions.items():
                name = _name(session)
                self._know(name)
                given = (json.dumps(redact_all(status)), now, name)
                base.execute("update session set status = ?, seen_at = ? where name = ?", given)

    def sessions(self) -> list[dict[str, Any]]:
        """Every session that was ever watched, with what is noted of it, by name."""
        with self._mapped():
            return [dict(row) for row in self._base.execute("select * from session order by name")]

    def incident(self, session: str, event: str, facts: dict[str, Any]) -> None:
        """Keep what a person may want to read later."""
        with self._writing() as base:
            row = (time.time(), _name(session), event, json.dumps(redact_all(facts)))
            base.execute("insert into incident (at, session, event, facts) values (?, ?, ?, ?)", row)

    def incidents(self, session: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The latest ones, newest last."""
        with self._mapped():
            found = self._base.execute(
                "select at, session, event, facts from incident where ? is null or session = ?"
                " order by id desc limit ?",
                (None if session is None else _name(session),) * 2 + (limit,),
            ).fetchall()
        return [{**dict(row), "facts": json.loads(row["facts"])} for row in reversed(found)]

    def _recoveries(self, session: str) -> list[tuple[Recovery, int]]:
        with self._mapped():
            found = self._base.execute(
                "select recovery.* from recovery join session on session.name = recovery.session"
                " where session = ? and recovery.loop = session.loop"
                " and coalesce(outcome, '') != 'refused' order by id",
                (_name(session),),
            ).fetchall()
        names = ("id", "session", "act", "identity", "shown", "keys", "asked_at", "boot", "clock", "outcome", "why")
        return [(Recovery(**{name: row[name] for name in names}), row["iteration"]) for row in found]

    def _row(self, session: str) -> sqlite3.Row | None:
        with self._mapped():
            found: sqlite3.Row | None = self._base.execute(
                "select * from session where name = ?", (_name(session),)
            ).fetchone()
        return found

    def _set(self, session: str, **values: object) -> None:
        session = _name(session)
        with self._writing() as base:
            self._know(session)
            given = ", ".join(f"{name} = ?" for name in values)
            base.execute(f"update session set {given} where name = ?", (*values.values(), session))  # names of ours

    def _know(self, session: str) -> None:
        self._base.execute("insert or ignore into session (name) values (?)", (session,))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._mapped():
            if self._base.in_transaction:  # a disk that was full for a commit and for the rollback after it
                self._base.execute("rollback")
            self._base.execute("begin immediate")
            try:
                yield self._base
                self._base.execute("commit")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("rollback")
                raise

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise self._error(error) from error

    def _error(self, error: Exception) -> StoreError:
        return StoreError("store", str(self.path), str(error), "see whether there is room and leave to write")


def _plain(text: str) -> str:
    """The text as SQLite can hold it: what stands for broken bytes is written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _name(session: str) -> str:
    """The name without what looks like a credential; two that differ in that alone are still two."""
    masked = _plain(redact(session))
    if masked == session:
        return session
    return f"{masked}#{hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def boot_id() -> str:
    """Which start of the machine this is: its monotonic clock begins there.  "" where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
