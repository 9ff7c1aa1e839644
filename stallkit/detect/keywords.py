"""Which signatures may hold on a screen, by the texts without which their clauses cannot: their keywords."""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import accumulate
from operator import or_
from typing import Callable, Collection, Sequence

from stallkit.detect.matcher import first_row, region
from stallkit.detect.pattern import rarity, searched
from stallkit.detect.signature import Signature
from stallkit.terminal.screen import REGION_COLUMNS, Screen

__all__ = ["Keywords", "Search", "fastest", "in_one_pass", "one_by_one"]

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
    every = {(where, some) for where, some in every if not any(map(_common, some))}
    # Of the same length, those of the prompt line are rarer by far: it is one row.
    return sorted(every, key=lambda one: (one[0] == _LINE, rarity(one[1]), one[0], sorted(one[1])), reverse=True)


def _common(keyword: str) -> bool:
    """Whether nearly every screen has it: a letter or a digit of ASCII alone."""
    return len(keyword) == 1 and keyword.isascii() and keyword.isalnum()


def fastest(keywords: Sequence[str]) -> Search:
    """In one pass if `ahocorasick_rs` is installed, else one by one."""
    try:
        return in_one_pass(keywords)
    except ImportError:
        return one_by_one(keywords)


def in_one_pass(keywords: Sequence[str]) -> Search:
    """A search for all keywords together.  Raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # extra: fast

    # A DFA takes five times as long to build, and searches no faster.
    known = BytesAhoCorasick(list(map(_bytes, keywords)), implementation=Implementation.ContiguousNFA)
    return lambda row: {match[0] for match in known.find_matches_as_indexes(_bytes(row), overlapping=True)}


def one_by_one(keywords: Sequence[str]) -> Search:
    """The same with the standard library alone."""
    return lambda row: [number for number, keyword in enumerate(keywords) if keyword in row]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
