"""What each clause of a signature does: drop or loosen one at a time, judge again, count the changes.

Mutants are pure values.  A case is judged again only if the signature holds, before or after: elsewhere nothing can
change.  The examples of the pack count, and what `stallkit.testing` makes of the hits: the prompt in another
dress and with other contents, and texts that only mention it.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Literal, Sequence

from attrs import evolve, field, frozen

from stallkit.detect.engine import Engine, Match, Rule, try_rule
from stallkit.detect.matcher import Budget
from stallkit.detect.signature import Clause, Pack, Signature, State
from stallkit.terminal.screen import Screen
from stallkit.testing import Example
from stallkit.testing.lookalikes import made_from
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate.evaluation import Cells
from stallkit_lab.evaluate.prediction import Prediction, decided, judge_case

Change = Literal["dropped", "without ^", "without $", "anywhere", "first half", "last half"]


@frozen
class Mutant:
    """A signature with one clause dropped or loosened: ``all_of[1]``, counted from 1, and the change."""

    signature: Signature = field(repr=False)
    role: str
    item: int
    clause: Clause
    change: Change

    @property
    def name(self) -> str:
        """The clause, as lint names it."""
        return f"{self.role}[{self.item + 1}]"


@frozen
class Effect:
    """The cases and examples under one mutant.

    `adds` is what the original clause adds to the precision of the signature's state, `costs` what it costs in recall;
    None if there is nothing to divide by.  `changed` are the ids of cases with another state, kind,
    certainty, signature or key, `broken` the examples that are no longer met.  `without_use`: there were cases, and
    nothing at all changed.
    """

    mutant: Mutant
    state: Cells
    adds: float | None
    costs: float | None
    wrong_keys: int
    changed: tuple[str, ...]
    broken: tuple[str, ...]
    without_use: bool

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit pack tune --json`` prints it."""
        return {
            "clause": self.mutant.name,
            "text": str(self.mutant.clause),
            "change": self.mutant.change,
            "precision": self.state.precision,
            "recall": self.state.recall,
            "adds_to_precision": self.adds,
            "costs_in_recall": self.costs,
            "wrong_keys": self.wrong_keys,
            "changed": list(self.changed),
            "broken": list(self.broken),
            "without_use": self.without_use,
        }


