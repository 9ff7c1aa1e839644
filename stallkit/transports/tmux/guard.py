"""The condition that a pane is as it was looked at: every row of its screen, as tmux's own server compares it.  Pure.

``#{C/r:PATTERN}`` is the number of the first row that matches, counted from 1, or 0; tmux takes a row without the
blanks at its end.  So a row's whole text, each character literal, has a number that changes as soon as the row does.
Of rows alike only the first has one.  A change of the others is told by the second of the window's latest output, once
that second is over, if no other pane has a part in it; and by `PaneGuard.differs`, outside of the server.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Mapping, Sequence

from attrs import evolve, field, frozen

from stallkit.terminal.text import strip
from stallkit.transports.tmux.format import HELD, Frame, fields_of, lines_of, look_commands

MOVING_ROWS = 4  # at most: a spinner with its counter, a bullet that blinks, a tip that gives way to another
_ACTIVITY = ("window_panes", "window_activity")  # the second of the wall clock with the latest output of any pane

_CURSOR = {"cursor_x", "cursor_y"}

_OF_PATTERNS = frozenset(r".^$*+?()[]{}|\\")
_OF_FORMATS = frozenset("#,}")


def guarded_look(pane: str, frame: Frame) -> list[list[str]]:
    """The commands of a look that says what is held."""
    return [*look_commands(pane, frame, ",".join(f"#{{{name}}}" for name in _ACTIVITY)), frame.end]


def complete(answer: str, frame: Frame) -> bool:
    """Whether an answer to `guarded_look` has come whole."""
    return frame.complete(answer, 1)


def guarded_parts(answer: str, frame: Frame) -> tuple[dict[str, str], str, list[str]]:
    """The fields, the title and the lines in an answer to `guarded_look`.  Raises ValueError for another one."""
    numbers, command, title, activity, captured = frame.parts(answer)
    fields = fields_of(numbers) | {"pane_current_command": command}
    fields |= dict(zip(_ACTIVITY, activity.split(","), strict=True))
    return fields, title, lines_of(captured)


@frozen
class PaneGuard:
    """What has to be the same from a look to a press: these fields, and all rows as tmux captured them.

    Of rows that move, by their number from 0, only what they begin and end with is held; of those above `first`
    nothing is.
    """

    fields: Mapping[str, str]
    rows: tuple[str, ...]
    first: int = 0
    moving: Mapping[int, tuple[str, str]] = field(factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, str], lines: Sequence[str]) -> PaneGuard:
        """From the fields and the lines of a look.  Raises ValueError if there are fewer rows than the pane has."""
        height = int(fields["pane_height"])
        if len(lines) < height:
            raise ValueError(f"tmux answered {len(lines)} lines for a screen of {height}")
        names = (*_ACTIVITY, *HELD) if fields["window_panes"] == "1" else HELD
        return cls({name: fields[name] for name in names}, tuple([strip(line).rstrip(" ") for line in lines[:height]]))

    def without_moves(self, earlier: PaneGuard) -> PaneGuard:
        """It without what moved since an earlier look: of such rows only what both looks have in common is held.

        So is the cursor where it stood still, and everything else.  Raises ValueError if more than `MOVING_ROWS`
        moved, or what must never move.
        """
        moved = {name for name, value in self.fields.items() if value != earlier.fields.get(name)} - set(_ACTIVITY)
        if fixed := moved - _CURSOR:
            raise ValueError(f"it changed between two looks: {min(fixed).removeprefix('@stallkit_')}")
        pairs = enumerate(zip(earlier.rows, self.rows, strict=True))
        moving = {number: _in_common(before, now) for number, (before, now) in pairs if before != now}
        if len(moving) > MOVING_ROWS:
            raise ValueError(f"{len(moving)} of its rows move: that is more than a spinner")
        kept = {name: value for name, value in self.fields.items() if name not in moved | set(_ACTIVITY)}
        return evolve(self, fields=kept, moving=moving)

    def below(self, first: int) -> PaneGuard:
        """It without what stands above a row, nor where a hidden cursor is, nor when there was output."""
        free = {*_ACTIVITY, "history_size", *(_CURSOR if self.fields["cursor_flag"] == "0" else ())}
        kept = {name: value for name, value in self.fields.items() if name not in free}
        return evolve(self, fields=kept, first=first)

    def differs(self, now: PaneGuard) -> str | None:
        """The first thing that is different now, for a person; None if nothing is."""
        for name, value in self.fields.items():
            if value != now.fields.get(name):
                return f"it changed since it was looked at: {name.removeprefix('@stallkit_')}"
        rows = enumerate(zip(self.rows, now.rows, strict=False))
        row = next((number for number, (a, b) in rows if a != b and not self._may_be(number, b)), None)
        return None if row is None else f"it changed since it was looked at: row {row + 1}"

    def active_for(self, now: float) -> float:
        """Seconds, one at most, until the second of the latest output is over; `now` is on the wall clock."""
        activity = self.fields.get("window_activity")
        return 0.0 if activity is None else min(max(0.0, int(activity) + 1 - now), 1.0)

    def _may_be(self, number: int, row: str) -> bool:
        """Whether a row that moves may be this one now."""
        begins, ends = self.moving.get(number, (row, ""))
        if number < self.first:
            return True
        moves = number in self.moving
        return moves and len(row) >= len(begins) + len(ends) and row.startswith(begins) and row.endswith(ends)

    @property
    def condition(self) -> str:
        """The condition as a format: one equality of all, since tmux 3.1c reads formats ten levels deep."""
        first: dict[str, int] = {}
        for number, row in enumerate(self.rows, 1):
            if number - 1 not in self.moving:
                first.setdefault(f"^{_pattern(row)}$", number)
        for number, (begins, ends) in self.moving.items():
            alike = re.compile(f"{re.escape(begins)}.*{re.escape(ends)}")
            # Of rows alike tmux finds the first.
            if (begins or ends) and next(at for at, row in enumerate(self.rows) if alike.fullmatch(row)) == number:
                first[f"^{_pattern(begins)}.*{_pattern(ends)}$"] = number + 1
        first = {pattern: at for pattern, at in first.items() if at > self.first}  # of rows alike tmux finds the first
        names = [f"#{{{name}}}" for name in self.fields]
        rows = [f"#{{C/r:{pattern}}}" for pattern in first]
        values = [_escaped(value) for value in self.fields.values()]
        return f"#{{==:{' '.join([*rows, *names])},{' '.join([*map(str, first.values()), *values])}}}"


def _in_common(before: str, now: str) -> tuple[str, str]:
    """What two rows begin with, and what the rest of both ends with."""
    begins = _begin_alike(before, now)
    rest = (row[len(begins) :][::-1] for row in (before, now))
    return begins, _begin_alike(*rest)[::-1]


def _begin_alike(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _pattern(row: str) -> str:
    """A row as an extended regular expression, inside a format."""
    return "".join([("\\" if char in _OF_PATTERNS else "") + _escaped(char) for char in row])


def _escaped(value: str) -> str:
    """A value as a tmux format compares it literally."""
    return "".join([f"#{char}" if char in _OF_FORMATS else char for char in value])
