"""Exceptions that a person granted to a gate outside the sandbox: one refused operation each, for a limited time.

A waiver names what it lets through exactly: a commit by its whole id, a content by its hash, or one rule of the gate at
one path (``rule:generic-api-key:tests/data.json``); there are no patterns.  It holds for the gate that it names, until
it expires or is taken back.  What is granted, taken back, and used is audited; what cannot be audited is not granted.
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import Callable

from attrs import frozen

from stallkit.database import Database
from stallkit.errors import StallkitError
from stallkit.redact.redact import redact
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Who

GATE = "push"  # of a waiver that names none
LONGEST_S = 30 * 86_400.0
_HASH = re.compile(r"(?:sha256:)?((?:[0-9a-f]{40}|[0-9a-f]{64}))")
_RULE = re.compile(r"rule:([A-Za-z0-9][\w.-]{0,99}):([^\x00-\x1f\x7f*?\[]{1,1000})")
_GATE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

_STEPS = (
    """
create table if not exists waiver (
    id integer primary key autoincrement, subject text not null, gate text not null, why text not null,
    by text not null, through text not null, granted real not null, expires real not null,
    item integer, revoked real
);
create index if not exists waiver_of on waiver (subject, gate)
""",
)


@frozen
class Waiver:
    """One exception; times are seconds of the wall clock."""

    id: int
    subject: str
    gate: str
    why: str
    by: str
    through: str
    granted: float
    expires: float
    item: int | None = None  # of the queue: what was asked
    revoked: float | None = None


def subject_of(text: str) -> str:
    """What a waiver is for, as it is kept.  Raises ValueError for what is not exactly one thing.

    >>> subject_of("sha256:" + "0F" * 32)[:11]
    '0f0f0f0f0f0'
    """
    found = _HASH.fullmatch(text.strip().lower())
    if found is not None:
        return found[1]
    rule = _RULE.fullmatch(text)
    if (
        rule is not None
        and rule[2] == rule[2].strip()
        and not rule[2].startswith("/")
        and ".." not in rule[2].split("/")
    ):
        return text
    raise ValueError(
        "it is the whole id of a commit (40 or 64 hexadecimal digits), the SHA-256 of a content, or rule:NAME:PATH"
        " with one path below the repository, without patterns"
    )


def holds(waiver: Waiver, subject: str, gate: str, now: float) -> bool:
    """Whether it lets that through now.  A clock that stands before the grant lets nothing through."""
    same = (waiver.subject, waiver.gate) == (subject, gate)
    return same and waiver.revoked is None and waiver.granted <= now < waiver.expires


class Waivers(Database):
    """What was granted, by number."""

    def __init__(self, path: Path, audit: AuditLog, *, now: Callable[[], float] = time.time) -> None:
        """Open or make it; raises StoreError.  `now` is the wall clock, in seconds."""
        super().__init__(path, "waivers", _STEPS)
        self._audit, self._now = audit, now

    def grant(
        self, subject: str, who: Who, why: str, seconds: float, gate: str = GATE, item: int | None = None
    ) -> Waiver:
        """Let it through from now on for so long.

        Raises ValueError for a subject that is not exactly one thing, no reason, or a time that is too long; StoreError
        if it cannot be kept or audited.
        """
        subject = subject_of(subject)
        if not why.strip():
            raise ValueError("say why: it is audited")
        if not 0 < seconds <= LONGEST_S:
            raise ValueError(f"a waiver holds for more than 0 and at most {LONGEST_S / 86_400:.0f} days")
        if not _GATE.fullmatch(gate):
            raise ValueError(f"{gate!r} is no name of a gate: lower case letters, digits, - and _")
        now = self._now()
        why = redact(why)
        row = (subject, gate, why, who.name, who.through, now, now + seconds, item)
        with self.writing() as base:
            done = base.execute(
                "insert into waiver (subject, gate, why, by, through, granted, expires, item)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            assert done.lastrowid is not None  # an insert has one
            waiver = Waiver(done.lastrowid, *row)
            self._tell("waiver_granted", waiver, who, why=why, item=item)  # within: what is not audited is not kept
        return waiver

    def revoke(self, id: int, who: Who) -> Waiver:
        """Take it back.  Raises StallkitError if there is none of that number, StoreError."""
        with self.writing() as base:
            base.execute("update waiver set revoked = ? where id = ? and revoked is null", (self._now(), id))
            row = base.execute("select * from waiver where id = ?", (id,)).fetchone()
            if row is None:
                raise StallkitError(
                    "no waiver", str(id), "there is no waiver of that number", "see: stallkit sandbox waivers"
                )
            waiver = Waiver(**dict(row))
            self._tell("waiver_revoked", waiver, who)
        return waiver

    def waived(self, subject: str, who: Who, gate: str = GATE) -> Waiver | None:
        """The waiver that lets it through at this gate now; None: there is none, it is refused.

        That it was used is audited first.  Raises ValueError, StoreError: a gate must take both for a refusal.
        """
        subject, now = subject_of(subject), self._now()
        with self.reading() as base:
            rows = base.execute(
                "select * from waiver where subject = ? and gate = ? order by id desc", (subject, gate)
            ).fetchall()
        given = (Waiver(**dict(row)) for row in rows)
        found = next((one for one in given if holds(one, subject, gate, now)), None)
        if found is not None:
            self._tell("waiver_used", found, who)
        return found

    def all(self, over: bool = False) -> list[Waiver]:
        """Those that hold now, the oldest first; with `over` also those that no longer do."""
        now = self._now()
        with self.reading() as base:
            found = [Waiver(**dict(row)) for row in base.execute("select * from waiver order by id").fetchall()]
        return [one for one in found if over or holds(one, one.subject, one.gate, now)]

    def _tell(self, event: str, waiver: Waiver, who: Who, **more: object) -> None:
        expires = datetime.fromtimestamp(waiver.expires).astimezone().isoformat(timespec="seconds")
        facts = {"waiver": waiver.id, "subject": waiver.subject, "gate": waiver.gate, "expires": expires}
        self._audit.append({"event": event, **facts, "by": who.name, "through": who.through, **more})
