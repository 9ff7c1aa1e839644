"""The commands of one look at a tmux pane, how the parts of their answer are separated, and how they are read.  Pure.

`pane` looks at one pane, `fleet` at all, `end_facts` at one that ended: all get the same snapshot of a pane.
"""

from __future__ import annotations

import os
import time
from typing import Mapping, Sequence

from attrs import field, frozen

from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.terminal.screen import Screen, join_wraps
from stallkit.terminal.text import painted, strip
from stallkit.transports.tmux.identity import FIELDS, Identity

# A screen, without its text.
DRAWN = ("cursor_x", "cursor_y", "cursor_flag", "alternate_on", "pane_width", "pane_height", "history_size")
_TAKES_KEYS = ("pane_dead", "pane_in_mode", "pane_synchronized", "pane_input_off")
PRINTED = "window_activity"  # when the window last had output, in whole seconds of the wall clock
PRESSED = "@stallkit_pressed"  # our own pane option: the screen that was last pressed at, and when
FOLDER = "@stallkit_folder"  # our own as well: the folder that an operator started its agent in, in hexadecimal
SEALED = "@stallkit_sealed"  # our own: no key goes in, whoever presses it
CLICKS = ("mouse_any_flag", "mouse_sgr_flag")  # its program asked to be told of clicks, in the form of `Keys.click`
_MORE = (FOLDER, SEALED, "pane_dead_status", "keypad_cursor_flag", "pane_tty")
_NUMBERS = (*FIELDS, *DRAWN, *_TAKES_KEYS, *CLICKS, *_MORE, PRINTED, PRESSED)
HELD = (
    *FIELDS,
    *DRAWN,
    *_TAKES_KEYS,
    *CLICKS,
    PRESSED,
    SEALED,
    "pane_current_command",
)  # unchanged from the look to the press
FORMAT = ",".join(f"#{{{name}}}" for name in _NUMBERS)
LOOK = (FORMAT, "#{pane_current_command}", "#{pane_title}")  # the last two may hold any character


@frozen
class Frame:
    """Separates the parts of one answer by a mark that is unknown before the call.

    Nothing that a program shows, nor its name or title, is ever taken for another part, and an answer that was cut is
    noticed.
    """

    mark: str = field(factory=lambda: os.urandom(16).hex())

    def line(self, *formats: str) -> str:
        """One format in which each of these is a part; the output after it, from the line's end on, is one more."""
        return self.mark + self.mark.join(formats) + self.mark

    @property
    def end(self) -> list[str]:
        """The command that ends a part; it is the last of every call."""
        return ["display-message", "-p", self.mark]

    def complete(self, answer: str, more: int) -> bool:
        """Whether an answer to the commands of one look, with so many parts more, has come whole."""
        return answer.count(self.mark) == len(LOOK) + more + 2 and answer.endswith("\n")

    def parts(self, answer: str) -> list[str]:
        """The parts of a whole answer, in order.  Raises ValueError for one that was cut, or is invalid."""
        first, *parts = answer.split(self.mark)
        if first or not parts or parts.pop() != "\n":
            raise ValueError(f"tmux answered {first[:80]!r}, and {len(parts)} parts")
        return parts


def look_commands(pane: str, frame: Frame, *more: str) -> list[list[str]]:
    """The commands of one look, before `Frame.end`.

    Parts: `FORMAT`, `pane_current_command`, `pane_title`, one for each of `more`, and the two captures as one.
    """
    at = ["-p", "-t", pane]
    return [
        ["display-message", *at, frame.line(*LOOK, *more)],
        ["capture-pane", *at, "-e", "-N"],
        ["capture-pane", *at, "-J"],
    ]


def lines_of(captured: str) -> list[str]:
    """The lines of a captured part, which begins with the end of the previous line; the first capture has colours."""
    return captured.split("\n")[1:-1]


