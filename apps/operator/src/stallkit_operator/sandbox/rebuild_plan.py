"""A rebuild before and while it is done: the decision, the steps in order, what each failure leads to, the reports.

A person writes the change of a manifest; what an agent asks for is shown beside it and never applied on its own.  Both
answers, yes and no, are audited before they have an effect.

Until the teardown a failure ends the rebuild, and the sandbox goes on as it was.  After it the rebuild always comes to
an end of two: the replacement runs, or, if that cannot be started, the sandbox as it was is started again.  What is
interrupted in between goes on where it stopped: one row a step is written before the step begins.
"""

from __future__ import annotations

import json
import sqlite3
import time
from enum import StrEnum
from typing import Any, Callable, Mapping, Sequence

from attrs import field, frozen
from stallkit_sessions.manifest import GIVEN, SOCKET_PLACE, read_manifest

from stallkit.errors import ConfigError, StallkitError, StoreError
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped
from stallkit_operator.answering import Answered, decline_item
from stallkit_operator.item import Item, Source, Who
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes

# --- the steps ---


class Step(StrEnum):
    """One step; its row is written before it begins."""

    SNAPSHOT = "snapshot"  # the work tree as a commit of ours
    PUSH = "push"  # to the repository that was recorded when the sandbox was registered
    READ_BACK = "read back"  # fetched from there into an empty repository, and compared
    TEARDOWN = "teardown"  # exit record first, then its program, pane and container
    LATEST = "latest"  # what it wrote between the snapshot and its end
    TRANSCRIPT = "transcript"
    RESTORE = "restore"  # what is missing in the work tree
    HAND_OFF = "hand-off"
    START = "start"  # the changed manifest is noted, and the replacement started
    SET_GOING = "set going"  # the agent is told to go on, if its command line did not say so
    COMMENT = "comment"  # on the pull request
    REPLY = "reply"  # what asked for it is answered
    FALL_BACK = "fall back"  # the sandbox as it was is started again


