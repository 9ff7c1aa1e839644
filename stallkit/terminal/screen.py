"""A screen as a value: its lines, where the cursor is, and the regions that clauses look at."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from itertools import accumulate
from typing import Iterable

from attrs import evolve, field, frozen

from stallkit.errors import bad_argument
from stallkit.short_repr import short_repr
from stallkit.terminal.shades import Shades, read_shades
from stallkit.terminal.text import cells, cut, fold, hides, strip
from stallkit.word_tables import Patterns

MAX_LINES = 200  # the live region where the size is unknown: taller than any terminal in the corpora (50 rows)
MAX_COLUMNS = 8_000  # of one line: a 200x40 screen that is one wrapped line; of longer ones the end is kept
MAX_LINE = 50_000  # characters of one line as it was captured: MAX_COLUMNS with six of control sequences each
MAX_TEXT = 1_000_000  # characters looked at: a screen has at most about 20,000, the rest is scrollback

# What a clause sees of a region, so that a linear pattern ends in time on any machine.
REGION_COLUMNS = 500  # characters of each line; no line of the corpora has more than 200
_LIVE, _QUESTION = 12, 6  # rows at most; rows that a question takes with its options
REGION_TEXT = 20_000  # characters in all; no screen of the corpora has more than 7,000, a full one of 200x50 has 10,050

# What a program fixes to the foot of a tall screen, such as a list of tasks or a status line, stands below a gap and
# takes no keys: no row of it has a mark of a menu or a composer, a frame around anything but ticked rows, or a spinner.
_of = Patterns("prompts")
_FOOT, _GAP = 20, 3  # rows that it takes at most; blank rows above it at least
LITTLE = 3  # rows that move on a screen that is otherwise the same: a spinner, a status line, a clock
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}(?::[0-5]\d){1,2}(?![\d:])")


@frozen
class Size:
    """Columns and rows of a terminal."""

    columns: int
    rows: int


@frozen
class Cursor:
    """The cell of the cursor, 0-based, in logical lines; `visible` is None if it is unknown."""

    column: int
    row: int
    visible: bool | None = None


@frozen
class Region:
    """A run of whole lines of a screen: their text, and the row of the first one."""

    text: str
    row: int

    @property
    def bounded(self) -> Region:
        """What a clause sees of it: of a long line its end, of a long text its lowest lines."""
        lines = [line[-REGION_COLUMNS:] for line in self.text.split("\n")]
        text = "\n".join(lines)
        if len(text) <= REGION_TEXT:
            return Region(text, self.row)
        start = text.index("\n", len(text) - REGION_TEXT - 1) + 1
        return Region(text[start:], self.row + text.count("\n", 0, start))


@frozen
class Screen:
    """What a terminal shows, in plain characters: no control sequences, wrapped rows joined.

    Make one with `from_text`.  Two screens are equal when everything they show is equal.  `hiding` are the rows
    whose text is not what it looks like (`hides`); `shades` is what is known of its colours.

    >>> Screen.from_text("$ make\\nOverwrite? [y/N] ", cursor=(18, 1)).prompt_line.row
    1
    """

    lines: tuple[str, ...] = field(eq=False)
    cursor: Cursor | None = None
    size: Size | None = None
    alternate: bool | None = None
    title: str | None = None
    hiding: frozenset[int] = field(default=frozenset(), eq=False, repr=False)
    shades: Shades = field(factory=Shades, repr=False)
    text: str = field(init=False, repr=False, eq=False)
    _shown: str = field(init=False)  # stands for the lines: one string compares five times as fast

    __repr__ = short_repr("size", "cursor")

    def __attrs_post_init__(self) -> None:
        if isinstance(self.lines, str):
            raise bad_argument("lines is a row each", self.lines, "Screen.from_text makes a screen of a text")
        object.__setattr__(self, "text", "\n".join([line.rstrip() for line in self.lines]))
        object.__setattr__(self, "_shown", "\n".join(self.lines))

    @classmethod
    def from_text(
        cls,
        text: str,
        cursor: tuple[int, int] | None = None,
        size: tuple[int, int] | None = None,
        cursor_visible: bool | None = None,
        title: str | None = None,
        alternate: bool | None = None,
    ) -> Screen:
        """A screen from what a capture printed; any text is valid, with or without escapes, which bring the colours.

        `cursor` is (column, row), `size` is (columns, rows), both 0-based and in cells.  Text taller than the screen
        is cut to its last rows: what has scrolled away is not live.  Raises ValueError for a negative number,
        TypeError for what is no text.

        >>> Screen.from_text("Proceed? [y/N]", cursor=(15, 0)).prompt_line.text
        'Proceed? [y/N] '
        """
        if not isinstance(text, str):
            raise bad_argument("a screen is made of a text", text, _BYTES if isinstance(text, bytes) else "")
        try:
            if min((*(cursor or ()), *(size or ())), default=0) < 0:
                raise ValueError(f"a cursor and a size count from 0, not {cursor} and {size}")
        except TypeError:
            raise TypeError(
                "a cursor is (column, row) and a size (columns, rows), whole numbers, as in (0, 0)"
            ) from None
        raw, left_out = _bounded(text, cursor, size)
        plain = strip(raw)
        lines = fold(plain).removesuffix("\n").split("\n")
        printed = len(lines)
        hiding = [row - len(lines) for row, line in enumerate(plain.split("\n")) if hides(line)] if hides(plain) else []
        lines = lines[-(size[1] or 1) :] if size else lines
        end = len(lines)  # blank rows at the end show nothing, so they do not count
        while end > 1 and not lines[end - 1].strip():
            end -= 1
        first = max(0, end - MAX_LINES) if size is None else 0
        if cursor and end > MAX_LINES:
            first = min(first, cursor[1])
        if cursor and cursor[1] < len(lines):
            left_out += cells(lines[cursor[1]][:-MAX_COLUMNS])
        hiding = [row + len(lines) - first for row in hiding]  # counted from the end until here
        shades = read_shades(raw).moved(len(lines) - first - printed) if "\x1b[" in raw else Shades()
        lines = [line[-MAX_COLUMNS:] for line in lines[first : max(first + MAX_LINES, end)]]
        at = None
        if cursor:  # a character has two columns at most
            at = Cursor(min(max(0, cursor[0] - left_out), 2 * MAX_COLUMNS), cursor[1] - first, cursor_visible)
        return cls(
            lines=tuple(lines),
            cursor=at,
            size=Size(*size) if size else None,
            alternate=alternate,
            title=None if title is None else fold(strip(title)).replace("\n", " "),
            hiding=frozenset(row for row in hiding if row >= 0),
            shades=shades,
        )

    @property
    def whole(self) -> Region:
        """All lines, right-stripped."""
        return Region(self.text, 0)

    @cached_property
    def prompt_line(self) -> Region:
        """The cursor's line up to the cursor, its blanks kept; without a cursor the last line that is not blank."""
        if self.cursor is None:
            row = self.last_live_row
            return Region(self.lines[row] if self.lines else "", row)
        row = self.cursor.row
        line = self.lines[row] if row < len(self.lines) else ""
        return Region(cut(line, self.cursor.column), row)

    def tail(self, count: int) -> Region:
        """The last `count` lines, counted from the last one that is not blank and not fixed to the foot."""
        return self._rows(*self.tail_rows(count))

    def tail_rows(self, count: int) -> tuple[int, int]:
        """The first row of `tail(count)`, and the one after its last."""
        end = self.last_live_row + 1
        return max(0, end - count), end

    @cached_property
    def last_live_row(self) -> int:
        """The last row that is not blank, above what is fixed to the foot of a tall screen and takes no keys.

        >>> Screen.from_text("❯ 1. Yes\\n  2. No\\n\\n\\n\\n  2 tasks\\n  ◻ one\\n  ◻ two").last_live_row
        1
        """
        last = self._last_row
        if self.size is not None and last < self.size.rows - 2:
            return last
        for gap in (_GAP, 1) if self.alternate else (_GAP,):
            foot = self._below_gap(last, gap)
            above = next((row for row in range(foot - 1, -1, -1) if self.lines[row].strip()), None)
            if above is not None and self._is_foot(foot, last, above, near=gap < _GAP):
                return above
        return last

    def _is_foot(self, foot: int, last: int, above: int, near: bool) -> bool:
        """Whether the rows from `foot` to the last take no keys, while those down to `above` do; `near`: no gap."""
        if self.cursor is not None and self.cursor.visible is not False and self.cursor.row >= foot:
            return False
        rows, upper = self.lines[foot : last + 1], self.lines[max(0, above - _FOOT) : above + 1]
        framed = [row for row in rows if _of.drawn.match(row)]
        if any(map(_of.lively.match, rows)) or (framed and not any(map(_of.ticked.match, rows))):
            return False
        keys_below = any(map(_of.keys.search, rows))  # far below, they may be the menu's own
        if near:
            return not keys_below and _of.keys.search(upper[-1]) is not None
        own_keys = any(map(_of.keys.search, upper[-3:]))
        if (keys_below and not own_keys) or _of.writes.match(upper[-1]):
            return False
        return own_keys or any(map(_of.lively.match, upper))

    def down_to_cursor(self, count: int) -> Region | None:
        """The last `count` lines down to the prompt line, blank ones too; None if the cursor is unknown."""
        if self.cursor is None:
            return None
        last = self.prompt_line
        start = max(0, last.row + 1 - count)
        rows = [line.rstrip() for line in self.lines[start : last.row]]
        rows += [""] * (last.row - start - len(rows))  # what is not drawn yet
        return Region("\n".join([*rows, last.text.rstrip()]), start)

    @cached_property
    def above(self) -> Region:
        """The nearest line above the prompt line that is not blank."""
        rows = range(min(self.prompt_line.row, len(self.lines)) - 1, -1, -1)
        row = next((row for row in rows if self.lines[row].strip()), None)
        return Region("", 0) if row is None else self._rows(row, row + 1)

    @cached_property
    def block(self) -> Region:
        """The lines around the selected row of a menu, up and down to a blank one; empty if no row is selected.

        The selected row is the cursor's row if it has a selection mark, else the lowest row that has one.
        """
        marked = [row for row, line in enumerate(self.lines[: self.last_live_row + 1]) if selected(line)]
        if not marked:
            return Region("", 0)
        at_cursor = self.cursor is not None and self.cursor.row in marked
        row = self.cursor.row if self.cursor is not None and at_cursor else marked[-1]
        return self._around(row)

    @cached_property
    def paragraph(self) -> Region:
        """The whole lines around the prompt line, up and down to a blank one; empty if the prompt line is blank."""
        row = self.prompt_line.row
        return self._around(row) if row < len(self.lines) and self.lines[row].strip() else Region("", row)

    @cached_property
    def live(self) -> list[str]:
        """The few rows of what is asked: the paragraph at the prompt, or the menu, and what is above it."""
        region = next((one for one in (self.paragraph, self.block) if one.text), self.tail(_QUESTION))
        rows, at = region.text.split("\n"), self.prompt_line.row - region.row
        end = (at if 0 <= at < len(rows) else len(rows) - 1) + _LIVE // 3
        rows = [row.rstrip() for row in rows[: end + 1][-_LIVE:]]
        above = [row.rstrip() for row in self.lines[: region.row] if row.strip()]
        return [*(above[len(rows) - _QUESTION :] if len(rows) < _QUESTION else ()), *rows]

    @cached_property
    def fits(self) -> bool:
        """Whether every region is within the limits, so that none has to be measured."""
        if len(self.text) > REGION_TEXT or max(len(self.prompt_line.text), len(self.title or "")) > REGION_COLUMNS:
            return False
        return len(self.text) <= REGION_COLUMNS or max(map(len, self.text.split("\n"))) <= REGION_COLUMNS

    def below(self, row: int) -> Screen:
        """The rows from one on, as a screen of their own; a cursor that is hidden, or further up, is left out.

        >>> Screen.from_text("working\\nProceed? [y/N]").below(1).text
        'Proceed? [y/N]'
        """
        cursor, size = self.cursor, self.size
        shown = cursor if cursor is not None and cursor.visible is not False and cursor.row >= row else None
        return evolve(
            self,
            lines=self.lines[row:],
            cursor=shown and evolve(shown, row=shown.row - row),
            size=size and evolve(size, rows=max(size.rows - row, 1)),
            hiding=frozenset(number - row for number in self.hiding if number >= row),
            shades=self.shades.moved(-row),
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal for screens on which a key means the same: text, cursor, and whether the alternate screen is shown."""
        cursor = self.cursor and (self.cursor.column, self.cursor.row, self.cursor.visible)
        shown = f"{cursor} {self.alternate} {self.text.rstrip(chr(10))}"
        return hashlib.blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @cached_property
    def _last_row(self) -> int:
        return next((row for row in range(len(self.lines) - 1, -1, -1) if self.lines[row].strip()), 0)

    def _below_gap(self, last: int, rows: int) -> int:
        """The first row below the lowest gap of so many blank rows; 0 where there is none."""
        gap = 0
        for row in range(min(last, len(self.lines) - 1), max(-1, last - _FOOT - rows), -1):
            gap = 0 if self.lines[row].strip() else gap + 1
            if gap == rows:
                return row + rows
        return 0

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the text, and where one more would begin."""
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def _around(self, row: int) -> Region:
        """The lines around a row, up and down to a blank one."""
        start = end = row
        while start > 0 and self.lines[start - 1].strip():
            start -= 1
        while end + 1 < len(self.lines) and self.lines[end + 1].strip():
            end += 1
        return self._rows(start, end + 1)

    def _rows(self, start: int, end: int) -> Region:
        """These rows, right-stripped, sliced from the text: that takes a tenth of the time of joining them again."""
        starts = self._starts
        return Region(self.text[starts[start] : starts[end] - 1] if start < end else "", start)


_BYTES = "decode them, or feed all that a program writes to a StreamTransport"


def as_screen(given: Screen | str) -> Screen:
    """The screen, or the one that a text is.  Raises TypeError for anything else.

    >>> as_screen("$ make").prompt_line.text
    '$ make'
    """
    if isinstance(given, Screen):
        return given
    if isinstance(given, str):
        return Screen.from_text(given)
    if hasattr(given, "screen"):
        hint = "give its .screen"
    elif hasattr(given, "capture"):
        hint = "give its capture().screen, or use check()"
    else:
        hint = _BYTES if isinstance(given, bytes) else ""
    raise bad_argument("what is looked at is a Screen or a text", given, hint)


def selected(line: str) -> bool:
    """Whether a line begins with the mark of a menu's selected row."""
    return _of.selected.match(line) is not None


def _bounded(text: str, cursor: tuple[int, int] | None, size: tuple[int, int] | None) -> tuple[str, int]:
    """A captured text with each line bounded on its own, and how many columns of the cursor's line are left out.

    Of a long line the end is kept; the other lines, and the number of rows, stay as they are.
    """
    if len(text) <= MAX_LINE:
        return text, 0
    lines = text.rsplit("\n", size[1] + 1 if size else MAX_TEXT)
    if len(lines) > 1 and not fold(strip(lines[-1])):
        lines.pop()
    lines = lines[-(size[1] or 1) :] if size else lines
    left_out, left = 0, MAX_TEXT
    for row in range(len(lines) - 1, -1, -1):
        out = max(0, len(lines[row]) - min(MAX_LINE, left))
        if out and cursor and cursor[1] == row:
            left_out = cells(fold(strip(lines[row][:out])))
        lines[row] = lines[row][out:]
        left = max(0, left - len(lines[row]) - 1)
    return "\n".join(lines), left_out


def join_wraps(
    rows: Iterable[str], wrapped: Iterable[bool], cursor: tuple[int, int]
) -> tuple[list[str], tuple[int, int]]:
    """Physical rows joined into logical lines, and the cursor (column, row) in them.

    `wrapped` is whether each row continues in the next one: the terminal's own flag, never a guess from widths.  Rows
    may have control sequences.
    """
    lines: list[str] = []
    column, cursor_row = cursor
    moved = cursor
    goes_on = False
    for number, (row, wraps) in enumerate(zip(rows, wrapped, strict=True)):
        before = lines.pop() if goes_on else ""
        if number == cursor_row:
            moved = (cells(strip(before)) + column, len(lines))
        lines.append(before + row)
        goes_on = wraps
    return lines, moved


def moved(before: Screen, now: Screen) -> frozenset[int] | None:
    """The rows on which two screens differ; None if they are not of one size, or one is a full screen alone.

    >>> sorted(moved(Screen.from_text("|\\nGo? "), Screen.from_text("/\\nGo? ")))
    [0]
    """
    if (before.size, before.alternate, len(before.lines)) != (now.size, now.alternate, len(now.lines)):
        return None
    pairs = enumerate(zip(before.lines, now.lines, strict=True))
    return frozenset(row for row, (was, is_now) in pairs if was.rstrip() != is_now.rstrip())


def only_a_clock(before: Screen, now: Screen) -> bool:
    """Whether a full-screen program rests except for the clock that it shows on one row."""
    if not now.alternate or before.cursor != now.cursor:
        return False
    rows = moved(before, now)
    if rows is None or len(rows) != 1:
        return False
    (row,) = rows
    was, is_now = (_CLOCK.sub("0:00", screen.lines[row].rstrip()) for screen in (before, now))
    return was == is_now
