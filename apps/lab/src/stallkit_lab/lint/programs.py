"""On how many programs each form of a pack was right, and on how many wrong, by labelled screens.

A signature that one program's line meets is not general, whatever its figures are: these are counts of programs, not of
screens.  A clause alone is wrong on many, since the others decide with it; that it holds on one program only is what
tells.  For packs that name no program of their own.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Iterable, Iterator, Sequence

from attrs import frozen

from stallkit.detect.engine import Engine, Fate
from stallkit.detect.signature import Pack, Signature
from stallkit_lab.corpus_lines import Case, Label
from stallkit_lab.evaluate.prediction import SORTS
from stallkit_lab.lint.findings import Finding
from stallkit_lab.lint.subject import Subject


@frozen
class Count:
    """The programs on whose screens a signature, or one clause of it alone (``all_of[1]``), was right or wrong.

    Right: the screen's label has the signature's state, and where that is waiting a kind that calls for the same sort
    of answer.  A program may be in both.
    """

    signature: str
    clause: str  # empty for the whole signature
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit lint --corpus --json`` prints it."""
        clause = self.clause or None
        return {"signature": self.signature, "clause": clause, "right": self.right, "wrong": self.wrong}


def counted(pack: Pack, cases: Sequence[Case]) -> tuple[Count, ...]:
    """The counts of each signature and of each of its `all_of` clauses, in the order of the pack.

    >>> counted(Pack("acme", signatures=[]), [])
    ()
    """
    engine = Engine([pack])
    programs: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
    for case in cases:
        for report in engine.explain(case.snapshot.screen):
            signature = report.rule.signature
            right = _is_right(signature, case.label)
            held = [found.held is True for role, _, found in report.clauses if role == "all_of"]
            whole = report.fate in (Fate.MATCH, Fate.SHADOWED)
            for place, holds in enumerate([whole, *held]):
                if holds:
                    programs[signature.id, f"all_of[{place}]" if place else "", right].add(case.program)
    return tuple(
        Count(one.id, clause, *(tuple(sorted(programs[one.id, clause, right])) for right in (True, False)))
        for one in pack.signatures
        for clause in ("", *(f"all_of[{place}]" for place, _ in enumerate(one.all_of, 1)))
    )


def check(subject: Subject, counts: Iterable[Count]) -> Iterator[Finding]:
    """The forms that one program alone shows, and those that are wrong on as many programs as they are right."""
    for count in counts:
        if subject.pack.own or count.clause:
            continue
        right, wrong = len(count.right), len(count.wrong)
        if right == 1:
            yield subject.finding("SK406", f"of all programs, only {count.right[0]} shows it", count.signature)
        if wrong and wrong >= right:
            named = ", ".join(count.wrong[:4])
            yield subject.finding("SK407", f"right on {right} programs, wrong on {wrong}: {named}", count.signature)


def _is_right(signature: Signature, label: Label) -> bool:
    if signature.state is not label.state:
        return False
    return signature.kind is label.kind or any({signature.kind, label.kind} <= sort for sort in SORTS)
