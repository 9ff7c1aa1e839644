"""What screens of this form are, learnt from those of other programs: a claim that is never more than a guess."""

from __future__ import annotations

from stallkit.core.by_form import form_of
from stallkit.core.claim import Claim, Sign, Source
from stallkit.core.classifier import Classifier
from stallkit.core.verdict import Verdict
from stallkit.evidence.look import Look

__all__ = ["form_claim"]


def form_claim(look: Look, shown: Verdict, classifier: Classifier | None = None) -> Claim | None:
    """Another state than what is shown so far, or a doubt about it; None where more than the form is known."""
    found = form_of(shown, look.snapshot, look.facts, classifier)
    if found is None:
        return None
    state, kind, why, doubts = found
    return Claim(Source.FORM, Sign.DOUBTS if doubts else Sign.LOOKS, state, kind, why=(why,))
