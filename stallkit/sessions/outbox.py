"""Events on their way out: each is written into the register beside what it tells of, and from there to the logs.

So none is lost by kill -9, and of the events that may happen once a second one cannot be: the database refuses it.
Who writes them out does so alone, in order, and each once.
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

from stallkit.core.redact import redact_all
from stallkit.errors import StallkitError, StoreError

__all__ = ["FINAL", "OutEvent", "drain", "pending", "put", "written"]

FINAL = frozenset({"session_stopped", "session_crashed", "session_drop"})  # one of them, once, ends a session
LOCK_S = 2.0  # for a process that writes events out just now: a stopped one must not delay others
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
    """An event that no log is known to hold yet."""

    id: str  # random: the logs hold it as well, so that one that was written is not written again
    name: str  # session_started, session_ready, start_timeout, incident, or one of FINAL
    session: str | None  # Session.id; None for an incident, which is of several
    target: str  # Session.name
    directory: str | None  # of the session
    facts: dict[str, Any]
    at: float  # seconds of the wall clock, when it happened


class _Register(Protocol):
    """What `drain` needs of a register."""

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
    """Add an event, in the transaction that is open; False where that session has it, or an end, already."""
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
    """What is to be written out, oldest first."""
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
    """Write out what is pending, oldest first, and tell how many events are left.

    One process at a time does so; who finds another at it waits `lock_s` seconds at most.  `write` has to look whether
    the log holds the event's id, since a process may have been killed after its write.  Where it raises a
    StallkitError or an OSError the event stays, and so do the later ones of its session: their order is kept.
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
    """Whether the lock was got, which the kernel takes back from a process that is killed."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            "register", str(path), error.strerror or str(error), "see whether it can be written"
        ) from error
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
