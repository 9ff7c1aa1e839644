"""What one look at a tmux pane asks for, and how the answer is read.  Pure: formats in, snapshots out.

`tmux` asks it of one pane, `fleet` of all: a pane has one snapshot, whoever took it.
"""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from stallkit.core.screen import Screen, join_wraps
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.transports.tmux.identity import FIELDS, Identity

__all__ = [
    "DRAWN",
    "FORMAT",
    "HELD",
    "PRESSED",
    "fields_of",
    "identity_of",
    "line_of",
    "screen_of",
    "snapshot_of",
    "wraps",
]

DRAWN = (
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "pane_width",
    "pane_height",
)  # a screen, beside its text
_SHOWN = (*DRAWN, "history_size")
_TAKES_KEYS = ("pane_dead", "pane_in_mode", "pane_synchronized")
PRESSED = "@stallkit_pressed"  # a pane option of our own: which screen was last pressed at, and when
_NUMBERS = (*FIELDS, *_SHOWN, *_TAKES_KEYS, "pane_dead_status", "keypad_cursor_flag", "pane_tty", PRESSED)
HELD = (*FIELDS, *_SHOWN, *_TAKES_KEYS, PRESSED, "pane_current_command")  # from the look to the press
FORMAT = ",".join(f"#{{{name}}}" for name in _NUMBERS)  # one line; what may hold any character is asked for beside it


def fields_of(line: str) -> dict[str, str]:
    """The fields of a line in `FORMAT`.  Raises ValueError for any other line."""
    values = line.split(",")[: len(_NUMBERS)]
    if len(values) < len(_NUMBERS) or not values[_NUMBERS.index("pane_pid")]:
        raise ValueError(f"tmux answered {line[:80]!r}")
    return dict(zip(_NUMBERS, values, strict=True))


def identity_of(fields: Mapping[str, str]) -> Identity:
    """Which pane it is, and which process in it.  Raises ValueError for numbers that are none."""
    return Identity.of(" ".join([fields[name] for name in FIELDS]))


def screen_of(fields: Mapping[str, str], title: str, lines: Sequence[str]) -> Screen:
    """The screen in the two captures of a look: its rows as the pane has them, then the same with wrapped rows joined.

    Raises ValueError for numbers that are none.
    """
    width, height = int(fields["pane_width"]), int(fields["pane_height"])
    rows, joined = lines[:height], lines[height:]
    cursor = (int(fields["cursor_x"]), int(fields["cursor_y"]))
    wrapped = wraps(rows, joined)
    if any(wrapped):
        rows, cursor = join_wraps(rows, wrapped, cursor)
    return Screen.from_text(
        "\n".join(rows),
        cursor=cursor,
        size=(width, height),
        cursor_visible=fields["cursor_flag"] == "1",
        title=title,
        alternate=fields["alternate_on"] == "1",
    )


def snapshot_of(fields: Mapping[str, str], screen: Screen, target: str, taken_at: float) -> Snapshot:
    """One look as a value, from its fields and `pane_current_command` among them; the kernel was not asked yet.

    Raises ValueError for numbers that are none.
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
        pressed_at=_pressed_at(fields[PRESSED], screen),
        target=target,
        identity=str(identity),
    )


def line_of(rows: Sequence[str], cursor_row: int) -> dict[str, str]:
    """A pattern for the cursor's row that has no character special to a format, and the first row that it finds.

    tmux counts rows from 1.  What is no ASCII letter, digit or blank is any character: a format cannot hold it.
    """
    line = re.sub(r"[^\x00-\x7f]+", ".*", re.sub(r"[^\w ]", ".", rows[cursor_row].rstrip(), flags=re.ASCII))
    pattern = f"^{line.replace('_', '.')} *$"
    found = next((number for number, row in enumerate(rows) if re.fullmatch(pattern[1:-1], row.rstrip())), cursor_row)
    return {"line": pattern, "line_at": str(found + 1)}


def wraps(rows: Sequence[str], joined: Sequence[str]) -> list[bool]:
    """Of each row whether it goes on in the next, told from the same rows as tmux joined them."""
    if len(joined) == len(rows):
        return [False] * len(rows)
    wraps: list[bool] = []
    lines = iter(joined)
    sofar, line = "", next(lines, "")
    for row in rows:
        sofar += row
        ends = sofar.rstrip() == line.rstrip()
        wraps.append(not ends)
        if ends:
            sofar, line = "", next(lines, "")
        elif not line.startswith(sofar):
            return [False] * len(rows)  # not the same moment: better unjoined than joined wrongly
    return [*wraps[:-1], False]


def _pressed_at(noted: str, screen: Screen) -> float | None:
    """When a key was last pressed at this very screen, by whichever process: the monotonic clock is the machine's."""
    if not noted:
        return None
    fingerprint, _, at = noted.partition("-")
    return float(at) if fingerprint == screen.fingerprint else None
