"""One clause tried on screens before it is in a pack: on which rows it holds, and whether it would win there."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Iterable, Iterator, Sequence

from attrs import field, frozen

from stallkit.detect.engine import Engine, Fate, Rule, try_rule
from stallkit.detect.matcher import TIMEOUT_S, Budget, find, last_in, region
from stallkit.detect.signature import Clause, Kind, Pack, Signature, State
from stallkit.errors import SignatureError
from stallkit.terminal.screen import Screen

__all__ = ["Row", "Trial", "Wins", "counts", "tried"]

_NAME = "tried"
_LAST = "~"  # of packs of one priority, the last by the distribution's name: what wins so wins in any


class Wins(StrEnum):
    """What would become of a signature of this clause alone."""

    WINS = "wins"
    SHADOWED = "shadowed"  # another signature is tried before it, and matches
    STALE = "stale"  # the program went on below it
    UNDECIDED = "undecided"  # the search takes too long
    NO = "no"


@frozen
class Row:
    """A row of the screen on which the clause holds, 0-based, and the text that it found there."""

    row: int
    text: str


@frozen
class Trial:
    """A clause on one screen; `other` is the signature that wins with it there, `today` the one without it."""

    name: str = field(metadata={"key": "screen"})
    rows: tuple[Row, ...]
    wins: Wins
    other: str | None = None
    today: str | None = None


def tried(
    clause: Clause,
    screens: Iterable[tuple[str, Screen]],
    packs: Sequence[Pack],
    state: State = State.WAITING,
    foreground: Sequence[str] = (),
) -> Iterator[Trial]:
    """The clause on each named screen, as the only one of a signature beside the packs.

    `foreground` are the programs of its pack, which puts it before packs without.  Raises SignatureError for a pattern
    that does not compile.
    """
    kind = Kind.QUESTION if state is State.WAITING else None
    signature = Signature(id=_NAME, title=_NAME, state=state, kind=kind, all_of=[clause])
    mine = Pack(name=_free(packs), signatures=[signature], foreground=foreground, distribution=_LAST)
    try:
        together, today = Engine([*packs, mine]), Engine(packs)
    except SignatureError as error:
        raise SignatureError(_NAME, "pattern", error.why) from error
    rule = Rule(mine, signature)
    for name, screen in screens:
        yield _trial(name, screen, rule, together, today)


def counts(trials: Iterable[Trial]) -> dict[str, int]:
    """How many screens there are of each outcome."""
    found = Counter(one.wins for one in trials)
    return {str(wins): found[wins] for wins in Wins}


def _trial(name: str, screen: Screen, rule: Rule, together: Engine, today: Engine) -> Trial:
    clause = rule.signature.all_of[0]
    held = try_rule(rule, screen, Budget()).held
    if not held:
        return Trial(name, (), Wins.NO if held is False else Wins.UNDECIDED)
    match = together.detect(screen).match
    other = f"{match.pack.name}:{match.signature.id}" if match else None
    was = today.detect(screen).match
    before = f"{was.pack.name}:{was.signature.id}" if was else None
    rows = tuple(_rows(clause, screen))
    if other == rule.name:
        return Trial(name, rows, Wins.WINS, today=before)
    fate = next(one.fate for one in together.explain(screen) if one.rule.name == rule.name)
    return Trial(name, rows, Wins.STALE if fate is Fate.STALE else Wins.SHADOWED, other, before)


def _rows(clause: Clause, screen: Screen) -> Iterator[Row]:
    """Every row on which it holds alone; where it needs several, the one on which it begins."""
    where = region(clause.where, screen)
    lines = where.text.split("\n") if where else []
    alone = []
    for number, line in enumerate(lines):
        try:
            place = last_in(clause, line, TIMEOUT_S)
        except TimeoutError:
            continue
        if place is not None and where is not None:
            alone.append(Row(where.row + number, line[slice(*place)]))
    if alone:
        yield from alone
    elif (span := find(clause, screen, Budget()).span) is not None:
        yield Row(span.line, span.text)


def _free(packs: Sequence[Pack]) -> str:
    names = {pack.name for pack in packs}
    name = _NAME
    while name in names:
        name += "_"
    return name
