"""Which signatures can match a screen at all, told from one pass over its text.

A signature needs one of a few literals (`literals.required`): those of all signatures are searched for together, and
only signatures with a literal found, or without one, are tried.  With `ahocorasick_rs` (the extra ``fast``) the pass
costs the same for 6 signatures as for 5,000; without it, one substring search per literal.
"""

from __future__ import annotations

from functools import cached_property
from typing import Callable, Iterable, Sequence

from stallkit.core.literals import FOLDS, last_characters, required
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature

__all__ = ["Prefilter"]

_DFA_KEYS = 2_000  # above it a DFA costs more memory than it saves time (measured: docs/benchmarks.md)
_Search = Callable[[bytes], Iterable[int]]


class Prefilter:
    """The index over the clauses of an ordered list of signatures; built on the first look."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self._by_key: dict[bytes, list[int]] = {}
        self._by_last: dict[str, list[int]] = {}
        self._always: list[int] = []
        self._folding: list[int] = []
        for number, signature in enumerate(signatures):
            self._add(number, signature)

    def candidates(self, screen: Screen) -> list[int]:
        """The numbers of the signatures worth trying, in order."""
        text = f"{screen.title}\n{screen.text}" if screen.title else screen.text
        owners = self._owners
        found = set(self._always)
        for key in self._search(text.encode("utf-8", "surrogatepass").lower()):
            found.update(owners[key])
        if self._folding and not text.isascii() and any(char in text for char in FOLDS):
            found.update(self._folding)
        if self._by_last:
            found.update(self._by_last.get(screen.prompt_line.text.rstrip()[-1:], ()))
        return sorted(found)

    def _add(self, number: int, signature: Signature) -> None:
        literals = [found for found in map(required, signature.all_of) if found]
        if any(_ignores_case(clause) for clause in signature.all_of):
            self._folding.append(number)
        if literals:
            rarest = max(literals, key=lambda found: (min(map(len, found)), -len(found)))
            for literal in rarest:
                self._by_key.setdefault(literal.encode("utf-8", "surrogatepass").lower(), []).append(number)
            return
        at_cursor = (last_characters(clause) for clause in signature.all_of if clause.where == "prompt_line")
        ends = next((found for found in at_cursor if found is not None), None)
        if ends is None:
            self._always.append(number)
        else:
            for character in ends:
                self._by_last.setdefault(character, []).append(number)

    @cached_property
    def _owners(self) -> list[list[int]]:
        return list(self._by_key.values())

    @cached_property
    def _search(self) -> _Search:
        keys = list(self._by_key)
        if not keys:
            return lambda text: ()
        try:
            from ahocorasick_rs import BytesAhoCorasick, Implementation
        except ImportError:
            return lambda text: [number for number, key in enumerate(keys) if key in text]
        kind = Implementation.DFA if len(keys) <= _DFA_KEYS else Implementation.ContiguousNFA
        automaton = BytesAhoCorasick(keys, implementation=kind)
        return lambda text: [match[0] for match in automaton.find_matches_as_indexes(text, overlapping=True)]


def _ignores_case(clause: Clause) -> bool:
    return clause.ignore_case or (clause.pattern is not None and "(?" in clause.pattern)
