"""A changed manifest, before anything is done: what is proposed, whether it may be, and the person's yes or no.

A person writes the change; what an agent asks for is shown beside it and never applied by itself.  Both answers are
audited before they have an effect.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

from attrs import frozen
from stallkit_sessions.manifest import read_manifest

from stallkit.errors import ConfigError, StallkitError
from stallkit.terminal.text import escaped
from stallkit_operator.answering import Answered, decline_item
from stallkit_operator.item import Item, Source, Who
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.sandbox.rebuild_rows import Rebuilding, RebuildRows
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes

__all__ = ["Proposal", "approve", "edited", "propose", "reject", "to_edit"]

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
        """The lines of the shapes that differ; none where nothing does."""
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
            why = f"a rebuild goes on with the same {key}, {getattr(before, key)!r}"
            raise ConfigError(path, why, "put it back, or start another sandbox", part=key)
    if after.repository is None:
        why = "its manifest names no repository, so its work could not be pushed before the teardown"
        raise StallkitError("rebuild", sandbox.name, why, "start it with one: stallkit start --manifest FILE --replace")
    return Proposal(sandbox, text, item)


def approve(sandboxes: Sandboxes, proposal: Proposal, by: str, why: str, audit: Audit) -> Rebuilding:
    """Note that a person wants it; `rebuild.Runner` carries it out.

    Raises StallkitError where a rebuild is under way, or the manifest is another one by now; StoreError where it cannot
    be audited or noted: then nothing is done.
    """
    now = sandboxes.get(proposal.sandbox.name)
    if now.version != proposal.sandbox.version:
        raise StallkitError("rebuild", now.name, f"its manifest is version {now.version} by now", "look at that one")
    rows = RebuildRows(sandboxes)
    if rows.unfinished(now.name) is not None:
        raise StallkitError(
            "rebuild", now.name, "one is under way", f"go on with it: stallkit stuck rebuild {now.name}"
        )
    audit(_event("manifest_approved", proposal, by, why))
    return rows.begin(now, proposal.text, by, why, proposal.item)


def reject(queue: Queue, proposal: Proposal, who: Who, why: str, audit: Audit) -> Answered | None:
    """A person's no: what asked for it gets the reason.  None where nothing asked.  Raises StoreError."""
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
