"""What was last seen of living sessions, once a second: kept for their records, at little cost."""

from __future__ import annotations

import json
from typing import Any, Iterable, Sequence

from attrs import frozen

from stallkit.core.redact import redact, redact_all
from stallkit.database import Database

__all__ = ["SIGHTS", "Sight", "Sights"]

VERDICTS = 5  # of a session: the last ones that differ
SIGHTS = """
create table if not exists sight (
    session text primary key, lines text not null, verdicts text not null, at real not null
);
"""


@frozen
class Sight:
    """What the last look at a session showed, redacted."""

    lines: tuple[str, ...]
    verdicts: tuple[dict[str, Any], ...]  # the last ones that differ in state, kind or signature, oldest first
    at: float  # seconds of the wall clock


class Sights:
    """The sights, in a database of their own connection, which does not wait for the disk."""

    def __init__(self, base: Database) -> None:
        self._base = base
        self._shown: dict[str, tuple[Sequence[str], str]] = {}  # so that what did not change is not redacted again

    def keep(self, looks: Iterable[tuple[str, Sequence[str], dict[str, Any] | None, float]]) -> None:
        """Write down looks at living sessions: id, lines, verdict, when; of any other id nothing is kept."""
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
        self._shown = {id: shown for id, shown in self._shown.items() if id in alive}

    def of(self, id: str) -> Sight | None:
        """What was last seen of it; None of one that has ended, or was not looked at yet."""
        with self._base.reading() as base:
            row = base.execute("select * from sight where session = ?", (id,)).fetchone()
        if row is None:
            return None
        return Sight(tuple(json.loads(row["lines"])), tuple(json.loads(row["verdicts"])), row["at"])

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def _masked(self, id: str, lines: Sequence[str]) -> str:
        before = self._shown.get(id)
        if before is None or before[0] != lines:
            # Together: a secret may begin on one line and end on another.
            before = self._shown[id] = (lines, json.dumps(redact("\n".join(lines)).split("\n")))
        return before[1]


def _added(known: list[dict[str, Any]], verdict: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The verdicts with one more; one that says the same as the last takes its place."""
    if verdict is None:
        return known
    last = known[-1] if known else {}
    alike = known and all(last.get(key) == verdict.get(key) for key in ("state", "kind", "signature"))
    return [*(known[:-1] if alike else known), redact_all(verdict)][-VERDICTS:]
