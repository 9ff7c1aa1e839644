"""What each row of a screen is on its own, and which rows a frame encloses.  Pure."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Iterator, Sequence

from attrs import evolve, field, frozen

from stallkit.terminal.text import cells, cut
from stallkit.word_tables import Patterns

_of = Patterns("layout")
_WIDE = 160  # characters of a row: a longer one is a text
_LABEL = 120  # characters of an option
_NEAR = 4  # columns by which the labels of options may differ
_RULE, _RULED, _TITLE = "─━═╌", 8, 60  # what a rule is drawn with, of how much at least, around how long a title
_SIDES = "│┃║▌▐▏▎▊█╎┆┊▕▋┇|" + "".join(filter(str.isspace, map(chr, range(0x3001))))
_BARS = tuple("▁▂▃▄▅▆▇▉▍")  # that are no sides: by one of these a text scrolls


class Sort(StrEnum):
    """What a row is on its own."""

    BLANK = "blank"
    RULE = "rule"
    EDGE = "edge"
    OPTION = "option"
    HINT = "hint"
    GAUGE = "gauge"
    SPINNER = "spinner"
    QUOTE = "quote"
    CODE = "code"
    TEXT = "text"


@frozen
class Choice:
    """What a row would be as one to choose from: its mark, its key or box, its label and where that begins."""

    marked: bool
    key: str
    box: str
    label: str
    column: int

    @property
    def drawn(self) -> bool:
        """Whether it has any of these signs."""
        return bool(self.marked or self.key or self.box)


@frozen
class Row:
    """A row without the sides of its frames: what it is, its text, and the column in which that begins."""

    sort: Sort
    text: str
    column: int = 0
    framed: bool = False
    choice: Choice | None = None
    keys: int = 0  # how many it names
    _said: dict[str, bool] = field(factory=dict, init=False, eq=False, repr=False)

    def says(self, name: str) -> bool:
        """Whether a pattern of ``layout.toml`` is found in its text; asked once for each row that looks so."""
        if name not in self._said:
            self._said[name] = getattr(_of, name).search(self.text) is not None
        return self._said[name]

    @property
    def written(self) -> bool:
        """Whether it has words, and is not only drawn."""
        return bool(self.text) and self.sort not in (Sort.RULE, Sort.EDGE)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """Answers side by side: with a letter or in brackets each, or apart, if one allows and one refuses."""
        if self.says("letters") or self.says("button"):
            return tuple(_of.sides_of_label.sub("", one).strip() for one in _of.button_label.findall(self.text))
        found = tuple(one for one in _of.gap.split(self.text) if _of.allows.match(one) or _of.refuses.match(one))
        both = any(map(_of.allows.match, found)) and any(map(_of.refuses.match, found))
        return found if both else ()

    @property
    def speaks(self) -> bool:
        """Whether it begins what a program says."""
        return self.column < 4 and not self.framed and not self.keys and self.says("speaks")

    @property
    def chooses(self) -> bool:
        """Whether it says which key chooses, or leaves."""
        if self.says("sends") and not self.says("leaves"):
            return False  # keys of a composer
        return self.says("chooses") and self.sort is not Sort.SPINNER and not self.says("sentence")

    @property
    def works(self) -> bool:
        """Whether it says that something is done now, and does not list all keys of a program."""
        if self.sort is Sort.SPINNER:
            return self.column < 40
        if self.says("retries") and not self.framed:
            return True
        plain = self.sort is not Sort.OPTION and not self.framed and self.keys <= 4
        ends = self.text.endswith(".") and not self.text.endswith("...")
        return plain and len(self.text) <= _WIDE and not ends and self.says("works")

    @property
    def says_keys(self) -> bool:
        """Whether it names keys and what they do, and not that something is done."""
        return self.sort is Sort.HINT and not self.works

    @property
    def is_status(self) -> bool:
        """Whether it may be a status on its own."""
        return self.sort in (Sort.GAUGE, Sort.EDGE) or self.says("segments")


@frozen
class Box:
    """A frame: the rows of its edges, the columns of its sides, and its title."""

    top: int
    bottom: int
    left: int
    right: int
    title: str = ""

    @property
    def rows(self) -> range:
        """The rows inside."""
        return range(self.top + 1, self.bottom)

    def part_of(self, line: str) -> str:
        """What a row has between the sides, blanks too."""
        return _between(line, self.left + 1, self.right - 1)

    def inside(self, line: str) -> str:
        """What a row has between the sides."""
        return _without_sides(self.part_of(line))

    def covers(self, lines: Sequence[str]) -> bool:
        """Whether it lies over a screen: words stand at its left and at its right, or one is cut off at a side."""
        rows = lines[self.top : self.bottom]
        beside = [(cut(line, self.left), _between(line, self.right, cells(line))) for line in rows]
        if any(left.endswith(('"', "“", "`")) for left, _ in beside):
            return False  # it is quoted
        cuts = any(left[-1:].isalnum() or right[:1].isalnum() for left, right in beside)
        return cuts or all(any(map(_of.word.search, side)) for side in zip(*beside, strict=True))

    def holds(self, other: Box) -> bool:
        """Whether another frame stands in it."""
        return self.top < other.top and other.bottom < self.bottom and self.left <= other.left


@frozen
class Group:
    """Rows to choose from, or answers side by side on one row."""

    rows: tuple[int, ...]
    choices: tuple[Choice, ...]
    box: Box | None

    @property
    def end(self) -> int:
        """The last row, or the lower edge of the frame."""
        return self.box.bottom if self.box else self.rows[-1]

    @property
    def marked(self) -> bool:
        return any(one.marked for one in self.choices)

    @property
    def decides(self) -> bool:
        """Whether one answer allows and another refuses."""
        labels = [one.label for one in self.choices]
        return any(map(_of.allows.match, labels)) and any(map(_of.refuses.match, labels))


@lru_cache(maxsize=16_384)  # most rows are as they were in the look before
def read_row(line: str, highlighted: bool = False) -> Row:
    """A row without the sides of its frames, and what it is on its own; one that is highlighted is selected.

    >>> read_row("│ ❯ 1. Yes, go on │").choice.label
    'Yes, go on'
    """
    framed = _of.side.match(line) is not None
    text = _without_sides(line)
    if not text:
        return Row(Sort.EDGE if framed and _of.edge.match(line) else Sort.BLANK, "", 0, framed)
    column, keys = cells(line[: line.index(text)]), len(_of.key.findall(text))
    if _of.quoting.match(line):
        return Row(Sort.QUOTE, text, column, keys=keys)
    if (drawn := _drawn(line, text)) is not None:
        return Row(drawn, text, column, framed, keys=keys)
    choice = _choice(text, column)
    sort = _sort(text, choice, keys)
    if highlighted and choice is not None and sort in (Sort.TEXT, Sort.OPTION):
        sort, choice = Sort.OPTION, evolve(choice, marked=True)
    return Row(sort, text, column, framed, choice, keys)


def _without_sides(line: str) -> str:
    """A row without the sides of its frames, or the bar behind it by which it scrolls."""
    if line[-1:] in _BARS and line[-4:-1].isspace():
        return line[:-1].rstrip().lstrip(_SIDES)
    return line.strip(_SIDES)


def _drawn(line: str, text: str) -> Sort | None:
    """Whether a row is a rule, with a title in it or without one, or an edge."""
    if _of.letter.search(text) is None:
        for sort, pattern in ((Sort.RULE, _of.rule), (Sort.EDGE, _of.edge)):
            if pattern.match(line):
                return sort
    bare = line.strip()
    ruled = max(len(bare) - len(bare.lstrip(_RULE)), len(bare) - len(bare.rstrip(_RULE)))
    return Sort.RULE if ruled >= _RULED and len(bare.strip(f"{_RULE}- ")) <= _TITLE else None


def _sort(text: str, choice: Choice | None, keys: int) -> Sort:
    if _of.doing.match(text):
        return Sort.SPINNER
    chosen = choice is not None and choice.drawn
    for sort, pattern in ((Sort.SPINNER, _of.spinner), (Sort.CODE, _of.code), (Sort.QUOTE, _of.quote)):
        if pattern.match(text) and not chosen:
            return sort
    if choice is not None and (choice.key or choice.box):
        return Sort.OPTION
    if (keys > 1 or (keys and len(text) < 60)) and not text.endswith((".", "?")) and _of.does.search(text):
        return Sort.HINT
    if len(text) < _WIDE and not text.endswith(".") and _of.digit.search(text) and _of.gauge.search(text):
        return Sort.GAUGE
    return Sort.OPTION if chosen else Sort.TEXT


def _choice(text: str, column: int) -> Choice | None:
    found = _of.option.match(text)
    if found is None or (found["mark"] and found["label"].startswith(found["mark"].strip() + " ")):
        return None  # a mark alone; two of them turn
    mark = (found["mark"] or found["mark2"] or "").strip()
    key = (found["key"] or "").strip("[]().: ")
    box = (found["box"] or found["box2"] or "").strip()
    at = column + cells(text[: found.start("label")])
    return Choice(_of.strong_mark.match(mark) is not None, key, box, found["label"], at)


def boxes(lines: Sequence[str]) -> Iterator[Box]:
    """The frames of a screen, from the top; one whose sides do not go down to a lower edge is none."""
    for top, line in enumerate(lines):
        for edge in () if line.isascii() and "qqq" not in line else _of.top.finditer(line):
            left = cells(line[: edge.start()])
            right = left + cells(edge[0])
            bottom = _bottom(lines, top, left, right)
            if bottom is not None:
                yield Box(top, bottom, left, right, (edge["title"] or "").strip("─━═▀▄╌┄ "))


def laid_over(lines: Sequence[str]) -> Box | None:
    """What lies over frames without one of its own, as a frame: where it cuts off their edges, it is blank."""
    at, cut_off = next(((row, one) for row, line in enumerate(lines) if (one := _of.broken.match(line))), (0, None))
    if cut_off is None:
        return None
    left, top, bottom = len(cut_off["left"]), at, at
    while top and not lines[top - 1][left : left + 2].strip():
        top -= 1
    while bottom + 1 < len(lines) and not lines[bottom + 1][left : left + 2].strip():
        bottom += 1
    return Box(top - 1, bottom + 1, left - 1, cells(lines[at][: cut_off.start("right")]) + 1)


def _bottom(lines: Sequence[str], top: int, left: int, right: int) -> int | None:
    for row in range(top + 1, len(lines)):
        part = _between(lines[row], left, right)
        if _of.bottom.match(part):
            return row if row > top + 1 else None
        if not part or not (_of.frame_sides.match(part[0]) or _of.frame_sides.match(part[-1])):
            return None
    return None


def _between(line: str, left: int, right: int) -> str:
    """The cells of a row from one column up to another."""
    return line[left:right] if cells(line) == len(line) else cut(line, right)[len(cut(line, left)) :]


def fits(row: Row, choice: Choice, anchor: Choice) -> bool:
    """Whether a row is one of those to choose from of which another is one."""
    if row.sort in (Sort.HINT, Sort.SPINNER) and not choice.drawn and not row.says("letter_after"):
        return False
    if anchor.marked and abs(choice.column - anchor.column) < 2 and bool(anchor.key) == bool(choice.key):
        return len(choice.label) < _LABEL
    if anchor.key or anchor.box:
        alike = (bool(choice.key), bool(choice.box)) == (bool(anchor.key), bool(anchor.box))
        return alike and abs(choice.column - anchor.column) < _NEAR
    return choice.column == anchor.column and not (choice.key or choice.box) and len(choice.label) < _LABEL


def ends(row: Row, of: Row, anchor: Choice) -> bool:
    """Whether no row to choose from follows beyond it: the words about a numbered one may stand below its number."""
    left = of.column if anchor.key else anchor.column - 1
    return row.column < left or row.sort in (Sort.RULE, Sort.EDGE, Sort.HINT)


def is_prose(rows: Sequence[Row], at: int) -> bool:
    """Whether a row is of a paragraph that speaks of a message, or that is shown by one which ends in a colon."""
    if at >= len(rows):
        return False
    first = last = at
    while first and _joins(rows, first):
        first -= 1
    while last + 1 < len(rows) and _joins(rows, last + 1):
        last += 1
    before = next((one.text for one in reversed(rows[:first]) if one.text), "")
    if before.endswith(":") and not _of.fails.search(before):
        return True
    return _of.telling.search(" ".join(one.text for one in rows[first : last + 1])) is not None


def _joins(rows: Sequence[Row], at: int) -> bool:
    """Whether a row goes on with the paragraph of the row above it."""
    one, above = rows[at], rows[at - 1]
    plain = {Sort.TEXT, Sort.CODE, Sort.QUOTE, Sort.OPTION, Sort.GAUGE}
    return {one.sort, above.sort} <= plain and not any(map(one.says, ("speaks", "said"))) and not above.says("said")
