"""What a row on a watched session says: the same words in the live table and in ``stallkit status``."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Mapping, Sequence

from stallkit.terminal.text import cells, cut

__all__ = ["COLOURS", "apart", "middle_cut", "noted", "state_of", "still_s"]

COLOURS = {"waiting": "yellow", "quota": "magenta", "ended": "red", "gone": "red", "unknown": "red", "idle": "cyan"}


def state_of(row: Mapping[str, Any]) -> str:
    """The state in one column: what it does, what it asks for, and a question mark where that is not sure."""
    asks = f": {row['kind']}" if row["kind"] else ""
    return f"{row['state']}{asks}{'?' if row['certainty'] == 'maybe' else ''}"


def still_s(row: Mapping[str, Any], now: float) -> float | None:
    """For how many seconds nothing has changed there; None where that is unknown."""
    since = row.get("still_since")  # an older store has no such note
    return None if since is None else max(0.0, now - datetime.fromisoformat(since).timestamp())


def noted(row: Mapping[str, Any], target: str) -> str:
    """Why it is not as it should be, or what a person is told of; mostly nothing."""
    if row["halted"]:
        return f"halted: {row['halted']}; to go on: stallkit release {target}"
    held = f"held by {row['held']}" if row.get("held") else ""  # an older store has no such note
    why = row["error"] or held or ("waits for a limit" if row["waits_for_quota"] else "")
    needs = row.get("needs")
    if why or not needs or needs["what"] == row["state"].replace("waiting", "waits"):
        return str(why)
    return f"{needs['what']} since {datetime.fromisoformat(needs['since']).astimezone():%H:%M}"


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, each in so many cells, and no two of them alike: the middle of a long one is left out.

    >>> apart(["tmux:build", "tmux:review-of-the-parser-1", "tmux:review-of-the-parser-2"], 16)
    ['tmux:build', 'tmux:re…parser-1', 'tmux:re…parser-2']
    """
    for tail in range(room // 2, room - 2):
        short = [middle_cut(name, room, tail) for name in names]
        if max(Counter(short).values(), default=1) == max(Counter(names).values(), default=1):
            return short
    return list(names)


def middle_cut(name: str, room: int, tail: int) -> str:
    """The name in so many cells, `tail` of them its end: the middle of a long one is left out."""
    if cells(name) <= room:
        return name
    end = name[::-1]
    while cells(end) > tail:
        end = end[:-1]
    return f"{cut(name, room - 1 - cells(end)).rstrip()}…{end[::-1]}"
