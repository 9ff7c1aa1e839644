"""Which signatures can match a screen at all, from what their clauses need (`needs`) and what its lines have (`atoms`).

A signature is filed under the rarest atoms of one of its clauses; only where a line of the screen has one of those are
the others compared, each in its own region.  That costs the same for 6 signatures as for 5,000.  The answer is
remembered for the next screen whose lines have the same.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import or_
from typing import Callable, Sequence

from stallkit.core.atoms import Atoms, Search
from stallkit.core.index import Index, index_of
from stallkit.core.lines import Lines, Plan, Recent, View
from stallkit.core.needs import by_line
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature

__all__ = ["Prefilter"]

REMEMBERED = 2_048  # screens, by what their lines have


class Prefilter:
    """Finds what can match of an ordered list of signatures; `search_for` builds the search for their texts (`atoms`).

    `index` is what `index_of` gives for them, where it is known.
    """

    def __init__(
        self,
        signatures: Sequence[Signature],
        search_for: Callable[[Sequence[bytes]], Search] | None = None,
        index: Index | None = None,
    ) -> None:
        self._signatures = signatures
        self._index = index_of(signatures) if index is None else index
        self._atoms = Atoms(self._index.tables, search_for)
        self._plans: dict[int, Plan] = {}  # by the identity of a clause: hashing one costs more than a search
        self._wanted: dict[int, list[Plan]] = {}  # those of a signature, when it is first likely
        self.forget()

    def forget(self) -> None:
        """Forget all lines, as if no screen had been seen."""
        self._known = Recent[list[int]](REMEMBERED)
        self.lines = Lines(self._atoms.of)

    def candidates(self, screen: Screen) -> list[int]:
        """The numbers of the signatures worth trying, in order."""
        return self.within(View(screen, self.lines))

    def within(self, view: View) -> list[int]:
        """The same, for a view of the screen."""
        if view.several:
            return list(range(len(self._signatures)))
        known = self._known.get(view.kinds) if view.whole else None
        if known is None:
            known = [number for number in self._likely(view) if all(map(view.met, self._plans_of(number)))]
            if view.whole:
                self._known.put(view.kinds, known)
        return known

    def _likely(self, view: View) -> list[int]:
        """Those with all that they need, wherever it is."""
        index = self._index
        found = set(index.always)
        for bits, every, filed in (
            (view.bits, self._every, index.filed),
            (view.at_cursor.bits, self._every_at_cursor, index.filed_at_cursor),
        ):
            left = bits & every
            while left:
                bit = left & -left
                found.update(filed[bit])
                left ^= bit
        lacking, lacking_at_cursor = ~view.bits, ~view.at_cursor.bits
        return [
            number
            for number in sorted(found)
            if not index.at_cursor[number] & lacking_at_cursor and not index.anywhere[number] & lacking
        ]

    @cached_property
    def _every(self) -> int:
        return reduce(or_, self._index.filed, 0)

    @cached_property
    def _every_at_cursor(self) -> int:
        return reduce(or_, self._index.filed_at_cursor, 0)

    def plan(self, clause: Clause) -> Plan:
        """How a clause of one of the signatures is decided."""
        known = self._plans.get(id(clause))
        if known is None:  # one of `none_of`: few of those are ever tried
            known = self._plans[id(clause)] = Plan(clause, [], by_line(clause))
        return known

    def _plans_of(self, number: int) -> list[Plan]:
        """The plans of a signature's `all_of` that need something, the rarest first."""
        known = self._wanted.get(number)
        if known is None:
            clauses = self._signatures[number].all_of
            wanted = self._index.wanted[number]
            known = self._wanted[number] = [Plan(clauses[place], ways, alone) for place, ways, alone in wanted]
            self._plans.update((id(plan.clause), plan) for plan in known)
        return known
