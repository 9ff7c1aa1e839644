"""The rule on the order of trial: within a tier, signatures with a dismissal come first, or the pack says why not."""

from __future__ import annotations

from typing import Iterator

from stallkit.lab.lint.findings import Finding
from stallkit.lab.lint.subject import Subject

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """A finding on each signature without a dismissal that is tried before one with it, without a reason."""
    in_order = subject.alone.signatures
    for place, signature in enumerate(in_order):
        if signature.dismissal is not None or signature.first_because.strip():
            continue
        behind = (one for one in in_order[place + 1 :] if one.tier is signature.tier and one.dismissal is not None)
        dismissed = next(behind, None)
        if dismissed is not None:
            why = f"it is tried before {dismissed.id}, which has a dismissal, and first_because gives no reason"
            yield subject.finding("SK206", why, signature, "id")
