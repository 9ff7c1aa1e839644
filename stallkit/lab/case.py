"""A case: one look at one program, and the truth about it."""

from __future__ import annotations

from attrs import evolve, field, frozen

from stallkit.core.signature import Kind, State
from stallkit.core.verdict import Snapshot

__all__ = ["Case", "Label"]


@frozen
class Label:
    """The truth about a case; `dismissable_keys` are a safe way out, not the only right answer.

    `harmful_default`: what a plain Enter takes is known to do harm; False says only that nobody noted it.
    """

    state: State
    kind: Kind | None = None
    dismissable_keys: tuple[str, ...] | None = None
    hard: bool = False
    harmful_default: bool = False


@frozen
class Case:
    """One labelled look at one program."""

    id: str
    program: str
    snapshot: Snapshot
    label: Label
    history: tuple[Snapshot, ...] = field(default=(), repr=False)

    @property
    def screen_only(self) -> Case:
        """The same case with every fact but the screen unknown."""
        bare = Snapshot(screen=self.snapshot.screen)
        return evolve(self, snapshot=bare, history=tuple(Snapshot(screen=look.screen) for look in self.history))
