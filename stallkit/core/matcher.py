"""Does one clause hold on one screen, and where: yes, no, or undecided within its budget."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

from stallkit.core.rooms import proven
from stallkit.core.screen import Region, Screen
from stallkit.core.signature import Clause
from stallkit.core.values import frozen

if TYPE_CHECKING:
    import regex

__all__ = ["Budget", "Found", "Search", "Span", "decided", "find", "found_at", "last_in", "region", "search_for"]

# A search that runs longer is a runaway.  Ordinary patterns take microseconds, those of the shipped packs 3 ms at most,
# on the worst text that a clause can be shown.  With each runaway of a pack its next search gets half the time, so that
# the rest of the pack is still decided and all of it together stays within the 60 ms allowed for a hostile pack
# (docs/benchmarks.md): regex stops within 0.1 ms of a limit.
TIMEOUT_S, LEAST_S = 0.020, 0.001
MAX_RUNAWAYS = 25


@frozen
class Span:
    """Where a clause held: the line (0-based row of the screen), start and end in it, and the text found.

    Where the region shows only a part of a long line, start and end count from that part.
    """

    clause: Clause
    line: int
    start: int
    end: int
    text: str

    @property
    def last_line(self) -> int:
        """The row in which the text found ends."""
        return self.line + self.text.count("\n")


@frozen
class Found:
    """The answer for one clause: `held` is None where the search ran out of its budget."""

    held: bool | None
    span: Span | None = None


class Budget:
    """What one look at a screen may spend on a pack's patterns: `limit_s` for the next search.

    After `MAX_RUNAWAYS` of them every further pattern is undecided.
    """

    __slots__ = ("runaways",)

    def __init__(self, runaways: int = 0) -> None:
        self.runaways = runaways

    @property
    def spent(self) -> bool:
        return self.runaways >= MAX_RUNAWAYS

    @property
    def limit_s(self) -> float:
        return max(LEAST_S, TIMEOUT_S * 0.5**self.runaways)


def region(clause: Clause, screen: Screen) -> Region | None:
    """The part of the screen that a clause looks at, within its limits; None where the screen does not have it."""
    where = _region(clause.where, screen)
    return where if where is None or screen.fits else where.bounded


def _region(name: str, screen: Screen) -> Region | None:
    match name:
        case "screen":
            return screen.whole
        case "prompt_line":
            return screen.prompt_line
        case "above":
            return screen.above
        case "block":
            return screen.block
        case "paragraph":
            return screen.paragraph
        case "title":
            return None if screen.title is None else Region(screen.title, 0)
        case rows if rows.startswith("down_to_cursor"):
            down = screen.down_to_cursor(int(rows[15:-1]))
            return down and down.bounded  # lines not drawn yet may make it longer than the screen
        case tail:
            return screen.tail(int(tail[5:-1]))


def find(clause: Clause, screen: Screen, budget: Budget) -> Found:
    """The lowest place at which the clause holds: text nearest to the cursor is live."""
    where = region(clause, screen)
    if where is None:
        return Found(False)
    return decided(clause, budget, lambda limit_s: found_at(clause, where, last_in(clause, where.text, limit_s)))


def decided(clause: Clause, budget: Budget, search: Callable[[float], Found]) -> Found:
    """The answer of a search for a clause, which is given its limit in seconds and raises TimeoutError beyond it."""
    if clause.text is not None and not clause.ignore_case:
        return search(TIMEOUT_S)  # a plain literal costs no budget
    while not budget.spent:
        try:
            return search(budget.limit_s)
        except TimeoutError:
            budget.runaways += 1
            if budget.runaways > 1:
                break
            continue  # the first may be due to other threads: regex counts the CPU time of the whole process
        except _regex_error():  # accepted by re, refused by regex: lint reports it, a look must not fail on it
            break
    return Found(None)


def last_in(clause: Clause, text: str, limit_s: float) -> tuple[int, int] | None:
    """Start and end of the last place at which a clause holds in a text; TimeoutError where it takes too long."""
    return search_for(clause).last_in(text, limit_s)


@lru_cache(maxsize=8192)  # more than any set of packs has; a fuzzer must not fill the memory
def search_for(clause: Clause) -> Search:
    """The search for a clause, one for the whole process."""
    return Search(clause)


class Search:
    """How a clause is found in a text: by `re` where it is proven that the text cannot make it run long, else by
    `regex`, which takes twice as long and can be stopped.
    """

    __slots__ = ("_clause", "_guarded", "_long", "_plain", "_short")

    def __init__(self, clause: Clause) -> None:
        self._clause = clause
        self._short = -1  # the longest text that is known to be proven short
        self._long: float = math.inf  # the shortest that is known not to be
        self._plain: re.Pattern[str] | None = None
        self._guarded: regex.Pattern[str] | None = None

    def last_in(self, text: str, limit_s: float) -> tuple[int, int] | None:
        """Start and end of the last place at which it holds; TimeoutError where it takes longer than the limit."""
        clause = self._clause
        if clause.text is not None and not clause.ignore_case:
            return _last_literal(clause.text, text)
        found = None
        if self._is_short(len(text)):
            self._plain = self._plain or _plain(clause)
            for match in self._plain.finditer(text):
                found = match.span()
            return found
        self._guarded = self._guarded or _guarded(clause)
        # The limit is for the whole loop.
        for guarded in self._guarded.finditer(text, timeout=limit_s, concurrent=True):
            found = guarded.span()
            if clause.text is not None:
                break  # a literal is searched for from the end, so that overlapping ones do not hide the lowest
        return found

    def _is_short(self, length: int) -> bool:
        """Whether it is proven that a text of that length cannot make `re` run long."""
        if self._short < length < self._long:
            size, short = proven(self._clause, length)
            if short:
                self._short = max(self._short, size)
            else:
                self._long = min(self._long, length)
        return length <= self._short


def found_at(clause: Clause, where: Region, place: tuple[int, int] | None) -> Found:
    """The answer for a place in a region, or for none."""
    return Found(False) if place is None else Found(True, _span(clause, where, *place))


def _last_literal(literal: str, text: str) -> tuple[int, int] | None:
    """The last place of a literal; its closing blank may also be the end of a line."""
    body = literal.rstrip(" ")
    start = text.rfind(body)
    while start >= 0:
        end = start + len(body)
        if text.startswith(literal, start):
            return start, start + len(literal)
        if text[end : end + 1] in ("", "\n"):
            return start, end
        start = text.rfind(body, 0, end - 1)
    return None


def _span(clause: Clause, where: Region, start: int, end: int) -> Span:
    text = where.text[start:end]
    start += len(text) - len(text.lstrip("\n"))  # line ends around it only anchor the match
    text = text.strip("\n")
    line_start = where.text.rfind("\n", 0, start) + 1
    row = where.row + where.text.count("\n", 0, start)
    return Span(clause, row, start - line_start, start - line_start + len(text), text)


def _plain(clause: Clause) -> re.Pattern[str]:
    flags = re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)
    return re.compile(clause.pattern or "", flags)


def _guarded(clause: Clause) -> regex.Pattern[str]:
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if clause.ignore_case else 0)
    if clause.pattern is not None:
        return regex.compile(clause.pattern, flags)
    return regex.compile(_literal_pattern(clause.source), flags | regex.REVERSE)  # the last place first


def _literal_pattern(literal: str) -> str:
    body = literal.rstrip(" ")
    blank = re.escape(literal[len(body) :])
    return re.escape(body) + (f"(?:{blank}|$)" if blank else "")


def _regex_error() -> Any:
    import regex

    return regex.error
