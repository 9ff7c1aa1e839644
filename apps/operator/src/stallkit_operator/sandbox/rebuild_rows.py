"""The rows of rebuilds on disk: who approved which manifest, and one row a step, written before the step begins."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Mapping

from attrs import field, frozen

from stallkit.errors import StallkitError, StoreError
from stallkit_operator.item import Item
from stallkit_operator.sandbox.rebuild_plan import Step, StepState
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes

__all__ = ["RebuildRows", "Rebuilding"]


@frozen
class Rebuilding:
    """One rebuild, as it was approved."""

    id: int
    sandbox: str
    item: int | None  # of the queue: what asked for it
    asked: str | None  # its words, as the person saw them
    old_session: str  # the id of the session that is replaced
    old_version: int
    text: str = field(repr=False)  # the manifest of the replacement
    by: str
    why: str
    at: float
    outcome: str | None = None
    told: str | None = None  # why it ended so


@frozen
class RebuildRows:
    """Over the file of the sandboxes.  Failures raise StoreError."""

    file: Sandboxes

    def begin(self, sandbox: Sandbox, text: str, by: str, why: str, item: Item | None = None) -> Rebuilding:
        """Note what was approved.  Raises StallkitError where a rebuild of it is under way."""
        asked = (None, None) if item is None else (item.id, item.words)
        values = (sandbox.name, *asked, sandbox.session or "", sandbox.version, text, by, why, self.file.now())
        try:
            with self.file.writing() as base:
                done = base.execute(
                    "insert into rebuild (sandbox, item, asked, old_session, old_version, text, by, why, at)"
                    " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                todo = f"go on with it: stallkit stuck rebuild {sandbox.name}"
                raise StallkitError("rebuild", sandbox.name, "one is under way", todo) from error
            raise
        found = self.get(int(done.lastrowid or 0))
        assert found is not None  # it was just written
        return found

    def get(self, id: int) -> Rebuilding | None:
        """The rebuild of that number."""
        with self.file.reading() as base:
            return _of(base.execute("select * from rebuild where id = ?", (id,)).fetchone())

    def unfinished(self, name: str) -> Rebuilding | None:
        """The rebuild of that sandbox that has not ended."""
        with self.file.reading() as base:
            query = "select * from rebuild where sandbox = ? and outcome is null"
            return _of(base.execute(query, (name,)).fetchone())

    def note(self, id: int, step: Step, state: StepState, facts: Mapping[str, Any] | None = None) -> None:
        """Write the row of a step; facts that it had are kept where none are given."""
        told = None if facts is None else json.dumps(facts)
        with self.file.writing() as base:
            base.execute(
                "insert into rebuild_step values (?, ?, ?, ?, coalesce(?, '{}')) on conflict (rebuild, step) do update"
                " set state = excluded.state, at = excluded.at, facts = coalesce(?, facts)",
                (id, step, state, self.file.now(), told, told),
            )

    def rows(self, id: int) -> dict[Step, StepState]:
        """How far each step is."""
        with self.file.reading() as base:
            found = base.execute("select step, state from rebuild_step where rebuild = ?", (id,)).fetchall()
        return {Step(row["step"]): StepState(row["state"]) for row in found}

    def facts(self, id: int, step: Step) -> dict[str, Any]:
        """What a step left to know; empty where it left nothing."""
        with self.file.reading() as base:
            query = "select facts from rebuild_step where rebuild = ? and step = ?"
            row = base.execute(query, (id, step)).fetchone()
        return {} if row is None else dict(json.loads(row["facts"]))

    def finish(self, id: int, outcome: str, told: str) -> None:
        """Note how it ended."""
        with self.file.writing() as base:
            base.execute("update rebuild set outcome = ?, told = ? where id = ?", (outcome, told, id))

    def latest(self, name: str) -> Rebuilding | None:
        """The last rebuild of that sandbox."""
        with self.file.reading() as base:
            query = "select * from rebuild where sandbox = ? order by id desc limit 1"
            return _of(base.execute(query, (name,)).fetchone())


def _of(row: sqlite3.Row | None) -> Rebuilding | None:
    return None if row is None else Rebuilding(**dict(row))
