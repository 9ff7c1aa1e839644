"""Which signatures can match a screen at all, found in one pass over its text.

A signature needs certain literals (`literals.requirements`).  The rarest of each are searched for together, which with
`ahocorasick_rs` (the extra ``fast``) costs the same for 6 signatures as for 5,000; those that are left must have the
rest of their literals as well, each in its own region.  Only signatures that pass are tried; uncertain ones pass.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Callable, Collection, Iterable, Sequence

from attrs import frozen

from stallkit.core.literals import FOLDS, last_characters, needs_ink, requirements, worth
from stallkit.core.matcher import region
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature

__all__ = ["Prefilter", "automaton", "fastest", "substrings"]

Search = Callable[[bytes], Collection[int]]  # gives the numbers of the keys that are in a text

_RARE = 3  # bytes; a shorter key, such as "? ", is on most screens many times, and would slow the pass down
_DFA_KEYS = 10_000  # above it a DFA costs more memory than it saves time (docs/benchmarks.md)
_GRAM = 3  # bytes: the piece of a key that `substrings` looks up


class Prefilter:
    """The index of an ordered list of signatures; `search_for` builds the search for its keys, on the first look."""

    def __init__(
        self, signatures: Sequence[Signature], search_for: Callable[[Sequence[bytes]], Search] | None = None
    ) -> None:
        self._search_for = search_for or fastest
        self._by_key: dict[bytes, list[int]] = defaultdict(list)
        self._by_last: dict[str, list[int]] = defaultdict(list)
        self._always: list[int] = []
        self._with_ink: list[int] = []  # tried whenever the prompt line is not blank
        self._needs = [_Needs.of(signature) for signature in signatures]
        for number, needs in enumerate(self._needs):
            self._add(number, needs)

    def candidates(self, screen: Screen) -> list[int]:
        """The numbers of the signatures worth trying, in order."""
        whole = _lowered(f"{screen.title}\n{screen.text}" if screen.title else screen.text)
        hits = self._search(whole)
        found = set(self._always)
        for hit in hits:
            found.update(self._owners[hit])
        last = _last(screen)
        if last:
            found.update(self._with_ink)
            found.update(self._by_last.get(last, ()))
        if not found:
            return []
        shown: dict[str, bytes] = {}
        folds = self._folding if any(hit >= len(self._by_key) for hit in hits) else frozenset()
        return [
            number for number in sorted(found) if number in folds or self._needs[number].met(screen, last, whole, shown)
        ]

    def _add(self, number: int, needs: _Needs) -> None:
        rarest = needs.literals[0][1] if needs.literals else frozenset()
        if min(map(len, rarest), default=0) >= _RARE:
            for key in rarest:
                self._by_key[key].append(number)
        elif needs.ends is not None:
            for character in needs.ends:
                self._by_last[character].append(number)
        elif needs.ink:
            self._with_ink.append(number)
        else:
            self._always.append(number)

    @cached_property
    def _folding(self) -> frozenset[int]:
        return frozenset(number for number, needs in enumerate(self._needs) if needs.folding)

    @cached_property
    def _owners(self) -> list[Iterable[int]]:
        return [*self._by_key.values(), *[self._folding] * len(FOLDS)]

    @cached_property
    def _search(self) -> Search:
        if not self._by_key and not self._folding:
            return lambda text: ()
        return self._search_for([*self._by_key, *map(_lowered, FOLDS)])


@frozen
class _Needs:
    """What one signature requires of a screen: literals, the rarest first, and a last character."""

    literals: tuple[tuple[Clause, frozenset[bytes]], ...]
    ends: frozenset[str] | None  # of the prompt line
    ink: bool  # the prompt line must not be blank
    folding: bool  # characters that only fold to those of its literals may match

    @classmethod
    def of(cls, signature: Signature) -> _Needs:
        at_cursor = [clause for clause in signature.all_of if clause.where == "prompt_line"]
        literals = [
            (clause, frozenset(map(_lowered, found))) for clause in signature.all_of for found in requirements(clause)
        ]
        return cls(
            literals=tuple(sorted(literals, key=lambda pair: worth(pair[1]), reverse=True)),
            ends=next((found for found in map(last_characters, at_cursor) if found is not None), None),
            ink=any(map(needs_ink, at_cursor)),
            folding=any(map(_ignores_case, signature.all_of)),
        )

    def met(self, screen: Screen, last: str, whole: bytes, shown: dict[str, bytes]) -> bool:
        """Whether the screen meets all of it: `last` ends the prompt line, `whole` is the whole text.

        `shown` caches the regions' bytes for the next signature.
        """
        if (self.ink and not last) or (self.ends is not None and (not last or last not in self.ends)):
            return False
        for clause, literals in self.literals:
            text = shown.get(clause.where)
            if text is None:
                for literal in literals:  # most are not on the screen, and a region costs more than a search
                    if literal in whole:
                        break
                else:
                    return False
                where = region(clause, screen)
                text = shown[clause.where] = _lowered(where.text) if where else b""
            for literal in literals:
                if literal in text:
                    break
            else:
                return False
        return True


def fastest(keys: Sequence[bytes]) -> Search:
    """The automaton where `ahocorasick_rs` is installed, else substring searches."""
    try:
        return automaton(keys)
    except ImportError:
        return substrings(keys)


def automaton(keys: Sequence[bytes]) -> Search:
    """A search for all keys in one pass; raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation

    kind = Implementation.DFA if len(keys) <= _DFA_KEYS else Implementation.ContiguousNFA
    found = BytesAhoCorasick(keys, implementation=kind).find_matches_as_indexes
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


def _last(screen: Screen) -> str:
    return screen.prompt_line.text.rstrip()[-1:]


def _ignores_case(clause: Clause) -> bool:
    return clause.ignore_case or (clause.pattern is not None and "(?" in clause.pattern)