def fields_of(line: str) -> dict[str, str]:
    """The fields of a line in `FORMAT`.  Raises ValueError for any other line."""
    values = line.split(",")[: len(_NUMBERS)]
    if len(values) < len(_NUMBERS) or not values[_NUMBERS.index("pane_pid")]:
        raise ValueError(f"tmux answered {line[:80]!r}")
    return dict(zip(_NUMBERS, values, strict=True))


def identity_of(fields: Mapping[str, str]) -> Identity:
    """The pane, and the process in it.  Raises ValueError for invalid numbers."""
    return Identity.of(" ".join([fields[name] for name in FIELDS]))


def screen_of(fields: Mapping[str, str], title: str, lines: Sequence[str]) -> Screen:
    """The screen in the two captures of a look: its rows as in the pane, then the same with wrapped rows joined.

    Raises ValueError for invalid numbers.
    """
    width, height = int(fields["pane_width"]), int(fields["pane_height"])
    rows, joined = lines[:height], lines[height:]
    cursor = (int(fields["cursor_x"]), int(fields["cursor_y"]))
    wrapped = wraps(list(map(strip, rows)), joined)
    if any(wrapped):
        rows, cursor = join_wraps(rows, wrapped, cursor)
    alternate = fields["alternate_on"] == "1"
    return Screen.from_text(
        painted("\n".join(rows)),
        cursor=cursor,
        size=(width, height),
        cursor_visible=fields["cursor_flag"] == "1",
        title=title,
        alternate=alternate,
    )


def snapshot_of(fields: Mapping[str, str], screen: Screen, target: str, taken_at: float) -> Snapshot:
    """One look as a value, from its fields with `pane_current_command`; without kernel facts.

    Raises ValueError for invalid numbers.
    """
    identity, dead = identity_of(fields), fields["pane_dead"] == "1"
    status = fields["pane_dead_status"]
    return Snapshot(
        screen=screen,
        taken_at=taken_at,
        alive=not dead,
        exit_status=int(status) if dead and status else None,
        process=ProcessFacts(fields["pane_current_command"] or None, identity.pid),
        accepts_keys=all([fields[name] in ("", "0") for name in _TAKES_KEYS]),
        printed_at=float(fields[PRINTED]) + 1 if fields[PRINTED] else None,
        sealed=bool(fields[SEALED]),
        pressed_at=_pressed_at(fields[PRESSED], screen),
        started_in=_folder(fields[FOLDER]),
        target=target,
        identity=str(identity),
    )


def wraps(rows: Sequence[str], joined: Sequence[str]) -> list[bool]:
    """Whether each row continues in the next one, found by comparing them with the rows as tmux joined them."""
    if len(joined) == len(rows):
        return [False] * len(rows)
    wraps: list[bool] = []
    lines = iter(joined)
    joining, line = "", next(lines, "")
    for row in rows:
        joining += row
        ends = joining.rstrip() == line.rstrip()
        wraps.append(not ends)
        if ends:
            joining, line = "", next(lines, "")
        elif not line.startswith(joining):
            return [False] * len(rows)  # not the same moment: better unjoined than joined wrongly
    return [*wraps[:-1], False]


def _folder(noted: str) -> str | None:
    """The folder of that option; None if there is none, or somebody else wrote something else there."""
    try:
        return bytes.fromhex(noted).decode("utf-8", "surrogateescape") or None
    except ValueError:
        return None


def _pressed_at(noted: str, screen: Screen) -> float | None:
    """When any process last pressed a key at this same screen: the monotonic clock is the machine's."""
    if not noted:
        return None
    shown, _, at = noted.partition("-")
    first, _, fingerprint = shown.rpartition(":")
    return float(at) if fingerprint == screen.below(int(first or 0)).fingerprint else None


def pressed(screen: Screen, first: int) -> str:
    """What `PRESSED` holds after a press at the rows of a screen from one on."""
    return f"{first}:{screen.below(first).fingerprint}-{time.monotonic()}"
