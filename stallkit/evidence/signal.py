"""What a program says of itself outside its screen: a signal, as a value.

A signal never presses a key.  It says what the session does; the prompt that is answered has to be on the screen.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Mapping, Sequence

from attrs import field, frozen

from stallkit.detect.signature import Kind, State
from stallkit.json_form import NEWER


class Guard(StrEnum):
    """What keeps somebody else from saying it in the program's place."""

    PROCESS = "process"  # a file or a socket outside the terminal, of a process of this session by pid and start time
    NAMED = "named"  # the session's own output, under the name of the program in its foreground
    NONE = "none"  # the session's own output: whatever prints there can say it


@frozen
class Signal:
    """What one program says that it does; times are seconds before the look that read it, None if unknown.

    `fields` has the same names as `Verdict.request`: ``command``, ``tool``, ``path``, ``question``, ``address``.  Its
    texts and `words` are the program's own, without control characters, and not redacted; JSON holds them redacted.

    >>> Signal("acme", State.WAITING, Kind.PERMISSION, app="acme", guard=Guard.PROCESS).counts
    True
    """

    source: str  # the name of what read it: a source, osc7501, title
    state: State | None = None  # None: a reason to look at once, as a bell is, and no more
    kind: Kind | None = None
    app: str | None = None  # the program that says it, by its own name
    words: str = ""  # one line: what is asked, or how it failed
    fields: Mapping[str, str] = field(factory=dict, hash=False)
    error: str | None = None  # the class of a failure, such as rate_limit or authentication_failed
    since_s: float | None = None  # how long it has been in this state
    age_s: float | None = None  # how long ago it was last said
    guard: Guard = Guard.NONE
    pid: int | None = None  # of the process that says it
    session: str | None = None  # the id by which its program goes on with this session later
    stale: str | None = None  # why it counts for nothing
    menus: bool = field(default=True, metadata=NEWER)  # whether its source would say that a menu or a dialog is open

    @property
    def says(self) -> tuple[str | None, ...]:
        """What it says, without when it said so."""
        return (self.source, self.state, self.kind, self.words, self.stale)

    @property
    def counts(self) -> bool:
        """Whether it says what the session does now."""
        return self.state is not None and self.stale is None

    @property
    def told(self) -> str:
        """It in words, for a person: who says what, by which way, and how long ago."""
        kind = f" ({self.kind})" if self.kind else ""
        says = f"{self.state}{kind}" if self.state else "look"
        verb = "claims" if self.guard is Guard.NONE else "says"
        age = "" if self.age_s is None else f", {self.age_s:.0f} s ago"
        words = f": {self.words}" if self.words else ""
        return f"{self.app or 'the program'} {verb} {says}{words} [{self.source}{age}]"


_GUARDS = (Guard.NONE, Guard.NAMED, Guard.PROCESS)
_STATES = (State.IDLE, State.WORKING, State.WAITING)  # who waits needs a person, whatever its other parts do


def decisive(signals: Sequence[Signal]) -> Signal | None:
    """The signal that decides: the best guarded, of those the one that waits, of those the latest; or None."""
    return max((signal for signal in signals if signal.counts), key=_rank, default=None)


def _rank(signal: Signal) -> tuple[int, int, float]:
    place = _STATES.index(signal.state) if signal.state in _STATES else -1
    return _GUARDS.index(signal.guard), place, -(signal.age_s or 0.0)
