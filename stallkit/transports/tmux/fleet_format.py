"""The commands of one look at every pane of a tmux server, and how their answers are read.  Pure.

`format.Frame` separates the parts of an answer.
"""

from __future__ import annotations

import shlex
from typing import Iterable, Iterator, Mapping

from attrs import frozen

from stallkit.evidence.snapshot import Snapshot
from stallkit.transports.tmux.format import (
    DRAWN,
    LOOK,
    PRINTED,
    Frame,
    fields_of,
    identity_of,
    lines_of,
    look_commands,
    screen_of,
    snapshot_of,
)
from stallkit.transports.tmux.identity import Identity

__all__ = ["Listed", "Look", "Row", "Said", "listed", "looks", "to_list", "to_look"]

_PLACE = ("#{window_index},#{pane_index}", "#{session_name}")
_ANY = "%ANY"  # stands for a pane
_PARTS = len(LOOK) + len(_PLACE)  # of the line of one pane; the captures follow it

Said = tuple[str, ...]  # the parts of one line


@frozen
class Row:
    """One pane of a server: its process, and when its window last had output."""

    name: str  # "session:window.pane", for people
    session: str
    window: int
    index: int
    identity: Identity
    activity: int  # seconds of the server's wall clock
    dead: bool
    tty: str  # the path of its terminal

    @property
    def pane(self) -> str:
        """Its number: "%3"."""
        return self.identity.pane

    @property
    def target(self) -> str:
        """Its own target: "tmux:%3"."""
        return f"tmux:{self.pane}"


@frozen
class Listed:
    """A row, and what tmux reports of the pane except its place: equal while nothing is printed, pressed or resized."""

    row: Row
    state: Said


@frozen
class Look:
    """One look at a pane, and its state as in a list of the same moment."""

    snapshot: Snapshot
    state: Said
    activity: int
    drawn_from: Said  # all values that the screen was made from


def to_list(frame: Frame) -> list[str]:
    """The words of the call that lists every pane."""
    return ["list-panes", "-a", "-F", frame.line(*LOOK, *_PLACE), ";", *frame.end]


def to_look(panes: Iterable[str], frame: Frame) -> str:
    """The commands that look at these panes, one a line; a server carries them all out at one moment."""
    # No word has a quote in it.
    one = "".join([f"{shlex.join(command)}\n" for command in look_commands(_ANY, frame, *_PLACE)])
    return "".join([*[one.replace(_ANY, pane) for pane in panes], f"{shlex.join(frame.end)}\n"])


def listed(answer: str, frame: Frame, before: Mapping[Said, Listed]) -> dict[Said, Listed]:
    """Every pane in the answer to `to_list`; a pane with the same line as `before` is taken from there.

    Raises ValueError for an answer that was cut, or is invalid.
    """
    return {parts: before.get(parts) or _listed(parts) for parts, _ in _panes(answer, frame)}


def looks(answer: str, frame: Frame, taken_at: float, before: Mapping[str, Look]) -> dict[str, Look | ValueError]:
    """The looks in the answer to `to_look`, by pane, or why one cannot be read; missing panes are left out.

    A screen made from the same values as before is the same object.  Raises ValueError for an answer that was cut.
    """
    found: dict[str, Look | ValueError] = {}
    for parts, captured in _panes(answer, frame):
        _, _, pane, pid, *_ = [*parts[0].split(","), "", "", "", ""]
        if not pid:  # there is no such pane, which display-message does not report
            continue
        try:
            found[pane] = _look(parts, captured, taken_at, before.get(pane))
        except ValueError as error:
            found[pane] = error
    return found


def _panes(answer: str, frame: Frame) -> Iterator[tuple[Said, str]]:
    """The line of each pane, and what follows it."""
    parts = frame.parts(answer)
    if len(parts) % (_PARTS + 1):
        raise ValueError(f"tmux answered {len(parts)} parts")
    for start in range(0, len(parts), _PARTS + 1):
        yield tuple(parts[start : start + _PARTS]), parts[start + _PARTS]


def _listed(parts: Said) -> Listed:
    numbers, _, _, place, session = parts
    window, index = map(int, place.split(","))
    fields = fields_of(numbers)
    row = Row(
        name=f"{session}:{window}.{index}",
        session=session,
        window=window,
        index=index,
        identity=identity_of(fields),
        activity=int(fields[PRINTED]),
        dead=fields["pane_dead"] == "1",
        tty=fields["pane_tty"],
    )
    return Listed(row, _state(parts))


def _look(parts: Said, captured: str, taken_at: float, before: Look | None) -> Look:
    numbers, command, title, *_ = parts
    fields = fields_of(numbers) | {"pane_current_command": command}
    drawn_from = (captured, title, *[fields[name] for name in DRAWN])
    if before is not None and before.drawn_from == drawn_from:
        screen = before.snapshot.screen
    else:
        lines = lines_of(captured)
        rows = int(fields["pane_height"])
        if not rows < len(lines) <= 2 * rows:
            raise ValueError(f"tmux answered {len(lines)} lines for a screen of {rows}")
        screen = screen_of(fields, title, lines)
    snapshot = snapshot_of(fields, screen, f"tmux:{fields['pane_id']}", taken_at)
    return Look(snapshot, _state(parts), int(fields[PRINTED]), drawn_from)


def _state(parts: Said) -> Said:
    """The part that a list and a look share: a window may be in several sessions, and have another name in each."""
    return parts[: len(LOOK)]