class StepState(StrEnum):
    """How far a step is."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


class Leads(StrEnum):
    """What the failure of a step leads to."""

    END = "end"  # nothing was torn down: the sandbox goes on as it was
    GO_ON = "go on"  # it was worth a try
    AGAIN = "again"  # the rebuild waits, and begins with this step when it goes on
    FALL_BACK = "fall back"


class Outcome(StrEnum):
    """How a rebuild ended."""

    REPLACED = "replaced"
    AS_IT_WAS = "as it was"


ORDER = tuple(step for step in Step if step is not Step.FALL_BACK)
LEADS = {  # what the failure of each step leads to
    Step.SNAPSHOT: Leads.END,
    Step.PUSH: Leads.END,
    Step.READ_BACK: Leads.END,
    Step.TEARDOWN: Leads.END,  # where it failed the sandbox still runs; else it is done
    Step.LATEST: Leads.GO_ON,  # the work tree still has it
    Step.TRANSCRIPT: Leads.GO_ON,
    Step.RESTORE: Leads.AGAIN,
    Step.HAND_OFF: Leads.AGAIN,
    Step.START: Leads.FALL_BACK,
    Step.SET_GOING: Leads.GO_ON,
    Step.COMMENT: Leads.GO_ON,
    Step.REPLY: Leads.GO_ON,
    Step.FALL_BACK: Leads.AGAIN,
}


def next_step(rows: Mapping[Step, StepState]) -> Step | None:
    """The step that must be done, from the rows that were written; None if it is over.

    One that was begun is done again: each leaves alone what it finds done.  A comment is not: better none than two.

    >>> next_step({Step.SNAPSHOT: StepState.DONE, Step.PUSH: StepState.BEGUN})
    <Step.PUSH: 'push'>
    >>> next_step({Step.SNAPSHOT: StepState.FAILED}) is None
    True
    """
    for step in ORDER:
        state = rows.get(step)
        if state is StepState.DONE or (step is Step.COMMENT and state is StepState.BEGUN):
            continue
        if state is not StepState.FAILED:
            return step
        match LEADS[step]:
            case Leads.END:
                return None
            case Leads.AGAIN:
                return step
            case Leads.FALL_BACK:
                return None if rows.get(Step.FALL_BACK) is StepState.DONE else Step.FALL_BACK
    return None


def outcome(rows: Mapping[Step, StepState]) -> Outcome | None:
    """How it ended; None if it has not."""
    if next_step(rows) is not None:
        return None
    return Outcome.REPLACED if rows.get(Step.START) is StepState.DONE else Outcome.AS_IT_WAS


# --- their rows on disk ---


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

    def begin(
        self, sandbox: Sandbox, text: str, by: str, why: str, item: Item | None, audit: Callable[[], object]
    ) -> Rebuilding:
        """Note what was approved, once it is audited.  Raises StallkitError if a rebuild of it is under way."""
        asked = (None, None) if item is None else (item.id, item.words)
        values = (sandbox.name, *asked, sandbox.session or "", sandbox.version, text, by, why, time.time())
        try:
            with self.file.writing() as base:
                done = base.execute(
                    "insert into rebuild (sandbox, item, asked, old_session, old_version, text, by, why, at)"
                    " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
                audit()  # within: what is not audited is not noted
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                todo = f"go on with it: stallkit sandbox rebuild {sandbox.name}"
                raise StallkitError("rebuild", sandbox.name, "one is under way", todo) from error
            raise
        assert done.lastrowid is not None  # an insert has one
        return Rebuilding(done.lastrowid, *values)

    def unfinished(self, name: str) -> Rebuilding | None:
        """The rebuild of that sandbox that has not ended."""
        with self.file.reading() as base:
            row = base.execute("select * from rebuild where sandbox = ? and outcome is null", (name,)).fetchone()
        return None if row is None else Rebuilding(**dict(row))

    def note(self, id: int, step: Step, state: StepState, facts: Mapping[str, Any] | None = None) -> None:
        """Write the row of a step; facts that it had are kept where none are given."""
        told = None if facts is None else json.dumps(facts)
        with self.file.writing() as base:
            base.execute(
                "insert into rebuild_step values (?, ?, ?, ?, coalesce(?, '{}')) on conflict (rebuild, step) do update"
                " set state = excluded.state, at = excluded.at, facts = coalesce(?, facts)",
                (id, step, state, time.time(), told, told),
            )

    def rows(self, id: int) -> dict[Step, StepState]:
        """How far each step is."""
        with self.file.reading() as base:
            found = base.execute("select step, state from rebuild_step where rebuild = ?", (id,)).fetchall()
        return {Step(row["step"]): StepState(row["state"]) for row in found}

    def facts(self, id: int, step: Step) -> dict[str, Any]:
        """What a step left to know; empty if it left nothing."""
        with self.file.reading() as base:
            query = "select facts from rebuild_step where rebuild = ? and step = ?"
            row = base.execute(query, (id, step)).fetchone()
        return {} if row is None else dict(json.loads(row["facts"]))

    def finish(self, id: int, outcome: str, told: str) -> None:
        """Note how it ended."""
        with self.file.writing() as base:
            base.execute("update rebuild set outcome = ?, told = ? where id = ?", (outcome, told, id))


# --- the decision ---

_MARK = "#> "  # before the lines that are no part of the manifest
_SAME = ("name", "directory", "branch", "repository")  # it goes on with the same work
Audit = Callable[[Mapping[str, Any]], object]  # writes one event, or raises StoreError


@frozen
class Proposal:
    """A manifest that may take the place of a sandbox's present one."""

    sandbox: Sandbox
    text: str
    item: Item | None = None  # what asked for it

    @property
    def diff(self) -> list[str]:
        """The lines of the shapes that differ; none if nothing does."""
        return shape_diff(self.sandbox.latest.text, self.text).splitlines()[2:]


def to_edit(sandbox: Sandbox, item: Item | None) -> str:
    """What a person's editor is given: the manifest, below what was asked."""
    asked = item.words.splitlines() if item is not None else []
    head = [
        f"The manifest of sandbox {sandbox.name}, version {sandbox.version}. Lines with {_MARK.strip()} are left out."
    ]
    if asked:
        head += [f"Number {item.id if item else ''} asks:", *(f"    {line}" for line in asked)]
    return "\n".join([*(_MARK + escaped(line) for line in head), sandbox.latest.text])


def edited(text: str) -> str:
    """The manifest in what comes back from the editor."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_MARK.strip()))


def propose(sandbox: Sandbox, text: str, item: Item | None = None, path: str = "") -> Proposal:
    """It, once it is a manifest of the same sandbox with the same work.  Raises ConfigError, StallkitError."""
    path = path or f"manifest {sandbox.name}"
    before, after = sandbox.manifest, read_manifest(text, path)
    for key in _SAME:
        if getattr(before, key) != getattr(after, key):
            why = f"a rebuild keeps its {key}, {getattr(before, key)!r}"
            raise ConfigError(path, why, "put it back, or start another sandbox", part=key)
    if after.repository is None:
        why = "its manifest names no repository, so its work could not be pushed before the teardown"
        raise StallkitError("rebuild", sandbox.name, why, "start it with one: stallkit start --manifest FILE --replace")
    return Proposal(sandbox, text, item)


def approve(sandboxes: Sandboxes, proposal: Proposal, by: str, why: str, audit: Audit) -> Rebuilding:
    """Note that a person wants it; `rebuild.Runner` carries it out.

    Raises StallkitError if a rebuild is under way, or the manifest has changed; StoreError if it cannot
    be audited or noted: then nothing is done.
    """
    now = sandboxes.get(proposal.sandbox.name)
    if now.version != proposal.sandbox.version:
        raise StallkitError("rebuild", now.name, f"its manifest is version {now.version} by now", "look at that one")
    event = _event("manifest_approved", proposal, by, why)
    return RebuildRows(sandboxes).begin(now, proposal.text, by, why, proposal.item, lambda: audit(event))


def reject(queue: Queue, proposal: Proposal, who: Who, why: str, audit: Audit) -> Answered | None:
    """A person's no: what asked for it gets the reason.  None if nothing asked.  Raises StoreError."""
    audit(_event("manifest_rejected", proposal, who.name, why))
    return None if proposal.item is None else decline_item(queue, proposal.item.id, why, who, proposal.item.revision)


