"""Who knows a screen by its form: a classifier, of a distribution of its own, found by the entry point.

A distribution adds one by ``[project.entry-points."stallkit.classifiers"]``, ``NAME = "module:FUNCTION"``.
One counts: where several are installed, the first by the names of their distributions.  Without one, nothing is claimed
by form.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Protocol

from attrs import frozen

from stallkit.detect.engine import Detection, Match
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.entry_points import EntryPoint, entry_points
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look

__all__ = ["ENTRY_POINTS", "SILENT", "Classifier", "Shown", "installed_classifier"]

ENTRY_POINTS = "stallkit.classifiers"

_log = logging.getLogger(__name__)


@frozen
class Shown:
    """What screen, motion, foreground and kernel come to on a look, without all else."""

    state: State
    certainty: Certainty
    kind: Kind | None
    detection: Detection

    @property
    def match(self) -> Match | None:
        """The signature that matched."""
        return self.detection.match


class Classifier(Protocol):
    """Tells by the form of a screen what no signature of its own program knows."""

    def __call__(self, look: Look, shown: Shown, /) -> Claim | None:
        """Another state than what is shown so far, a doubt about it, or nothing; in a millisecond or so.

        `shown` is what screen, motion, foreground and kernel come to.  The claim is a guess of `Source.FORM`, with
        `Sign.LOOKS` or `Sign.DOUBTS`; no key follows from it.
        """


def _says_nothing(look: Look, shown: Shown, /) -> Claim | None:
    return None


SILENT: Classifier = _says_nothing


@frozen
class InstalledClassifier:
    """A distribution's classifier.  Where it fails, or claims what no form can tell, that is logged and left out."""

    of: EntryPoint
    classify: Classifier

    def __str__(self) -> str:
        """The distribution and its version."""
        return f"{self.of.distribution} {self.of.version}"

    def __call__(self, look: Look, shown: Shown, /) -> Claim | None:
        """What it claims."""
        try:
            claim = self.classify(look, shown)
            if claim is not None and not _is_of_form(claim):
                raise ValueError(f"no form tells {claim}")
        except Exception as error:  # foreign code: whatever it raises is its own failure
            _log.warning("classifier %s: %s: %s", self.of.name, type(error).__name__, error)
            return None
        return claim


def _is_of_form(claim: Claim) -> bool:
    guess = claim.source is Source.FORM and claim.weight is Weight.GUESS and not claim.keys
    return guess and claim.sign in (Sign.LOOKS, Sign.DOUBTS)


@cache
def installed_classifier() -> InstalledClassifier | None:
    """The first that loads; what does not load, and what comes after it, is logged and left out."""
    found: InstalledClassifier | None = None
    for entry in entry_points(ENTRY_POINTS):
        if found is not None:
            _log.warning("classifier %s of %s is left out: %s is asked", entry.name, entry.distribution, found)
            continue
        try:
            found = InstalledClassifier(entry, _function(entry.load()))
        except Exception as error:
            _log.warning("classifier %s of %s is left out: %s", entry.name, entry.distribution, error)
    return found


def _function(loaded: Any) -> Classifier:
    if not callable(loaded):
        raise TypeError(f"{loaded!r} is no function")
    classify: Classifier = loaded
    return classify
