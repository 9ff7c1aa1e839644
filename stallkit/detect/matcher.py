"""Which signatures may hold on a screen, by their keywords; whether one clause holds, and where, within its budget."""

from __future__ import annotations

from functools import cache, lru_cache, reduce
from itertools import accumulate
from operator import or_
from typing import Callable, Collection, Sequence

import regex
from attrs import frozen

from stallkit.detect.layout import PARTS, read_layout
from stallkit.detect.pattern import rarity, searched
from stallkit.detect.signature import Clause, Signature
from stallkit.terminal.screen import REGION_COLUMNS, Region, Screen

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
    """The answer for one clause: `held` is None if the search ran out of its budget."""

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
    """The part of the screen of that name, within its limits; None if the screen does not have it."""
    where = _region(name, screen)
    return where if where is None or screen.fits else where.bounded


def _region(name: str, screen: Screen) -> Region | None:
    kind, count = _rows_of(name)
    if kind == "down_to_cursor":
        down = screen.down_to_cursor(count)
        return down and down.bounded  # lines not drawn yet may make it longer than the screen
    if kind in PARTS:
        return read_layout(screen).region(kind)
    if kind == "title":
        return None if screen.title is None else Region(screen.title, 0)
    found: Region = screen.tail(count) if kind == "tail" else getattr(screen, "whole" if kind == "screen" else kind)
    return found


@cache
def _rows_of(name: str) -> tuple[str, int]:
    """What a region is called, and how many rows it has if it says so."""
    kind, _, count = name.rstrip(")").partition("(")
    return kind, int(count or 0)


def first_row(name: str, screen: Screen) -> int | None:
    """Where that part of the screen begins, or above it; None if the screen does not have it."""
    kind, count = _rows_of(name)
    if kind == "tail":
        return screen.tail_rows(count)[0]
    if kind in PARTS:
        rows = read_layout(screen).parts.get(kind, (None,))
        return rows[0]
    if kind == "down_to_cursor":
        return None if screen.cursor is None else max(0, screen.cursor.row + 1 - count)
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


Search = Callable[[str], Collection[int]]  # gives the numbers of the keywords that are in a row
_LINE = "prompt_line"
_ROWS = 16_384  # that are remembered, of some 500 screens: most rows are as they were in the look before


class Keywords:
    """Finds what may hold of an ordered list of signatures.

    A signature is filed under the rarest set of keywords that it needs, of the prompt line or of the screen, so that
    thousands cost no more than a few if none of theirs is there.
    """

    def __init__(self, signatures: Sequence[Signature], search_for: Callable[[Sequence[str]], Search] | None = None):
        every = [_wanted(one) for one in signatures]
        texts = sorted({text for wanted in every for _, some in wanted for text in some})
        numbers = {text: number for number, text in enumerate(texts)}
        self._search = (search_for or fastest)(texts)
        # A set of keywords is one number with a bit for each, so that one step tells whether a region has any of them.
        self._wanted = [[(where, sum(1 << numbers[text] for text in some)) for where, some in each] for each in every]
        self._always = [number for number, wanted in enumerate(every) if not wanted]
        self._bits = [1 << number for number in range(len(texts))]
        self._filed: tuple[list[list[int]], list[list[int]]] = [[] for _ in texts], [[] for _ in texts]
        for number, wanted in enumerate(every):
            for where, some in wanted[:1]:
                for text in some:
                    self._filed[where == _LINE][numbers[text]].append(number)
        self._row = lru_cache(_ROWS)(self._new_row)

    def among(self, screen: Screen) -> list[int]:
        """The numbers of the signatures that may hold on a screen, in order."""
        prompt = region(_LINE, screen)
        line = self._rows(prompt.text if prompt else "", at_prompt=True)
        rows, title = self._rows(screen.text), self._rows(screen.title or "")
        in_line, in_title = (reduce(or_, [bits for bits, _ in some]) for some in (line, title))
        # What a row and those below it have; the prompt line may end where its row does not.
        below = list(accumulate([bits for bits, _ in reversed(rows)], or_, initial=in_line))[::-1]
        there = {"screen": below[0], "title": in_title, _LINE: in_line}  # what each region may have
        among: list[int] = []
        for number in sorted(set(self._always).union(*[filed for _, filed in (*rows, *title, *line)])):
            for where, some in self._wanted[number]:
                if where not in there:
                    row = first_row(where, screen)
                    there[where] = 0 if row is None else below[min(row, len(rows))]
                if not there[where] & some:
                    break
            else:
                among.append(number)
        return among

    def _rows(self, text: str, at_prompt: bool = False) -> list[tuple[int, frozenset[int]]]:
        """Of each row: its keywords, a bit for each, and the signatures that are filed under them."""
        return [self._row(row[-REGION_COLUMNS:], at_prompt) for row in text.split("\n")]

    def _new_row(self, row: str, at_prompt: bool) -> tuple[int, frozenset[int]]:
        found = self._search(searched(row))
        filed = [self._filed[at][number] for at in (False, True)[: 1 + at_prompt] for number in found]
        return sum([self._bits[number] for number in found]), frozenset().union(*filed)


def _wanted(signature: Signature) -> list[tuple[str, frozenset[str]]]:
    """The sets of which a signature needs one text each, and in which regions: the rarest first."""
    every = {(clause.where, some) for clause in signature.all_of for some in clause.needs}
    # Nearly every screen has a letter or a digit of ASCII.
    common = {text for _, some in every for text in some if len(text) == 1 and text.isascii() and text.isalnum()}
    every = {(where, some) for where, some in every if common.isdisjoint(some)}
    # Of the same length, those of the prompt line are rarer by far: it is one row.
    return sorted(every, key=lambda one: (one[0] == _LINE, rarity(one[1]), one[0], sorted(one[1])), reverse=True)


def in_one_pass(keywords: Sequence[str]) -> Search:
    """A search for all keywords together.  Raises ImportError if `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # extra: fast

    # A DFA takes five times as long to build, and searches no faster.
    known = BytesAhoCorasick(list(map(_bytes, keywords)), implementation=Implementation.ContiguousNFA)
    return lambda row: {match[0] for match in known.find_matches_as_indexes(_bytes(row), overlapping=True)}


def one_by_one(keywords: Sequence[str]) -> Search:
    """The same with the standard library alone."""
    return lambda row: [number for number, keyword in enumerate(keywords) if keyword in row]


def fastest(keywords: Sequence[str], quick: Callable[[Sequence[str]], Search] = in_one_pass) -> Search:
    """In one pass if `ahocorasick_rs` is installed, else one by one."""
    try:
        return quick(keywords)
    except ImportError:
        return one_by_one(keywords)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