@frozen
class Tuning:
    """The figures of the original signature, and the effect of each mutant."""

    rule: Rule
    cases: int
    matched: int
    state: Cells
    wrong_keys: int
    effects: tuple[Effect, ...]

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit pack tune --json`` prints it."""
        return {
            "version": 1,
            "signature": self.rule.name,
            "state": self.rule.signature.state,
            "cases": self.cases,
            "matched": self.matched,
            "precision": self.state.precision,
            "recall": self.state.recall,
            "wrong_keys": self.wrong_keys,
            "effects": [effect.as_object() for effect in self.effects],
        }


def mutants(signature: Signature) -> Iterator[Mutant]:
    """Each clause dropped; each of all_of also without its anchors, in a wider region, and a literal as its halves.

    The only clause of all_of is never dropped.  A mutant keeps the tier of the original.
    """
    signature = evolve(signature, tier=signature.tier)
    for role in ("all_of", "none_of"):
        clauses: tuple[Clause, ...] = getattr(signature, role)
        for item, clause in enumerate(clauses):
            before, after = clauses[:item], clauses[item + 1 :]
            if before or after or role == "none_of":
                dropped: dict[str, Any] = {role: (*before, *after)}
                changed = evolve(signature, **dropped)
                yield Mutant(changed, role, item, clause, "dropped")
            for change, looser in _looser(clause) if role == "all_of" else ():
                loosened: dict[str, Any] = {role: (*before, looser, *after)}
                changed = evolve(signature, **loosened)
                yield Mutant(changed, role, item, clause, change)


def tune(
    rule: Rule,
    packs: Sequence[Pack],
    cases: Sequence[Case],
    examples: Sequence[Example] = (),
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Tuning:
    """The effect of every mutant of a signature on cases, on the examples of its pack, and on what is made of its hits.

    A case of the state ``unknown`` has no label: it counts for what changes, and not in the figures.  `tell` is called
    with how many mutants are done, of how many.
    """
    engine = Engine(packs)
    before = [judge_case(case, engine) for case in cases]
    held = [holds(rule, case.snapshot.screen) for case in cases]
    hits = (one for one in examples if one.signature == rule.signature.id and one.wanted and not one.todo)
    told = [*examples, *(made for hit in hits for made in made_from(rule.signature, hit))]
    shown = [(example, holds(rule, example.screen), met(example, rule.pack, engine)) for example in told]
    state = _cells(rule.signature, before)
    effects = []
    todo = list(mutants(rule.signature))
    for number, mutant in enumerate(todo):
        tell(number, len(todo))
        pack = replaced(rule.pack, mutant.signature)
        changed = Rule(pack, mutant.signature)
        other = Engine([pack if one.name == pack.name else one for one in packs])
        after = [
            judge_case(case, other) if was or holds(changed, case.snapshot.screen) else old
            for case, was, old in zip(cases, held, before, strict=True)
        ]
        cells = _cells(rule.signature, after)
        broken = [
            f"{example.signature} {example.name}"
            for example, was, is_met in shown
            if is_met and (was or holds(changed, example.screen)) and not met(example, pack, other)
        ]
        moved = [new.id for old, new in zip(before, after, strict=True) if _judged(old) != _judged(new)]
        effects.append(
            Effect(
                mutant=mutant,
                state=cells,
                adds=_less(state.precision, cells.precision),
                costs=_less(cells.recall, state.recall),
                wrong_keys=_wrong_keys(after),
                changed=tuple(moved),
                broken=tuple(broken),
                without_use=bool(cases) and not moved and not broken,
            )
        )
    tell(len(todo), len(todo))
    matched = sum(one.signature == rule.name for one in before)
    return Tuning(rule, len(cases), matched, state, _wrong_keys(before), tuple(effects))


def _looser(clause: Clause) -> Iterator[tuple[Change, Clause]]:
    if clause.where not in ("screen", "title"):
        yield "anywhere", evolve(clause, where="screen", begins="", ends="")
    if clause.pattern is not None:
        yield from _without_anchors(clause, clause.pattern)
    elif len(words := (clause.text or "").split(" ")) > 1:
        middle = len(words) // 2
        for change, half in (("first half", words[:middle]), ("last half", words[middle:])):
            text = " ".join(half)
            if text.strip():
                yield change, evolve(clause, text=text)  # type: ignore[misc]  # the names are of Change


def _without_anchors(clause: Clause, pattern: str) -> Iterator[tuple[Change, Clause]]:
    """The pattern without anchors at its ends: inside a group an anchor may belong to one branch."""
    if pattern.startswith("^") and pattern.strip("^ "):
        yield "without ^", evolve(clause, pattern=pattern[1:])
    if pattern.endswith("$") and not pattern.endswith("\\$") and pattern.strip("$ "):
        yield "without $", evolve(clause, pattern=pattern[:-1])


def replaced(pack: Pack, signature: Signature) -> Pack:
    """The pack with its signature of that id replaced."""
    return evolve(pack, signatures=[signature if one.id == signature.id else one for one in pack.signatures])


def holds(rule: Rule, screen: Screen) -> bool:
    """Whether the clauses hold, or might, where a search takes too long."""
    return try_rule(rule, screen, Budget()).held is not False


def met(example: Example, pack: Pack, engine: Engine) -> bool:
    """Whether an example is as required: a hit matches its own signature, a miss none in its state."""
    match = decided(engine, example.screen).match
    signature = next(one for one in pack.signatures if one.id == example.signature)
    if example.wanted:
        return _is(match, pack, signature)
    return match is None or match.pack.name != pack.name or match.signature.state is not signature.state


def _is(match: Match | None, pack: Pack, signature: Signature) -> bool:
    return match is not None and match.pack.name == pack.name and match.signature.id == signature.id


def _cells(signature: Signature, predictions: Iterable[Prediction]) -> Cells:
    labelled = (one for one in predictions if one.true_state is not State.UNKNOWN)
    return Cells.count((one.true_state is signature.state, one.state is signature.state) for one in labelled)


def _judged(one: Prediction) -> tuple[object, ...]:
    return one.state, one.kind, one.certainty, one.signature, one.pressed


def _wrong_keys(predictions: Iterable[Prediction]) -> int:
    return sum("wrong" in one.pressed for one in predictions if one.true_state is not State.UNKNOWN)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one - other, 4)
