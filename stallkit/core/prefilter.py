"""Which signatures can match a screen at all, from what their clauses need (`needs`) and what its lines have (`atoms`).

A signature is filed under the rarest atoms of one of its clauses; only where a line of the screen has one of those are
the others compared, each in its own region.  That costs the same for 6 signatures as for 5,000.  The answer is
remembered for the next screen whose lines have the same.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property, reduce
from operator import or_
from typing import Callable, Sequence

from stallkit.core.atoms import Atoms, Search
from stallkit.core.lines import Lines, Plan, Recent, View
from stallkit.core.needs import LINE_END, Atom, ClauseNeeds, Piece, of_clause, worth
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature

__all__ = ["Prefilter"]

REMEMBERED = 2_048  # screens, by what their lines have


class Prefilter:
    """The index of an ordered list of signatures; `search_for` builds the search for their texts (`atoms`)."""

    def __init__(
        self, signatures: Sequence[Signature], search_for: Callable[[Sequence[bytes]], Search] | None = None
    ) -> None:
        self._atoms = Atoms(search_for)
        self._filed: dict[int, list[int]] = defaultdict(list)  # by the bit of an atom
        self._filed_at_cursor: dict[int, list[int]] = defaultdict(list)
        self._always: list[int] = []
        self._plans: dict[int, Plan] = {}  # by the identity of a clause: hashing one costs more than a search
        self._wanted = [self._plans_of(number, signature) for number, signature in enumerate(signatures)]
        self._anywhere = [reduce(or_, [plan.anywhere for plan in plans], 0) for plans in self._wanted]
        self._at_cursor = [
            reduce(or_, [plan.anywhere for plan in plans if plan.where == "prompt_line"], 0) for plans in self._wanted
        ]
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
            return list(range(len(self._wanted)))
        known = self._known.get(view.kinds) if view.whole else None
        if known is None:
            known = [number for number in self._likely(view) if all(map(view.met, self._wanted[number]))]
            if view.whole:
                self._known.put(view.kinds, known)
        return known

    def _likely(self, view: View) -> list[int]:
        """Those with all that they need, wherever it is."""
        found = set(self._always)
        for bits, every, filed in (
            (view.bits, self._every, self._filed),
            (view.at_cursor.bits, self._every_at_cursor, self._filed_at_cursor),
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
            if not self._at_cursor[number] & lacking_at_cursor and not self._anywhere[number] & lacking
        ]

    @cached_property
    def _every(self) -> int:
        return reduce(or_, self._filed, 0)

    @cached_property
    def _every_at_cursor(self) -> int:
        return reduce(or_, self._filed_at_cursor, 0)

    def plan(self, clause: Clause) -> Plan:
        """How a clause of one of the signatures is decided."""
        known = self._plans.get(id(clause))
        if known is None:  # one of `none_of`: few of those are ever tried
            known = self._plans[id(clause)] = Plan(clause, [], of_clause(clause).by_line)
        return known

    def _plans_of(self, number: int, signature: Signature) -> list[Plan]:
        """The plans of a signature's `all_of`, the rarest first; it is filed under the rarest atoms of one of them."""
        needed = [(one, _rarest(one)) for one in map(of_clause, signature.all_of)]
        best, rarest = max(
            needed, key=lambda pair: (pair[0].where == "prompt_line" and pair[1] != [], _rarity(pair[1]))
        )
        filed = self._filed_at_cursor if best.where == "prompt_line" else self._filed
        for atom in dict.fromkeys(rarest):
            filed[self._atoms.bit(atom)].append(number)
        if not rarest:
            self._always.append(number)
        made = []
        for clause, (own, atoms) in zip(signature.all_of, needed, strict=True):
            ways = [[self._bits_of(piece) for piece in way] for way in own.ways]
            plan = self._plans[id(clause)] = Plan(clause, ways, own.by_line)
            if ways:
                made.append((_rarity(atoms), plan))
        return [plan for _, plan in sorted(made, key=lambda pair: pair[0], reverse=True)]

    def _bits_of(self, piece: Piece) -> int:
        return 0 if piece == LINE_END else reduce(or_, map(self._atoms.bit, piece))


def _rarest(clause: ClauseNeeds) -> list[Atom]:
    """The rarest atom of each way."""
    return [max((atom for piece in way for atom in piece if piece != LINE_END), key=worth) for way in clause.ways]


def _rarity(atoms: list[Atom]) -> tuple[int, int]:
    return min(map(worth, atoms), default=(0, 0))
