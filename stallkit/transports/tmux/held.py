"""The condition that a pane is as it was looked at: every row of its screen, as tmux's own server compares it.  Pure.

``#{C/r:PATTERN}`` is the number of the first row that matches, counted from 1, or 0; tmux takes a row without the
blanks at its end.  So a row's whole text, each character literal, has a number that changes as soon as the row does.
Of rows alike only the first has one.  A change of the others is told by the second of the window's latest output, once
that second is over, if no other pane has a part in it; and by `Held.differs`, outside of the server.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from attrs import frozen

from stallkit.transports.tmux.format import HELD, HISTORY, Frame, fields_of, lines_of, look_commands

__all__ = ["Held", "complete", "held_look", "held_parts"]

_ACTIVITY = ("window_panes", "window_activity")  # the second of the wall clock with the latest output of any pane

_OF_PATTERNS = frozenset(r".^$*+?()[]{}|\\")
_OF_FORMATS = frozenset("#,}")


def held_look(pane: str, frame: Frame) -> list[list[str]]:
    """The commands of a look that says what is held."""
    history = ["capture-pane", "-p", "-t", pane, *HISTORY]
    look = look_commands(pane, frame, ",".join(f"#{{{name}}}" for name in _ACTIVITY))
    return [*look, frame.end, ["capture-pane", "-p", "-t", pane, "-e", "-N"], frame.end, history, frame.end]


def complete(answer: str, frame: Frame) -> bool:
    """Whether an answer to `held_look` has come whole."""
    return frame.complete(answer, 3)


def held_parts(answer: str, frame: Frame) -> tuple[dict[str, str], str, list[str], list[str], list[str]]:
    """The fields, the title, the lines, the rows with their colours, and those above, in an answer to `held_look`.

    Raises ValueError for another one.
    """
    numbers, command, title, activity, captured, styled, history = frame.parts(answer)
    fields = fields_of(numbers) | {"pane_current_command": command}
    fields |= dict(zip(_ACTIVITY, activity.split(","), strict=True))
    return fields, title, lines_of(captured), lines_of(styled), lines_of(history)


@frozen
class Held:
    """What has to be the same from a look to a press: these fields, and all rows as tmux captured them."""

    fields: Mapping[str, str]
    rows: tuple[str, ...]

    @classmethod
    def of(cls, fields: Mapping[str, str], lines: Sequence[str]) -> Held:
        """From the fields and the lines of a look.  Raises ValueError where there are fewer rows than the pane has."""
        height = int(fields["pane_height"])
        if len(lines) < height:
            raise ValueError(f"tmux answered {len(lines)} lines for a screen of {height}")
        names = (*_ACTIVITY, *HELD) if fields["window_panes"] == "1" else HELD
        return cls({name: fields[name] for name in names}, tuple([line.rstrip(" ") for line in lines[:height]]))

    def differs(self, now: Held) -> str | None:
        """The first thing that is different now, for a person; None where nothing is."""
        for name, value in self.fields.items():
            if value != now.fields.get(name):
                return f"it changed since it was looked at: {name.removeprefix('@stallkit_')}"
        row = next((number for number, (a, b) in enumerate(zip(self.rows, now.rows, strict=False)) if a != b), None)
        return None if row is None else f"it changed since it was looked at: row {row + 1}"

    def active_for(self, now: float) -> float:
        """Seconds, one at most, until the second of the latest output is over; `now` is on the wall clock."""
        activity = self.fields.get("window_activity")
        return 0.0 if activity is None else min(max(0.0, int(activity) + 1 - now), 1.0)

    @property
    def condition(self) -> str:
        """The condition as a format: one equality of all, since tmux 3.1c reads formats ten levels deep."""
        first: dict[str, int] = {}
        for number, row in enumerate(self.rows, 1):
            first.setdefault(row, number)
        names = [f"#{{{name}}}" for name in self.fields]
        rows = [f"#{{C/r:^{_pattern(row)}$}}" for row in first]
        values = [_escaped(value) for value in self.fields.values()]
        return f"#{{==:{' '.join([*rows, *names])},{' '.join([*map(str, first.values()), *values])}}}"


def _pattern(row: str) -> str:
    """A row as an extended regular expression, inside a format."""
    return "".join([("\\" if char in _OF_PATTERNS else "") + _escaped(char) for char in row])


def _escaped(value: str) -> str:
    """A value as a tmux format compares it literally."""
    return "".join([f"#{char}" if char in _OF_FORMATS else char for char in value])
