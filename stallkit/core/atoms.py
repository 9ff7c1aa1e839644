"""Which of some atoms (`needs`) a line has: each is one bit of an integer.

The texts of all atoms are searched for together: with `ahocorasick_rs` (the extra ``fast``) that costs the same for a
few as for thousands.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property, reduce
from operator import or_
from typing import Callable, Collection, Mapping, NamedTuple, Sequence

from stallkit.core.literals import FOLDS
from stallkit.core.needs import BEYOND_ASCII, MARGIN, Atom

__all__ = ["BLANKS", "Atoms", "Search", "Tables", "automaton", "fastest", "substrings"]

Search = Callable[[bytes], Collection[int]]  # gives the numbers of the keys that are in a text

_GRAM = 3  # bytes: the piece of a key that `substrings` looks up
# All that str.isspace takes for a blank: to ask it of every character would take longer than the rest of the import.
BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
BLANKS += "\u2028\u2029\u202f\u205f\u3000"
_MARGIN = MARGIN + BLANKS


class Tables(NamedTuple):
    """The bits of atoms by what they are looked up with: plain values, which can be kept."""

    ink: int
    beyond: int  # of those that characters beyond ASCII may stand for
    folding: int
    chars: dict[str, int]
    heads: dict[str, int]
    feet: dict[str, int]
    texts: dict[str, int]

    @classmethod
    def of(cls, bits: Mapping[Atom, int]) -> Tables:
        """The tables of atoms with their bits."""

        def together(fits: Callable[[Atom], bool]) -> int:
            return reduce(or_, [bit for atom, bit in bits.items() if fits(atom)], 0)

        def by_key(sort: str, fits: Callable[[str], bool]) -> dict[str, int]:
            found: dict[str, int] = defaultdict(int)
            for atom, bit in bits.items():
                for key in filter(fits, atom.any_of if atom.sort == sort else ()):
                    found[key] |= bit
            return dict(found)

        return cls(
            together(lambda atom: atom.sort == "ink"),
            together(lambda atom: BEYOND_ASCII in atom.any_of),
            together(lambda atom: atom.folds),
            by_key("any", lambda text: len(text) == 1),
            by_key("head", bool),
            by_key("foot", bool),
            by_key("any", lambda text: len(text) > 1),
        )


class Atoms:
    """Finds the atoms of a line; `search_for` builds the search for their texts, on the first line."""

    def __init__(self, tables: Tables, search_for: Callable[[Sequence[bytes]], Search] | None = None) -> None:
        self._search_for = search_for or fastest
        self._tables = tables
        self._texts = list(tables.texts.values())

    def of(self, text: str) -> int:
        """The bits of all atoms that a line has, and perhaps more."""
        if not text or text.isspace():
            return 0
        tables = self._tables
        bits, chars, texts = tables.ink, tables.chars, self._texts
        for char in chars.keys() & set(text):
            bits |= chars[char]
        if said := text.strip(_MARGIN):
            bits |= tables.heads.get(said[0], 0) | tables.feet.get(said[-1], 0)
        if not text.isascii():
            bits |= tables.beyond
            if any([char in text for char in FOLDS]):
                bits |= tables.folding
        for number in self._search(_lowered(text)):
            bits |= texts[number]
        return bits

    @cached_property
    def _search(self) -> Search:
        keys = self._tables.texts
        return self._search_for([_lowered(text) for text in keys]) if keys else lambda text: ()


def fastest(keys: Sequence[bytes]) -> Search:
    """The automaton where `ahocorasick_rs` is installed, else substring searches."""
    try:
        return automaton(keys)
    except ImportError:
        return substrings(keys)


def automaton(keys: Sequence[bytes]) -> Search:
    """A search for all keys in one pass; raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation

    # A DFA takes five times as long to build, and searches lines no faster.
    found = BytesAhoCorasick(keys, implementation=Implementation.ContiguousNFA).find_matches_as_indexes
    return lambda text: {match[0] for match in found(text, overlapping=True)}


def substrings(keys: Sequence[bytes], few: int = 100) -> Search:
    """A search for each key, with the standard library alone; of many keys only for those with a piece in the text."""
    if len(keys) <= few:
        return lambda text: [number for number, key in enumerate(keys) if key in text]
    by_gram: dict[tuple[int, ...], list[int]] = defaultdict(list)
    short = [number for number, key in enumerate(keys) if len(key) < _GRAM]
    counts: dict[tuple[int, ...], int] = defaultdict(int)
    for key in keys:
        for gram in _grams(key):
            counts[gram] += 1
    for number, key in enumerate(keys):
        if len(key) >= _GRAM:
            by_gram[min(_grams(key), key=counts.__getitem__)].append(number)

    def search(text: bytes) -> list[int]:
        likely = [number for gram in by_gram.keys() & _grams(text) for number in by_gram[gram]]
        return [number for number in (*short, *likely) if keys[number] in text]

    return search


def _grams(text: bytes) -> set[tuple[int, ...]]:
    return set(zip(*(text[start:] for start in range(_GRAM)), strict=False))


def _lowered(text: str) -> bytes:
    """The text as bytes, ASCII lowered: that is far cheaper than lowering characters."""
    return text.encode("utf-8", "surrogatepass").lower()
