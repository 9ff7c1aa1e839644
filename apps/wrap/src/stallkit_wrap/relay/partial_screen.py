"""The screen of a stream of which parts may be missing: after a gap it is unknown, until what follows determines it.

Two emulators that begin differently show the same once nothing depends on what came before the gap: a flood of text
determines the screen as soon as it has filled it.
"""

from __future__ import annotations

from typing import Callable

from stallkit.terminal.screen import Screen
from stallkit.transports.emulator import Emulator, GhosttyEmulator

__all__ = ["PartialScreen"]

_ABORT = b"\x18"  # CAN: the gap may have cut a sequence
_LAST_ROW = b"\x1b[9999;1H"
_FILLED = b"\x1b#8\x1b[1;1H"  # DECALN: letters in every cell


class PartialScreen:
    """The screen of what was fed; `columns` and `rows` in cells.  Raises as the emulator does."""

    def __init__(self, columns: int, rows: int, emulator: Callable[[int, int], Emulator] = GhosttyEmulator) -> None:
        self._make, self._size = emulator, (columns, rows)
        self._first = emulator(columns, rows)
        self._other: Emulator | None = None  # since the last gap, as long as it differs

    def feed(self, data: bytes) -> None:
        """Take output."""
        for one in filter(None, (self._first, self._other)):
            one.feed(data)
            one.replies()  # the terminal outside has answered already

    def gap(self) -> None:
        """Output was lost here."""
        self._first, self._other = self._make(*self._size), self._make(*self._size)
        self._first.feed(_ABORT + _LAST_ROW)
        self._other.feed(_ABORT + _FILLED)

    def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size."""
        self._size = columns, rows
        for one in filter(None, (self._first, self._other)):
            one.resize(columns, rows)

    def screen(self) -> Screen | None:
        """What is shown now; None where it may be otherwise, because of what was lost."""
        shown = self._first.screen()
        if self._other is not None:
            if self._other.screen() != shown:
                return None
            self._other = None
        return shown
