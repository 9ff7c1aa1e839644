"""Events on their way out: each is written into the register with the change it reports, and from there to the logs.

So kill -9 loses none, and the database refuses a second one of those that happen only once.  One process at a time
writes them out, in order, each once.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator, Protocol

from attrs import frozen

from stallkit import private
from stallkit.errors import StallkitError, StoreError
from stallkit.redact.redact import redact_all

__all__ = ["FINAL", "OutEvent", "drain", "pending", "put", "written"]

FINAL = frozenset({"session_stopped", "session_crashed", "session_drop"})  # one of them, once, ends a session
LOCK_S = 2.0  # for a process that is writing events out: a stopped one must not delay others
SCHEMA = """
create table if not exists event (
    number integer primary key, id text not null unique, session text, name text not null, target text not null,
    directory text, facts text not null, at real not null, written integer not null default 0
);
create unique index if not exists one_end on event (session)
    where name in ('session_stopped', 'session_crashed', 'session_drop');
create unique index if not exists once on event (session, name) where session is not null;
create index if not exists unwritten on event (number) where not written;
"""


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


class _Register(Protocol):
    """The part of a register that `drain` needs."""

    @property
    def path(self) -> Path: ...

    def pending(self) -> list[OutEvent]: ...

    def written(self, id: str) -> None: ...


def put(
    base: sqlite3.Connection,
    name: str,
    facts: dict[str, Any],
    session: str | None = None,
    target: str = "",
    directory: str | None = None,
) -> bool:
    """Add an event in the open transaction; False where that session already has it, or an end."""
    done = base.execute(
        "insert or ignore into event (id, session, name, target, directory, facts, at) values (?, ?, ?, ?, ?, ?, ?)",
        (
            secrets.token_hex(8),
            session,
            name,
            target,
            None if directory is None else json.dumps(directory),  # it need not be UTF-8
            json.dumps(redact_all(facts)),
            time.time(),
        ),
    )
    return done.rowcount == 1


def pending(base: sqlite3.Connection) -> list[OutEvent]:
    """The pending events, oldest first."""
    return [
        OutEvent(
            id=row["id"],
            name=row["name"],
            session=row["session"],
            target=row["target"],
            directory=None if row["directory"] is None else json.loads(row["directory"]),
            facts=json.loads(row["facts"]),
            at=row["at"],
        )
        for row in base.execute("select * from event where not written order by number").fetchall()
    ]


def written(base: sqlite3.Connection, id: str) -> None:
    """Note that the logs hold it."""
    base.execute("update event set written = 1 where id = ?", (id,))


def drain(register: _Register, write: Callable[[OutEvent], None], lock_s: float = LOCK_S) -> int:
    """Write out the pending events, oldest first, and return how many are left.

    One process at a time does so; another waits `lock_s` seconds at most.  `write` must check whether the log has the
    event's id, since a process may have been killed after its write.  Where it raises a StallkitError or an OSError,
    the event stays, and so do the later ones of its session: their order is kept.
    Raises StoreError where the register cannot be read or written.
    """
    if not register.pending():
        return 0
    with _alone(register.path.with_name(register.path.name + ".outbox"), lock_s) as alone:
        if alone:
            stuck: set[str | None] = set()
            for event in register.pending():
                if event.session is not None and event.session in stuck:
                    continue
                try:
                    write(event)
                except (StallkitError, OSError):
                    stuck.add(event.session)
                else:
                    register.written(event.id)
    return len(register.pending())


@contextmanager
def _alone(path: Path, lock_s: float) -> Iterator[bool]:
    """Whether this process got the lock; the kernel releases it when the process is killed."""
    try:
        handle = private.opened(path, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise StoreError("register", str(path), error.strerror or str(error), "check that it can be written") from error
    try:
        deadline = time.monotonic() + lock_s
        got = False
        while not got:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                got = True
            if not got:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.005)
        yield got
    finally:
        os.close(handle)
