"""Which signatures may hold on a screen, by the texts without which their clauses cannot: their keywords."""

from __future__ import annotations

from collections import defaultdict
from typing import Callable, Collection, Sequence

from stallkit.core.matcher import region
from stallkit.core.needs import Needs, folded, rarity
from stallkit.core.screen import Screen
from stallkit.core.signature import Signature

__all__ = ["Keywords", "Search", "fastest", "in_one_pass", "one_by_one"]

Search = Callable[[str], Collection[int]]  # gives the numbers of the keywords that are in a text


class Keywords:
    """Finds what may hold of an ordered list of signatures.

    A signature is filed under the rarest keywords of its clauses, so that thousands cost no more than a few if none of
    theirs is on the screen.
    """

    def __init__(self, signatures: Sequence[Signature], search_for: Callable[[Sequence[str]], Search] | None = None):
        every = [[(clause.where, clause.needs) for clause in one.all_of] for one in signatures]
        self._sets = [sorted((some for _, one in each for some in one.keywords), key=rarity)[::-1] for each in every]
        self._wanted = [[one for one in each if one[0] != "screen" and one[1] != Needs()] for each in every]
        self._always: list[int] = []
        self._filed: dict[str, list[int]] = defaultdict(list)
        for number, sets in enumerate(self._sets):
            for keyword in sets[0] if sets else ():
                self._filed[keyword].append(number)
            if not sets:
                self._always.append(number)
        self._texts = sorted({text for sets in self._sets for some in sets for text in some if len(text) > 1})
        self._search = (search_for or fastest)(self._texts)

    def among(self, screen: Screen) -> list[int]:
        """The numbers of the signatures that may hold on a screen, in order."""
        whole = folded(f"{screen.text}\n{screen.title or ''}\n{screen.prompt_line.text}")
        found = frozenset(whole).union(self._texts[number] for number in self._search(whole))
        likely = {*self._always, *(number for keyword in found & self._filed.keys() for number in self._filed[keyword])}
        regions: dict[str, str] = {}
        return [
            number
            for number in sorted(likely)
            if not any(map(found.isdisjoint, self._sets[number])) and self._met(number, screen, found, regions)
        ]

    def _met(self, number: int, screen: Screen, found: frozenset[str], regions: dict[str, str]) -> bool:
        """Whether each clause's region has what the clause needs; `regions` are those in one case, looked at so far."""
        for where, wanted in self._wanted[number]:
            text = regions.get(where)
            if text is None:
                part = region(where, screen)
                text = regions[where] = "" if part is None else folded(part.text)
            if not wanted.met(text, found):
                return False
        return True


def fastest(keywords: Sequence[str]) -> Search:
    """In one pass if `ahocorasick_rs` is installed, else one by one."""
    try:
        return in_one_pass(keywords)
    except ImportError:
        return one_by_one(keywords)


def in_one_pass(keywords: Sequence[str]) -> Search:
    """A search for all keywords together.  Raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # of the extra `fast`

    # A DFA takes five times as long to build, and searches no faster.
    known = BytesAhoCorasick(list(map(_bytes, keywords)), implementation=Implementation.ContiguousNFA)
    return lambda text: {match[0] for match in known.find_matches_as_indexes(_bytes(text), overlapping=True)}


def one_by_one(keywords: Sequence[str]) -> Search:
    """The same with the standard library alone."""
    return lambda text: [number for number, keyword in enumerate(keywords) if keyword in text]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
