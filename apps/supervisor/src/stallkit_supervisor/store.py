"""What must survive kill -9: recoveries with their outcomes, counts, waits for usage limits, incidents.

One file for each user (`stallkit.database`).  Several supervisors may share it; a press that cannot be recorded is not
made.  All text passes the redactor, names of sessions too.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any, Mapping

from attrs import fields, frozen

from stallkit.database import BUSY_S, Database
from stallkit.errors import StallkitError
from stallkit.probes.procfs import boot_id
from stallkit.redact.redact import redact, redact_all
from stallkit_supervisor.recovery_state import Counts, Limits

ACTS = ("press", "resume", "send", "interrupt")  # the recoveries: a restart has limits of its own
# The newest incidents are kept: at some 700 bytes each no more than one file of the event log, which has them all as
# well.  By number and not by age: a clock that was set wrong for an hour must not empty the list.
INCIDENTS = 10_000


class Halted(StallkitError):
    """A session is halted, or one more recovery would pass a limit, whichever supervisor counted them."""

    def __init__(self, session: str, why: str) -> None:
        super().__init__("left alone", session, why, "look at it, then: stallkit stuck release")


@frozen
class Recovery:
    """One action on a session: its intent was on the disk before, its outcome after; None is *unknown*."""

    id: int
    session: str
    iteration: int
    loop: int
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
class Muted:
    """Since when a person wants no notices of a session, and until when; None: until what it shows then is over."""

    since: float
    until: float | None

    def holds(self, now: float, appeared: float) -> bool:
        """Whether it holds for what has been there since then; in seconds of the wall clock."""
        return appeared <= self.since if self.until is None else now < self.until


@frozen
class Waiting:
    """A session that waits for a usage limit; in wall clock time, like the limit's end."""

    since: float
    free_at: float | None


# One step for each version: a file of version 1 lacks the second.  A step is never changed.
_STEPS = (
    """
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
""",
    """
alter table session add column identity text;
alter table session add column released_at integer not null default 1;
""",
    "alter table session add column home text;",
    """
alter table session add column muted_at real;
alter table session add column muted_until real;
""",
)


