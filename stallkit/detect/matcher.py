"""Does one clause hold on one screen, and where: yes, no, or undecided within its budget."""

from __future__ import annotations

from functools import lru_cache

import regex
from attrs import frozen

from stallkit.detect.signature import Clause
from stallkit.terminal.screen import Region, Screen

__all__ = ["Budget", "Found", "Span", "compiled", "find", "find_in", "last_in", "region"]

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


_NO = Found(False)


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


def region(name: str, screen: Screen) -> Region | None:
    """The part of the screen of that name, within its limits; None where the screen does not have it."""
    where = _region(name, screen)
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


def first_row(name: str, screen: Screen) -> int | None:
    """Where that part of the screen begins, or above it; None where the screen does not have it."""
    if name.startswith("tail"):
        return screen.tail_rows(int(name[5:-1]))[0]
    if name.startswith("down_to_cursor"):
        return None if screen.cursor is None else max(0, screen.cursor.row + 1 - int(name[15:-1]))
    where = _region(name, screen)
    return None if where is None else where.row


def find(clause: Clause, screen: Screen, budget: Budget) -> Found:
    """The lowest place at which the clause holds: text nearest to the cursor is live."""
    return find_in(clause, region(clause.where, screen), budget)


def find_in(clause: Clause, where: Region | None, budget: Budget) -> Found:
    """The same in its region."""
    if where is None:
        return _NO
    if clause.text is not None and not clause.ignore_case:
        place = _last_literal(clause.text, where.text)  # costs no budget
        return _NO if place is None else Found(True, _span(clause, where, *place))
    while not budget.spent:
        try:
            place = last_in(clause, where.text, budget.limit_s)
        except TimeoutError:
            budget.runaways += 1
            if budget.runaways > 1:
                break
            continue  # the first may be due to other threads: regex counts the CPU time of the whole process
        except regex.error:  # of a pack that nobody checked: lint reports it, a look must not fail on it
            break
        return _NO if place is None else Found(True, _span(clause, where, *place))
    return Found(None)


@lru_cache(maxsize=8_192)  # most regions are as they were in the look before
def last_in(clause: Clause, text: str, limit_s: float) -> tuple[int, int] | None:
    """Start and end of the last place at which a clause holds in a text; TimeoutError where it takes too long."""
    found = None
    if not clause.admits(text):
        return None
    for match in compiled(clause).finditer(text, timeout=limit_s, concurrent=True):  # the limit is for the whole loop
        found = match.span()
        if clause.text is not None:
            break  # a literal is searched for from the end, so that overlapping ones do not hide the lowest
    return found


@lru_cache(maxsize=8_192)  # more than any set of packs has; a fuzzer must not fill the memory
def compiled(clause: Clause) -> regex.Pattern[str]:
    """The clause as a pattern.  Raises regex.error."""
    flags = regex.MULTILINE | (regex.IGNORECASE if clause.ignore_case else 0)
    if clause.pattern is not None:
        return regex.compile(clause.pattern, flags)
    literal = clause.source
    body = literal.rstrip(" ")
    blank = literal[len(body) :]
    source = regex.escape(body) + (f"(?:{regex.escape(blank)}|$)" if blank else "")
    return regex.compile(source, flags | regex.REVERSE)  # the last place first


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
