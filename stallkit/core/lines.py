"""Lines that were seen before, and what is known of them: most lines of a screen are those of the look before.

What a line meets is a function of its text alone, so it is remembered for every session that shows the same line.
What a clause finds in a region of several lines is remembered by the region's text.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, reduce
from itertools import accumulate, count
from operator import and_, or_
from typing import Callable, Generic, Iterable, TypeVar

from stallkit.core.matcher import Budget, Found, Span, decided, find, found_at, region, search_for
from stallkit.core.screen import REGION_COLUMNS, Region, Screen, selected
from stallkit.core.signature import Clause

__all__ = ["Line", "Lines", "Plan", "Recent", "View"]

REMEMBERED = 8_192  # lines; twice as many at most are in memory: about 10 MB
REMEMBERED_TEXTS = 1_024  # regions, each for one clause
GROWS = 16  # times as many as that, where they come again: 2,000 sessions of 50 lines
_SLOTS = 4  # for each that may come again: at most one in four is taken for another

Place = tuple[int, int]  # start and end
Key = tuple[str | None, str | None, bool]
_Value = TypeVar("_Value")
_UNKNOWN = (-1, -1)


class Recent(Generic[_Value]):
    """The values that were asked for last: one that was not while `most` others were is forgotten.

    Where most of what it is given had been forgotten, as with the lines of hundreds of sessions, it keeps up to `GROWS`
    times as many, for as long as they come again.  Safe to share between threads: at worst a value is made twice.
    """

    def __init__(self, most: int) -> None:
        self._least = self._most = most
        self.young: dict[object, _Value] = {}
        self._old: dict[object, _Value] = {}
        self._again = 0  # of the young: those that had been there before
        self._seen = bytearray(_SLOTS * GROWS * most)  # by their hashes: which had been there, and rarely another
        self._marked = 0

    def get(self, key: object) -> _Value | None:
        value = self.young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self._again += 1
            self._keep(key, value)
        return value

    def put(self, key: object, value: _Value) -> None:
        at = hash(key) % len(self._seen)
        if self._seen[at]:
            self._again += 1
        else:
            self._seen[at], self._marked = 1, self._marked + 1
        self._keep(key, value)

    def _keep(self, key: object, value: _Value) -> None:
        if len(self.young) >= self._most:
            self._turn()
        self.young[key] = value

    def _turn(self) -> None:
        """Forget the old, and make room for as many as come again."""
        if self._again > self._most // 2:
            self._most = min(2 * self._most, GROWS * self._least)
        elif self._again < self._most // 4:
            self._most = max(self._most // 2, self._least)
        self._old, self.young, self._again = self.young, {}, 0
        if self._marked > GROWS * self._least:
            self._seen, self._marked = bytearray(len(self._seen)), 0


class Plan:
    """A clause, the bits that it needs, and how it is decided: line by line, or on its whole region."""

    __slots__ = ("anywhere", "by_line", "clause", "key", "on_line", "search", "ways", "where")

    def __init__(self, clause: Clause, ways: list[list[int]], by_line: bool) -> None:
        self.clause = clause
        self.where = clause.where
        self.search = search_for(clause)
        self.key: Key = (clause.text, clause.pattern, clause.ignore_case)
        self.by_line = by_line
        self.ways = [(reduce(or_, way), way) for way in ways]  # each with all of its bits
        self.on_line = [together for together, _ in self.ways] or [0]
        self.anywhere = reduce(and_, self.on_line)  # what every way needs

    def on_lines(self, lines: list[Line]) -> list[tuple[int, Line]]:
        """The lines that have all that some way needs, with their places."""
        if len(self.on_line) == 1:
            wanted = self.on_line[0]
            return [(at, line) for at, line in enumerate(lines) if wanted & line.bits == wanted]
        return [(at, line) for at, line in enumerate(lines) if any([one & line.bits == one for one in self.on_line])]


def _in_order(way: list[int], lines: list[Line]) -> bool:
    """Whether each piece is on a line not above that of the one before; none at all is the end of a line."""
    at, end = 0, len(lines)
    for piece in way:
        if not piece:
            at += 1
        while at < end and piece & ~lines[at].bits:
            at += 1
        if at >= end:
            return False
    return True


class Line:
    """A line: the atoms that it has, as bits, and where patterns hold on it.

    Lines of one `kind` have the same atoms, and divide a screen into its regions in the same way.
    """

    __slots__ = ("bits", "found", "kind", "text")

    def __init__(self, text: str, bits: int, kind: int) -> None:
        self.text = text
        self.bits = bits
        self.kind = kind
        self.found: dict[Key, Place | None] = {}


class Lines:
    """A memory of lines, and of regions; `bits_of` gives the bits of a text."""

    def __init__(self, bits_of: Callable[[str], int]) -> None:
        self._bits_of = bits_of
        self._lines = Recent[Line](REMEMBERED)
        self._kinds = Recent[int](REMEMBERED)
        self._numbers = count(1)
        self.regions = Recent[tuple[Place | None]](REMEMBERED_TEXTS)

    def __getitem__(self, text: str) -> Line:
        line = self._lines.get(text)
        if line is None:
            bits = self._bits_of(text)
            line = Line(text, bits, self._kind((bits, not text.strip(), selected(text))))
            self._lines.put(text, line)
        return line

    def all(self, texts: Iterable[str]) -> list[Line]:
        """The lines of these texts."""
        young = self._lines.young
        return [young.get(text) or self[text] for text in texts]

    def _kind(self, key: object) -> int:
        kind = self._kinds.get(key)
        if kind is None:
            kind = next(self._numbers)
            self._kinds.put(key, kind)
        return kind


@lru_cache(maxsize=1024)
def _count(tail: str) -> int:
    return int(tail[5:-1])


class View:
    """One screen as an engine looks at it: its regions and their lines, each made once."""

    def __init__(self, screen: Screen, lines: Lines) -> None:
        self.screen = screen
        self._lines = lines
        self._of: dict[str, tuple[list[Line], int, int]] = {}
        self._regions: dict[str, Region | None] = {}
        rows, last, title = screen.text.split("\n"), screen.prompt_line, screen.title
        self.several = len(rows) != len(screen.lines) or "\n" in f"{last.text}{title}"  # some line is itself several
        self.whole = screen.fits and not self.several  # each clause sees its whole region
        self._rows = lines.all(rows if self.whole else [row[-REGION_COLUMNS:] for row in rows])
        self.at_cursor = self._line(last.text)
        self._title = None if title is None else self._line(title)
        self.kinds = (
            *[line.kind for line in self._rows],
            self.at_cursor.kind,
            self._title and self._title.kind,
            screen.cursor and screen.cursor.row,
            screen.last_live_row,
        )

    @cached_property
    def bits(self) -> int:
        """Those of all lines."""
        title = 0 if self._title is None else self._title.bits
        return reduce(or_, [line.bits for line in self._rows], self.at_cursor.bits | title)

    def met(self, plan: Plan) -> bool:
        """Whether the region has what a clause needs: the pieces of some way, one below the other."""
        lines, _, bits = self._of.get(plan.where) or self._lines_of(plan.where)
        lacking = ~bits
        if plan.anywhere & lacking:
            return False
        for together, way in plan.ways:
            if not together & lacking and (len(lines) == 1 or _in_order(way, lines)):
                return True
        return not plan.ways

    def find(self, plan: Plan, budget: Budget) -> Found:
        """The lowest place at which a clause holds, as `matcher.find` gives it."""
        clause = plan.clause
        if not self.whole:
            return find(clause, self.screen, budget)
        if not self.met(plan):
            return Found(False)
        tries = iter([self._by_line] if plan.by_line else [])
        return decided(clause, budget, lambda limit_s: next(tries, self._in_region)(plan, limit_s))

    def _by_line(self, plan: Plan, limit_s: float) -> Found:
        """The answer from each line by itself; those that were not searched before share the time."""
        lines, row, _ = self._of[plan.where]
        clause, key = plan.clause, plan.key
        likely = plan.on_lines(lines)
        new = sum([key not in line.found for _, line in likely]) or 1
        for at, line in reversed(likely):
            place = line.found.get(key, _UNKNOWN)
            if place is _UNKNOWN:
                place = line.found[key] = plan.search.last_in(line.text, limit_s / new)
            if place is not None:
                start, end = place
                return Found(True, Span(clause, row + at, start, end, line.text[start:end]))
        return Found(False)

    def _in_region(self, plan: Plan, limit_s: float) -> Found:
        where = self._region(plan.clause)
        if where is None:
            return Found(False)
        known = self._lines.regions.get((plan.key, where.text))
        if known is None:
            known = (plan.search.last_in(where.text, limit_s),)
            self._lines.regions.put((plan.key, where.text), known)
        return found_at(plan.clause, where, known[0])

    def _region(self, clause: Clause) -> Region | None:
        where = clause.where
        if where not in self._regions:
            self._regions[where] = region(clause, self.screen)
        return self._regions[where]

    def _lines_of(self, where: str) -> tuple[list[Line], int, int]:
        """The lines of a region, the row of the first one, and all of their bits."""
        if where.startswith("tail"):
            start, end = self.screen.tail_rows(_count(where))
            known = self._rows[start:end], start, self._upwards[end - start]
        else:
            lines, row = self._find(where)
            known = lines, row, reduce(or_, [line.bits for line in lines], 0)
        self._of[where] = known
        return known

    @cached_property
    def _upwards(self) -> list[int]:
        """The bits of the last lines, by their number: a screen has a dozen tails."""
        rows = self._rows[: self.screen.tail_rows(0)[1]]
        return list(accumulate([line.bits for line in reversed(rows)], or_, initial=0))

    def _find(self, where: str) -> tuple[list[Line], int]:
        screen, rows = self.screen, self._rows
        if where == "screen":
            return rows, 0
        if where == "prompt_line":
            return [self.at_cursor], screen.prompt_line.row
        if where == "title":
            return ([] if self._title is None else [self._title]), 0
        if where.startswith("down_to_cursor"):
            down = screen.down_to_cursor(int(where[15:-1]))
            return ([], 0) if down is None else ([self._line(line) for line in down.text.split("\n")], down.row)
        part: Region = getattr(screen, where)
        if not part.text:
            return [self._line("")], part.row
        return rows[part.row : part.row + 1 + part.text.count("\n")], part.row

    def _line(self, text: str) -> Line:
        return self._lines[text[-REGION_COLUMNS:]]
