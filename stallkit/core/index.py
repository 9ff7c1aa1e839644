"""The index of an ordered list of signatures: what each needs of a screen (`needs`), as bits of integers (`atoms`).

Plain values made from the signatures alone, so that they can be kept from one start to the next
(`stallkit.packs.kept_index`).
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_
from typing import NamedTuple, Sequence

from stallkit.core.atoms import Tables
from stallkit.core.needs import LINE_END, Atom, ClauseNeeds, Piece, of_clause, worth
from stallkit.core.signature import Signature

__all__ = ["Index", "Wanted", "index_of"]

# A clause by its place in `all_of`, its ways (each piece as its bits), and whether it is decided line by line.
Wanted = tuple[int, list[list[int]], bool]


class Index(NamedTuple):
    """Which signatures may match, by the bits of what a screen has; signatures are numbers in their order.

    `filed` and `filed_at_cursor` give, by the bit of an atom, the signatures that are looked for where a screen or its
    prompt line has it, `always` the others; `wanted` is what each signature needs, the rarest clause first.
    """

    tables: Tables
    filed: dict[int, list[int]]
    filed_at_cursor: dict[int, list[int]]
    always: list[int]
    wanted: list[list[Wanted]]
    anywhere: list[int]  # all of these bits are needed, wherever they are
    at_cursor: list[int]  # ... and all of these on the prompt line


def index_of(signatures: Sequence[Signature]) -> Index:
    """The index of these signatures; each is filed under the rarest atoms of one of its clauses."""
    bits: dict[Atom, int] = {}
    filed: dict[int, list[int]] = defaultdict(list)
    filed_at_cursor: dict[int, list[int]] = defaultdict(list)
    always: list[int] = []
    wanted: list[list[Wanted]] = []

    def bit(atom: Atom) -> int:
        return bits.setdefault(atom, 1 << len(bits))

    def together(piece: Piece) -> int:
        return 0 if piece == LINE_END else reduce(or_, map(bit, piece))

    for number, signature in enumerate(signatures):
        needed = [(one, _rarest(one)) for one in map(of_clause, signature.all_of)]
        best, rarest = max(
            needed, key=lambda pair: (pair[0].where == "prompt_line" and pair[1] != [], _rarity(pair[1]))
        )
        for atom in dict.fromkeys(rarest):
            (filed_at_cursor if best.where == "prompt_line" else filed)[bit(atom)].append(number)
        if not rarest:
            always.append(number)
        ways = [[[together(piece) for piece in way] for way in own.ways] for own, _ in needed]
        order = sorted(range(len(needed)), key=lambda place: _rarity(needed[place][1]), reverse=True)
        wanted.append([(place, ways[place], needed[place][0].by_line) for place in order if ways[place]])
    anywhere, at_cursor = [], []
    for signature, own in zip(signatures, wanted, strict=True):
        every = [(signature.all_of[place].where, _in_every(ways)) for place, ways, _ in own]
        anywhere.append(reduce(or_, [needs for _, needs in every], 0))
        at_cursor.append(reduce(or_, [needs for where, needs in every if where == "prompt_line"], 0))
    tables = Tables.of(bits)
    return Index(tables, dict(filed), dict(filed_at_cursor), always, wanted, anywhere, at_cursor)


def _in_every(ways: list[list[int]]) -> int:
    """The bits that every way needs."""
    return reduce(lambda one, other: one & other, [reduce(or_, way) for way in ways])


def _rarest(clause: ClauseNeeds) -> list[Atom]:
    """The rarest atom of each way."""
    return [max((atom for piece in way for atom in piece if piece != LINE_END), key=worth) for way in clause.ways]


def _rarity(atoms: list[Atom]) -> tuple[int, int]:
    return min(map(worth, atoms), default=(0, 0))
