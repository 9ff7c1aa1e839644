"""Which signatures may hold on a screen, by the texts without which their clauses cannot: their keywords."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate
from operator import itemgetter, or_
from typing import Callable, Iterator, Mapping, Sequence

from stallkit.core.matcher import first_row, region
from stallkit.core.needs import folded, rarity
from stallkit.core.screen import Screen
from stallkit.core.signature import Signature

__all__ = ["Keywords", "Search", "fastest", "in_one_pass", "one_by_one"]

Search = Callable[[bytes], Mapping[int, int]]  # gives the numbers of the keywords in a text, and where each begins last
_LINE = "prompt_line"


class Keywords:
    """Finds what may hold of an ordered list of signatures.

    A signature is filed under the rarest thing that it needs: a keyword of the screen or of the prompt line, or the
    first or last character of that line.  So thousands cost no more than a few if nothing of theirs is there.
    """

    def __init__(self, signatures: Sequence[Signature], search_for: Callable[[Sequence[str]], Search] | None = None):
        every = [_wanted(one) for one in signatures]
        texts = sorted({text for wanted in every for _, some in wanted for text in some})
        numbers = {text: number for number, text in enumerate(texts)}
        self._search = (search_for or fastest)(texts)
        # A set of keywords is one number with a bit for each, so that one step tells whether a region has any of them.
        self._wanted = [[(where, sum(1 << numbers[text] for text in some)) for where, some in each] for each in every]
        self._edges = [[one.needs for one in each.all_of if one.needs.begins or one.needs.ends] for each in signatures]
        self._always: list[int] = []
        self._filed: dict[str, dict[int | str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, one in enumerate(signatures):
            ways = list(_ways(one))
            if not ways:
                self._always.append(number)
                continue
            _, place, some = max(ways, key=itemgetter(0))
            for text in some:
                self._filed[place][text if place in ("begins", "ends") else numbers[text]].append(number)

    def among(self, screen: Screen) -> list[int]:
        """The numbers of the signatures that may hold on a screen, in order."""
        prompt = region(_LINE, screen)
        line = folded(prompt.text if prompt else "")
        first, final = line.strip()[:1], line.strip()[-1:]
        look = _Look(screen, line, self._search)
        keys = {"": look.keys_of("screen"), _LINE: look.keys_of(_LINE), "begins": {first}, "ends": {final}}
        likely = set(self._always)
        for place, filed in self._filed.items():
            for key in filed.keys() & keys[place]:
                likely.update(filed[key])
        return [number for number in sorted(likely) if self._fits(number, look, first, final)]

    def _fits(self, number: int, look: _Look, first: str, final: str) -> bool:
        for need in self._edges[number]:
            if not need.met_by(first, final):
                return False
        for where, some in self._wanted[number]:
            if not look[where] & some:
                return False
        return True


class _Look(dict[str, int]):
    """The keywords that each region of a screen may have, a bit for each; found when it is first asked.

    What is searched is the screen, its title and its prompt line, in this order: so the last place of a keyword tells
    whether a region may have it, there or further down.
    """

    def __init__(self, screen: Screen, line: str, search: Search) -> None:
        text, title = _bytes(folded(screen.text)), _bytes(folded(screen.title or ""))
        last = search(b"\n".join((text, title, _bytes(line))))
        self._screen = screen
        self._order = sorted(last, key=last.__getitem__, reverse=True)
        self._places = sorted(last.values())
        self._below = list(accumulate([1 << number for number in self._order], or_, initial=0))
        self._rows = list(accumulate([len(row) + 1 for row in text.split(b"\n")], initial=0))
        self._starts = {"screen": 0, "title": len(text) + 1, _LINE: len(text) + len(title) + 2}

    def keys_of(self, where: str) -> set[int]:
        """The numbers of the keywords of the screen, or of its prompt line."""
        return set(self._order[: self._count(self._starts[where])])

    def __missing__(self, where: str) -> int:
        start = self._starts.get(where)
        if start is None and (row := first_row(where, self._screen)) is not None:
            start = self._rows[min(row, len(self._rows) - 1)]
        self[where] = found = 0 if start is None else self._below[self._count(start)]
        return found

    def _count(self, start: int) -> int:
        """How many keywords begin there or further down."""
        return len(self._places) - bisect_left(self._places, start)


def _wanted(signature: Signature) -> list[tuple[str, frozenset[str]]]:
    """The sets of which a signature needs one text each, and in which regions: the rarest first."""
    every = {(clause.where, some) for clause in signature.all_of for some in clause.needs.keywords}
    every = {(where, some) for where, some in every if not any(map(_common, some))}
    return sorted(every, key=lambda one: (rarity(one[1]), one[0], sorted(one[1])), reverse=True)


def _ways(signature: Signature) -> Iterator[tuple[tuple[int, int], str, frozenset[str]]]:
    """Where a signature may be filed, and under what; the rarer that is, the greater the number in front."""
    for where, some in _wanted(signature):
        length, few = rarity(some)
        yield (length + 4 * (where == _LINE), few), where if where == _LINE else "", some
    for clause in signature.all_of:
        for place, edge in (("begins", clause.needs.begins), ("ends", clause.needs.ends)):
            if edge:
                yield (3, -len(edge)), place, edge


def fastest(keywords: Sequence[str]) -> Search:
    """In one pass if `ahocorasick_rs` is installed, else one by one."""
    try:
        return in_one_pass(keywords)
    except ImportError:
        return one_by_one(keywords)


def in_one_pass(keywords: Sequence[str]) -> Search:
    """A search for all keywords together.  Raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # of the extra `fast`

    rest = {number: keyword for number, keyword in enumerate(keywords) if not _often(keyword)}
    numbers, others = list(rest), one_by_one(["" if number in rest else one for number, one in enumerate(keywords)])
    # A DFA takes five times as long to build, and searches no faster.
    known = BytesAhoCorasick(list(map(_bytes, rest.values())), implementation=Implementation.ContiguousNFA)
    find = known.find_matches_as_indexes
    return lambda text: {**others(text), **{numbers[place]: at for place, at, _ in find(text, overlapping=True)}}


def one_by_one(keywords: Sequence[str]) -> Search:
    """The same with the standard library alone; an empty keyword is passed over."""
    known = [(number, _bytes(keyword)) for number, keyword in enumerate(keywords) if keyword]
    return lambda text: {number: at for number, keyword in known if (at := text.rfind(keyword)) >= 0}


def _common(keyword: str) -> bool:
    """Whether nearly every screen has it: a letter or a digit of ASCII alone."""
    return len(keyword) == 1 and keyword.isascii() and keyword.isalnum()


def _often(keyword: str) -> bool:
    """Whether it is one character of a kind that fills rows: ASCII, box drawing and blocks."""
    return len(keyword) == 1 and (keyword.isascii() or "\u2500" <= keyword <= "\u259f")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
