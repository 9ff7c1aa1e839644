"""How many steps a backtracking search takes: the cost of a pattern, the same on every machine.

Pure.  A plain backtracker counts each character, place, choice and return that it tries.  `regex` has short cuts, so a
pattern that is cheap here is cheap in a look: it took 1 to 10 ns a step where the two were compared.

What a search from one place takes depends on the characters that it looks at alone, so it is remembered with them:
texts that repeat a few characters, or a line, are counted mostly from memory.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Iterator, NamedTuple

from attrs import define, field

from stallkit.core.signature import Clause
from stallkit.lab.lint.program import Program, Uncounted, program

__all__ = ["Uncounted", "spans", "steps"]

_MATCH = 50  # steps that a match counts for: making its object takes as long
_FAIL = ("fail",)
_EDGE = "\0"  # no screen has it
_REMEMBERED = 1_000  # characters: two lines
_Marks = tuple[int, ...]  # where each group begins and ends, and where each loop was last begun; -1: nowhere yet


class _Enough(Exception):
    """The search took the maximum of steps."""


def steps(clause: Clause, text: str, most: int) -> int:
    """The steps of a search for every place of a pattern in a text; `most` where there are that many or more.

    Raises Uncounted.
    """
    search = _Search(_memory(clause), text, most)
    try:
        for _ in search.spans():
            search.steps += _MATCH
    except _Enough:
        return most
    return min(search.steps, most)


def spans(clause: Clause, text: str, most: int) -> list[tuple[int, int]] | None:
    """Where the search finds the pattern, as `re` does; None where it takes too many steps."""
    try:
        return list(_Search(_memory(clause), text, most).spans())
    except _Enough:
        return None


class _Met(NamedTuple):
    """What a search from one place took: the text that it looked at, its steps, and the length of its match."""

    around: str
    steps: int
    length: int | None


@define
class _Memory:
    """The program of a pattern, how far it looks back, and what was met: by the next two characters, and by these and
    how far the end of the line is.  Only the last one of each is kept.
    """

    code: Program
    marks: int
    back: int
    met: dict[object, _Met] = field(factory=dict)


@lru_cache(maxsize=2)  # many texts are counted for one pattern, then for the next
def _memory(clause: Clause) -> _Memory:
    code, marks = program(clause)
    return _Memory(code, marks, _looks_back(code) + 1)  # a word's boundary and a line's beginning look back by one


def _looks_back(code: Program) -> int:
    """How many characters before the place where it begins a program may look at, at most."""
    inner = [now for now in code if now[0] in ("look", "atomic")]
    return sum([(now[2] if now[0] == "look" else 0) + _looks_back(now[1]) for now in inner])


@define
class _Search:
    memory: _Memory
    text: str
    most: int
    steps: int = 0
    _shown: str = ""  # the text between marks of its ends
    _far: int = 0  # the furthest place that the search from one place came to
    _line_end: int = -1

    def spans(self) -> Iterator[tuple[int, int]]:
        """Every place from left to right; one may begin where another ends, but no empty one after an empty one."""
        self._shown = _EDGE * self.memory.back + self.text + _EDGE
        start, empty = 0, -1
        while (start := self._first(self.memory.code, start)) <= len(self.text):
            length = self._from(start, empty)
            if length is None:
                start += 1
            else:
                yield start, start + length
                start, empty = start + length, start if not length else -1

    def _from(self, start: int, empty: int) -> int | None:
        """The length of the match that begins at a place, or None."""
        memory = self.memory
        if start > self._line_end:
            self._line_end = self.text.find("\n", start)
            if self._line_end < 0:
                self._line_end = len(self.text)
        head = self._shown[start : start + memory.back + 2]
        in_line = (head, self._line_end - start)
        for key in (head, in_line) if start != empty else ():
            met = memory.met.get(key)
            if met is not None and self._shown.startswith(met.around, start):
                self.steps += met.steps
                if self.steps >= self.most:
                    raise _Enough
                return met.length
        before, self._far = self.steps, start
        found = self._run(memory.code, start, (-1,) * memory.marks, empty)
        length = None if found is None else found[0] - start
        if start != empty and self._far - start < _REMEMBERED:
            around = self._shown[start : self._far + memory.back + 2]
            memory.met[head] = memory.met[in_line] = _Met(around, self.steps - before, length)
        return length

    def _first(self, code: Program, start: int) -> int:
        """The first place from there on where the program can begin: one step for each place where its anchor fails."""
        if not code or code[0][0] != "at" or start > len(self.text):
            return start
        anchor = code[0][1].search(self.text, start)
        place = anchor.start() if anchor else len(self.text) + 1
        self.steps += place - start
        if self.steps >= self.most:
            raise _Enough
        return place

    def _run(self, code: Program, place: int, marks: _Marks, empty: int = -1) -> tuple[int, _Marks] | None:
        """Where the program ends, begun at a place, but not at the one called `empty`; None where it fails."""
        text, size, end = self.text, len(self.text), len(code)
        # Where to go on: instruction, place, marks; and for a run how far and in which direction it may be retried.
        stack: list[tuple[int, int, _Marks, int, int]] = []
        at = 0
        while True:
            self.steps += 1
            if at == end and place != empty:
                self._far = max(self._far, place)
                return place, marks
            now = code[at] if at < end else _FAIL
            at += 1
            held = True
            match now[0]:
                case "one":
                    held = place < size and now[1][text[place]]
                    place += held
                case "run":
                    _, accepts, low, most, sort = now
                    limit = size if most is None else min(size, place + most)
                    least, to = place + low, place
                    while to < limit and accepts[text[to]]:
                        to += 1
                    held = to >= least
                    if to > self._far:
                        self._far = to
                    if sort != "lazy" or not held:
                        self.steps += to - place
                    if held and to > least and sort != "possessive":
                        stack.append(
                            (at, least + 1, marks, to, 1) if sort == "lazy" else (at, to - 1, marks, least, -1)
                        )
                    place = least if sort == "lazy" else to
                case "at":
                    held = now[1].match(text, place) is not None
                case "split":
                    stack.append((now[2], place, marks, place, 0))
                    at = now[1]
                case "jump":
                    at = now[1]
                case "mark":
                    marks = _with(marks, now[1], place)
                case "unmark":
                    marks = _with(marks, now[1], -1)
                case "loop":
                    _, number, after, sort = now
                    again = _with(marks, number, place)
                    if marks[number] == place:  # the last round took nothing
                        at = after
                    elif sort == "greedy":
                        stack.append((after, place, marks, place, 0))
                        marks = again
                    else:
                        stack.append((at, place, again, place, 0))
                        at = after
                case "again":
                    begun, over = marks[now[1] : now[1] + 2]
                    told, shown = text[begun:over], text[place : place + over - begun]
                    held = over >= 0 and (told == shown or (now[2] and told.lower() == shown.lower()))
                    place += over - begun
                case "look":
                    _, inner, back, wanted = now
                    found = self._run(inner, place - back, marks) if place >= back else None
                    held = (found is not None) is wanted
                    marks = found[1] if found else marks
                case "atomic":
                    found = self._run(now[1], place, marks)
                    held = found is not None
                    place, marks = found or (place, marks)
                case _:
                    held = False
            if held:
                continue
            if place > self._far:
                self._far = place
            if self.steps >= self.most:
                raise _Enough
            if not stack:
                return None
            at, place, marks, last, way = stack.pop()
            if place != last:
                stack.append((at, place + way, marks, last, way))


def _with(marks: _Marks, number: int, place: int) -> _Marks:
    return (*marks[:number], place, *marks[number + 1 :])
