"""Is each clause of use: does dropping it change the result of some example of the pack."""

from __future__ import annotations

from typing import Iterator

from stallkit.detect.engine import Engine, Rule
from stallkit.testing.example import Example
from stallkit_lab.lint.findings import Finding, brief
from stallkit_lab.lint.subject import Subject
from stallkit_lab.tune import Mutant, holds, met, mutants, replaced

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """A finding on each clause without which every example has the same result.

    Signatures without a hit or a miss are left to the rules on examples.
    """
    shown = [one for one in subject.examples if not one.todo and met(one, subject.pack, subject.alone)]
    told = {(one.signature, one.wanted) for one in shown}
    for signature in subject.pack.signatures:
        if signature.id in subject.unsure or not {(signature.id, True), (signature.id, False)} <= told:
            continue
        for mutant in mutants(signature):
            if mutant.change == "dropped" and not _of_use(mutant, subject, shown):
                why = f"without {brief(mutant.clause)} every example has the same result"
                yield subject.finding("SK205", why, signature, mutant.role, mutant.item)


def _of_use(mutant: Mutant, subject: Subject, shown: list[Example]) -> bool:
    pack = replaced(subject.pack, mutant.signature)
    looser = Rule(pack, mutant.signature)
    concerned = [example for example in shown if holds(looser, example.screen)]
    if not concerned:
        return False
    engine = Engine([pack])
    return any(not met(example, pack, engine) for example in concerned)