def _event(name: str, proposal: Proposal, by: str, why: str) -> dict[str, Any]:
    sandbox, item = proposal.sandbox, proposal.item
    return {
        "event": name,
        "sandbox": sandbox.name,
        "manifest": sandbox.version,
        "by": by,
        "why": why,
        "item": item.id if item is not None else None,
        "asked": item.words if item is not None and item.source is Source.AGENT else None,
        "diff": shape_diff(sandbox.latest.text, proposal.text, "manifest"),
    }


# --- what the replacement and the pull request are told ---

GO_ON = f"Your sandbox was rebuilt. Read {GIVEN}/hand-off.md first, then go on with the work."  # said to the agent

_FORGES = {
    "gh": ["gh", "pr", "comment", "{pull_request}", "--repo", "{repository}", "--body", "{text}"],
    "tea": ["tea", "comment", "--repo", "{slug}", "{pull_request}", "{text}"],
}


def hand_off(
    rebuilding: Rebuilding, diff: Sequence[str], items: Sequence[Item], transcript: bool, commit: str, failed: str = ""
) -> str:
    """The file for the agent; `items` are the notices of the sandbox before, the oldest first.

    `failed` is why the replacement did not start, if the agent is in the sandbox as it was.
    """
    lines = [f"# You go on with the work of sandbox {rebuilding.sandbox}", ""]
    if failed:
        lines += [f"It was to be rebuilt, by {rebuilding.by}: {rebuilding.why}"]
        lines += [f"That failed, and it was started again as it was: {failed}"]
    else:
        lines += [f"The sandbox before you was replaced, by {rebuilding.by}: {rebuilding.why}"]
    lines += [f"The work tree is as it was left; what it was is also in commit {commit[:12]}."]
    if transcript:
        lines += [f"What the agent before you did is in {GIVEN}/transcript (read-only)."]
    lines += ["", f"## What {'was to change' if failed else 'changed'} in the sandbox", ""]
    lines += [f"    {line}" for line in diff or ["nothing"]]
    for item in items:
        lines += ["", f"## Asked as number {item.id}", "", *(f"    {line}" for line in item.words.splitlines()), ""]
        if item.text is not None:
            lines += [f"Answer ({item.state}):", "", *(f"    {line}" for line in item.text.splitlines())]
        elif item.id == rebuilding.item and not failed:
            lines += [f"Answer: this sandbox was rebuilt for it. {rebuilding.why}"]
        else:
            lines += [f"It has no answer yet: ask again with {SOCKET_PLACE}/stuck, if it still matters."]
    return "\n".join([*lines, ""])


def comment_of(rebuilding: Rebuilding, diff: Sequence[str], commit: str, ref: str) -> str:
    """The comment on the pull request; secrets in it are masked."""
    changed = "\n".join(f"    {line}" for line in diff) or "    nothing"
    return redact(
        f"Sandbox {rebuilding.sandbox} was rebuilt by {rebuilding.by}: {rebuilding.why}\n\n"
        f"The work before it is in {ref}, commit {commit[:12]}. Changes of its manifest:\n\n{changed}\n"
    )


def comment_words(command: Sequence[str], repository: str, pull_request: int, text: str) -> list[str]:
    """The command that comments: the one that is given, or that of a forge's own client by its name alone.

    >>> comment_words(["tea"], "ssh://git@git.example/acme/web.git", 17, "done")
    ['tea', 'comment', '--repo', 'acme/web', '17', 'done']
    """
    words = _FORGES.get(command[0], list(command)) if len(command) == 1 else list(command)
    path = repository.removesuffix("/").removesuffix(".git").replace(":", "/").split("/")
    given = {"pull_request": str(pull_request), "repository": repository, "slug": "/".join(path[-2:]), "text": text}
    return [given.get(word[1:-1], word) if word[:1] == "{" else word for word in words]