class Store(Database):
    """The store, by session."""

    def __init__(
        self, path: Path, *, busy_s: float = BUSY_S, incidents: int = INCIDENTS, or_copy: bool = False
    ) -> None:
        """Open or make it; wait up to `busy_s` seconds for other processes' writes.  Raises StoreError.

        With `or_copy`, one that cannot be written is read into memory: `unwritable`.
        """
        super().__init__(path, "store", _STEPS, busy_s=busy_s, or_copy=or_copy)
        self._incidents = incidents

    def intend(
        self,
        session: str,
        act: str,
        identity: str,
        fingerprint: str,
        shown: str,
        keys: str | None,
        limits: Limits | None = None,
    ) -> int:
        """Write down an intent, and return its number: it is on the disk when this returns.

        Raises Halted, and writes nothing, if the session is halted or is at one of the `limits`.
        """
        given_name, session = session, _name(session)
        with self.writing() as base:
            self._know(session)
            row = base.execute("select * from session where name = ?", (session,)).fetchone()
            # Nobody else writes now, so that what is read is what this intent is added to.
            counts = self.counts(given_name, *(("restart",) if act == "restart" else ACTS))
            why = row["halted"] or (limits and limits.reached(counts, time.monotonic()))
            if why:
                raise Halted(given_name, why)
            what = (act, _plain(identity), fingerprint, shown, keys and redact(keys))
            done = base.execute(
                "insert into recovery (session, iteration, loop, act, identity, fingerprint, shown, keys,"
                " asked_at, boot, clock) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (session, row["iteration"], row["loop"], *what, time.time(), boot_id(), time.monotonic()),
            )
            assert done.lastrowid is not None  # an insert has one
            return done.lastrowid

    def conclude(self, id: int, outcome: str, why: str) -> None:
        with self.writing() as base:
            base.execute(
                "update recovery set outcome = ?, why = ?, done_at = ? where id = ?",
                (outcome, _plain(redact(why)), time.time(), id),
            )

    def recoveries(self, session: str) -> list[Recovery]:
        """The recoveries of a session since a person last released it, without refused ones, oldest first."""
        names = ", ".join(f"recovery.{one.name}" for one in fields(Recovery))
        with self.reading() as base:
            found = base.execute(
                f"select {names} from recovery join session on session.name = recovery.session"
                " where session = ? and recovery.iteration >= session.released_at"
                " and coalesce(outcome, '') != 'refused' order by id",
                (_name(session),),
            ).fetchall()
        return [Recovery(*row) for row in found]

    def counts(self, session: str, *acts: str) -> Counts:
        """How often these were done in this iteration, in all, and when, on this boot's monotonic clock.

        A recovery before the last boot counts as old as the boot: the window may hold it too long.
        """
        row, boot = self._row(session), boot_id()
        iteration, loop = (row["iteration"], row["loop"]) if row else (1, 1)
        found = [one for one in self.recoveries(session) if one.act in acts]
        total = sum(one.loop == loop for one in found)
        times = tuple(one.clock if one.boot == boot else 0.0 for one in found if one.loop == loop or one.boot == boot)
        return Counts(sum(one.iteration == iteration for one in found), total, times)

    def last(self, session: str) -> Recovery | None:
        """The last recovery; unless it succeeded, its prompt may still be there."""
        found = self.recoveries(session)
        return found[-1] if found else None

    def new_iteration(self, session: str, reset_total: bool = False, stamp: str | None = None) -> None:
        """Note a signal, once by its stamp, whichever supervisor saw it first; the window goes on in any case."""
        session = _name(session)
        with self.writing() as base:
            self._know(session)
            base.execute(
                "update session set iteration = iteration + 1, loop = loop + ?, signal = coalesce(?, signal)"
                " where name = ? and (signal is null or signal is not ?)",
                (reset_total, stamp, session, stamp),
            )

    def new_loop(self, session: str, identity: str, home: Path | None = None) -> None:
        """Note the identity that the counts belong to, and where it began; another one starts the total again."""
        session, identity = _name(session), _plain(identity)
        with self.writing() as base:
            self._know(session)
            base.execute(
                "update session set iteration = iteration + 1, loop = loop + 1 where name = ? and identity != ?",
                (session, identity),
            )
            where = None if home is None else json.dumps(str(home))  # it need not be UTF-8
            base.execute("update session set identity = ?, home = ? where name = ?", (identity, where, session))

    def belongs(self, session: str, identity: str | None) -> None:
        """Note the identity that the counts belong to; None: the next one, which the supervisor itself starts."""
        self._set(session, identity=identity and _plain(identity))

    def identity(self, session: str) -> str | None:
        """The identity that the counts belong to; None: the next one."""
        row = self._row(session)
        return row["identity"] if row else None

    def home(self, session: str) -> Path | None:
        """The working directory in which its loop began, if known."""
        row = self._row(session)
        return Path(json.loads(row["home"])) if row and row["home"] else None

    def halt(self, session: str, reason: str | None, stop_file: str | None = None) -> None:
        """Note why a session is left alone, and which file says so.

        None: a person released it, and earlier recoveries no longer count.
        """
        if reason is not None:
            self._set(session, halted=_plain(redact(reason)), stop_file=stop_file and _plain(stop_file))
            return
        session = _name(session)
        with self.writing() as base:
            self._know(session)
            base.execute(
                "update session set halted = null, stop_file = null, iteration = iteration + 1, loop = loop + 1,"
                " released_at = iteration + 1 where name = ?",  # on the right is what was there before
                (session,),
            )

    def halted(self, session: str) -> str | None:
        """Why it is left alone."""
        row = self._row(session)
        return row["halted"] if row else None

    def stop_file(self, session: str) -> str | None:
        """The file that was written when it was halted; None: there was none."""
        row = self._row(session)
        return row["stop_file"] if row else None

    def signalled(self, session: str) -> str | None:
        """Which signal was seen last."""
        row = self._row(session)
        return row["signal"] if row else None

    def wait(self, session: str, free_at: float | None) -> None:
        """Note that it waits for a usage limit, from now until then by the wall clock, if known."""
        self._set(session, waits_since=time.time(), free_at=free_at)

    def wait_over(self, session: str) -> None:
        self._set(session, waits_since=None, free_at=None)

    def waiting(self, session: str) -> Waiting | None:
        """The session's present wait for a usage limit."""
        row = self._row(session)
        return Waiting(row["waits_since"], row["free_at"]) if row and row["waits_since"] is not None else None

    def mute(self, session: str, until: float | None = None) -> None:
        """Note that a person wants no notices of it, until then by the wall clock, or of what it shows now."""
        self._set(session, muted_at=time.time(), muted_until=until)

    def unmute(self, session: str) -> None:
        self._set(session, muted_at=None, muted_until=None)

    def muted(self, session: str) -> Muted | None:
        """What a person said of its notices."""
        row = self._row(session)
        return Muted(row["muted_at"], row["muted_until"]) if row and row["muted_at"] is not None else None

    def saw(self, sessions: Mapping[str, Mapping[str, Any]]) -> None:
        """Note the status of sessions, by name, for `stallkit status`: one write for all of them."""
        now = time.time()
        with self.writing() as base:
            for session, status in sessions.items():
                name = _name(session)
                self._know(name)
                given = (json.dumps(redact_all(status)), now, name)
                base.execute("update session set status = ?, seen_at = ? where name = ?", given)

    def sessions(self) -> list[dict[str, Any]]:
        """Every session that was ever watched, with its notes, by name."""
        with self.reading() as base:
            return [dict(row) for row in base.execute("select * from session order by name")]

    def incident(self, session: str, event: str, facts: dict[str, Any]) -> None:
        """Keep an incident for a person to read later."""
        with self.writing() as base:
            row = (time.time(), _name(session), event, json.dumps(redact_all(facts)))
            done = base.execute("insert into incident (at, session, event, facts) values (?, ?, ?, ?)", row)
            assert done.lastrowid is not None  # an insert has one
            base.execute("delete from incident where id <= ?", (done.lastrowid - self._incidents,))

    def incidents(self, session: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The latest ones, newest last."""
        with self.reading() as base:
            found = base.execute(
                "select at, session, event, facts from incident where ? is null or session = ?"
                " order by id desc limit ?",
                (None if session is None else _name(session),) * 2 + (limit,),
            ).fetchall()
        return [{**dict(row), "facts": json.loads(row["facts"])} for row in reversed(found)]

    def _row(self, session: str) -> sqlite3.Row | None:
        with self.reading() as base:
            found: sqlite3.Row | None = base.execute(
                "select * from session where name = ?", (_name(session),)
            ).fetchone()
        return found

    def _set(self, session: str, **values: object) -> None:
        session = _name(session)
        with self.writing() as base:
            self._know(session)
            given = ", ".join(f"{name} = ?" for name in values)
            base.execute(f"update session set {given} where name = ?", (*values.values(), session))  # names of ours

    def _know(self, session: str) -> None:
        self._base.execute("insert or ignore into session (name) values (?)", (session,))


def _plain(text: str) -> str:
    """The text as SQLite can hold it: surrogates for invalid bytes are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _name(session: str) -> str:
    """The name without what looks like a credential; two that differ only in that stay different."""
    masked = _plain(redact(session))
    if masked == session:
        return session
    return f"{masked}#{hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
