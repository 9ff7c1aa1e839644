"""What a person may ask of the gate, and how a press ended, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from attrs import field, frozen

from stallkit.detect.engine import Match
from stallkit.evidence.snapshot import Snapshot
from stallkit.json_form import json_form
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys

__all__ = ["Answer", "End", "Forced", "Outcome", "Pick"]


class End(StrEnum):
    """How a press ended."""

    CLEARED = "cleared"  # the prompt went away
    REPLACED = "replaced"  # by another prompt
    UNCHANGED = "unchanged"  # it is still there
    GONE = "gone"  # the session has ended
    REFUSED = "refused"  # nothing was pressed
    UNKNOWN = "unknown"  # perhaps pressed; the effect could not be seen


@frozen
class Outcome:
    """The outcome of a press; true where the answered prompt is no longer there.

    A false outcome may have pressed a key as well: see `pressed`.

    >>> outcome = Outcome(End.REFUSED, "the screen changed between two looks")
    >>> bool(outcome), outcome.pressed
    (False, False)
    """

    end: End
    why: str
    keys: Keys | None = None  # the keys that were pressed, once; None: none were
    match: Match | None = None  # of the prompt that replaced the answered one
    after: Snapshot | None = field(default=None, eq=False)  # the look that shows it

    __repr__ = short_repr("end", "why", "match")  # without its keys: they may be a secret

    def __bool__(self) -> bool:
        return self.end in (End.CLEARED, End.REPLACED)

    @property
    def pressed(self) -> bool:
        """Whether a key was sent, or may have been."""
        return self.keys is not None


@json_form(Outcome)
@frozen
class OutcomeJson:
    """How a press ended."""

    end: End
    keys: str | None
    why: str

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        return cls(outcome.end, str(outcome.keys) if outcome.keys is not None else None, outcome.why)

    @property
    def value(self) -> Outcome:
        return Outcome(self.end, self.why, None if self.keys is None else Keys.parse(self.keys))


@frozen
class Answer:
    """Keys that a person gives; `text` where they type text, `secret` where that must not be shown."""

    keys: Keys
    text: bool = False
    secret: bool = False


@frozen
class Pick:
    """An option that a person chooses, by its label; several: these are ticked, no other, and then sent."""

    option: str | tuple[str, ...]


@frozen
class Forced:
    """Keys that a person wants pressed, whatever the session shows."""

    keys: Keys
