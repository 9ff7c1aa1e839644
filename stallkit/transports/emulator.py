"""From a terminal's bytes to its screen: the `Emulator` protocol, and its implementation with libghostty-vt.

A raw stream is not a screen: programs move the cursor, scroll regions and switch to the alternate screen.  The library
was chosen by a comparison with tmux on recorded bytes (docs/embedding.md).
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Protocol

from stallkit.errors import TransportUnavailable, bad_argument
from stallkit.terminal.screen import Screen, join_wraps
from stallkit.terminal.text import cells, strip

MAX_SIDE = 2_000  # cells; a wall of screens has fewer, and a mistyped size must not fill the memory
# Lines.  Below about 1,500, libghostty takes a new page for every line that scrolls, and is 15 times as slow; above, it
# reuses one page: under 1 MB a session, whatever the number (measured with 0.1.3).
SCROLLBACK = 5_000
MAX_REPLIES = 65_536  # bytes: a program that asks and never reads must not fill the memory

# The replies that go back: device status, cursor position, device attributes, modes, keyboard flags (ECMA-48 8.3.35 and
# xterm's ctlseqs).  Numbers alone: a shown file can make a terminal reply, and the next program reads that as typed, so
# no reply holds text, names a colour or tells whether a file exists.
_HARMLESS = re.compile(rb"\x1b\[[?>]?[0-9;]{0,32}(?:[nRcu]|\$y)")

_PALETTE = re.compile(rb"(?:\x1b\]4;[^\x1b]*\x1b\\)*")  # the colours of a palette, before the rows


class Emulator(Protocol):
    """A terminal without a window: bytes go in, a screen comes out.  Any bytes are valid, and none make it raise."""

    def feed(self, data: bytes) -> None:
        """Take what the program wrote, cut anywhere."""

    def screen(self) -> Screen:
        """What is shown now; wrapped rows are joined by the terminal's own flags, and the cursor is moved with them."""

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, in cells; raises ValueError for an invalid one."""

    def replies(self) -> bytes:
        """The terminal's replies to the program since the last call, such as the cursor's position."""

    @property
    def application_cursor(self) -> bool:
        """Whether the program asked for the other form of the arrow keys (DECCKM)."""


class GhosttyEmulator:
    """libghostty-vt, through pyghostty: it replies to the program's queries, as a terminal does."""

    def __init__(self, columns: int, rows: int) -> None:
        """An empty screen.  Raises ValueError for an invalid size, TransportUnavailable if pyghostty is missing."""
        checked_size((columns, rows))
        try:
            self._core: Any = import_module("pyghostty.core")
        except (ImportError, OSError) as error:
            why = f"it does not load: {error}"
            raise TransportUnavailable("emulator", "pyghostty", why, "pip install pyghostty") from error
        self._terminal = self._core.Terminal(columns, rows, scrollback=SCROLLBACK)
        self._replies = bytearray()
        self._terminal.on_reply(self._reply)
        ffi = self._core.ffi
        grid_ref = "GhosttyResult(*)(GhosttyTerminal, GhosttyPointS, GhosttyGridRef*)"
        self._grid_ref = self._core.union_fn("ghostty_terminal_grid_ref", grid_ref)
        self._point, self._ref = ffi.new("GhosttyPointS*"), self._core.init_sized("GhosttyGridRef")
        self._point.tag = self._core.lib.GHOSTTY_POINT_TAG_ACTIVE
        self._row, self._cell, self._flag = ffi.new("GhosttyRow*"), ffi.new("GhosttyCell*"), ffi.new("bool*")
        self._wide, self._character = ffi.new("GhosttyCellWide*"), ffi.new("uint32_t*")

    def feed(self, data: bytes) -> None:
        self._terminal.feed(data)

    def screen(self) -> Screen:
        columns, count = self._terminal.size
        column, row = self._terminal.cursor
        rows = self._text(columns, count).split("\r\n")
        rows += [""] * (count - len(rows))  # libghostty leaves out blank rows at the end
        wrapped = [self._wraps(number) for number in range(count)]
        if self._terminal.get("cursor_pending_wrap", "bool"):
            column += 1  # the cursor is after the last cell, as in tmux
        if not strip(rows[row]).isascii():
            column = sum(self._width(cell, row) for cell in range(column))
        lines, cursor = join_wraps(rows, wrapped, (column, row))
        return Screen.from_text(
            "\n".join(lines),
            cursor=cursor,
            size=(columns, count),
            cursor_visible=bool(self._terminal.get("cursor_visible", "bool")),
            title=self._title(),
            alternate=bool(self._terminal.get("active_screen", "int")),
        )

    def resize(self, columns: int, rows: int) -> None:
        checked_size((columns, rows))
        self._terminal.resize(columns, rows)

    def replies(self) -> bytes:
        replies = bytes(self._replies)
        self._replies.clear()
        return replies

    @property
    def application_cursor(self) -> bool:
        return bool(self._terminal.mode(1))

    def _reply(self, data: bytes) -> None:
        if len(self._replies) < MAX_REPLIES:
            self._replies += b"".join(_HARMLESS.findall(data))

    def _text(self, columns: int, rows: int) -> str:
        """The rows with their colours; blanks at a row's end that were never written are left out."""
        ffi, lib = self._core.ffi, self._core.lib
        selection = self._core.init_sized("GhosttySelection")
        selection.start, selection.end = self._terminal.ref(0, 0)[0], self._terminal.ref(columns - 1, rows - 1)[0]
        options = self._core.init_sized("GhosttyTerminalSelectionFormatOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
        options.unwrap, options.trim, options.selection = False, False, selection
        handle, length = self._terminal._t[0], ffi.new("size_t*")
        lib.ghostty_terminal_selection_format_buf(handle, options[0], ffi.NULL, 0, length)
        buffer = ffi.new("uint8_t[]", max(length[0], 1))
        written = lib.ghostty_terminal_selection_format_buf(handle, options[0], buffer, len(buffer), length)
        self._core.check(written, "format")
        return _PALETTE.sub(b"", bytes(ffi.buffer(buffer, length[0])), count=1).decode("utf-8", "replace")

    def _at(self, column: int, row: int) -> Any:
        self._point.value.x, self._point.value.y = column, row
        self._core.check(self._grid_ref(self._terminal._t[0], self._point[0], self._ref), "cell")
        return self._ref

    def _wraps(self, number: int) -> bool:
        lib = self._core.lib
        self._core.check(lib.ghostty_grid_ref_row(self._at(0, number), self._row), "row")
        self._core.check(lib.ghostty_row_get(self._row[0], lib.GHOSTTY_ROW_DATA_WRAP, self._flag), "wrap")
        return bool(self._flag[0])

    def _width(self, column: int, row: int) -> int:
        """How many columns a cell takes as the core counts them, since libraries disagree on some characters."""
        lib = self._core.lib
        self._core.check(lib.ghostty_grid_ref_cell(self._at(column, row), self._cell), "cell")
        self._core.check(lib.ghostty_cell_get(self._cell[0], lib.GHOSTTY_CELL_DATA_WIDE, self._wide), "width")
        if self._wide[0] in (lib.GHOSTTY_CELL_WIDE_SPACER_TAIL, lib.GHOSTTY_CELL_WIDE_SPACER_HEAD):
            return 0
        self._core.check(lib.ghostty_cell_get(self._cell[0], lib.GHOSTTY_CELL_DATA_CODEPOINT, self._character), "text")
        return cells(chr(self._character[0] or ord(" ")))

    def _title(self) -> str | None:
        title = self._terminal.get("title", "GhosttyString")
        return bytes(self._core.ffi.buffer(title.ptr, title.len)).decode("utf-8", "replace") if title.len else None


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """The size of a terminal, (columns, rows) in cells.  Raises TypeError for no size, ValueError for a bad one."""
    if not isinstance(size, tuple | list) or len(size) != 2 or not all(isinstance(one, int) for one in size):
        raise bad_argument("a size is (columns, rows)", size, "write such as (80, 24)")
    columns, rows = size
    if not (1 <= columns <= MAX_SIDE and 1 <= rows <= MAX_SIDE):
        raise ValueError(f"a terminal has 1 to {MAX_SIDE} columns and rows, not {columns}x{rows}")
    return columns, rows
