"""Colour for the lines of a check."""

from __future__ import annotations

import os
from typing import IO, Sequence

__all__ = ["painted", "shows_colours"]

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {"stalled": 33, "asks": 33, "maybe": 33, "failed": 31, "hung": 31, "ended": 31}  # yellow, red
_GREEN = 32


def shows_colours(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal that is to show colours, as far as the environment says."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def painted(lines: Sequence[str], status: str) -> list[str]:
    """The lines with the status of the first in colour, and the reasons dim."""
    if not lines:
        return []
    word = f"{_BOLD}\x1b[{_COLOURS.get(status, _GREEN)}m{status}{_PLAIN}"
    first, *reasons = lines
    return [first.replace(f": {status} (", f": {word} (", 1), *(f"{_DIM}{line}{_PLAIN}" for line in reasons)]
