"""Which state a look is of, by the weights of its features: multinomial logistic regression.

They are learnt from labelled screens, for screens that no signature of their own program knows (`by_form`);
``scripts/train_classifier.py`` makes their file, which is read when it is first needed.  Pure but for that.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from importlib import resources
from typing import Iterable, Mapping

from attrs import field, frozen

__all__ = ["SILENT", "Classifier", "parse", "shipped"]


@frozen
class Classifier:
    """Classes and, for each feature, what it adds to the logarithm of the odds of each; `start` is without features.

    Weights are hundredths, those of a feature separated by tabs: most features are never looked up.
    """

    classes: tuple[str, ...]
    start: tuple[int, ...]
    weights: Mapping[str, str] = field(repr=False)

    def odds(self, features: Iterable[str], among: Iterable[str]) -> dict[str, float]:
        """The probability of each of these classes, given that it is one of them; empty where it has none of them.

        >>> Classifier(("on", "off"), (0, 0), {"hot": "100\\t0"}).odds({"hot"}, ["on", "off"])["on"]
        0.7310585786300049
        """
        wanted = [self.classes.index(one) for one in among if one in self.classes]
        known = [_numbers(row) for feature in features if (row := self.weights.get(feature)) is not None]
        sums = [(self.start[at] + sum([one[at] for one in known])) / 100 for at in wanted]
        top = max(sums, default=0.0)
        shares = [math.exp(one - top) for one in sums]
        return {self.classes[at]: share / sum(shares) for at, share in zip(wanted, shares, strict=True)}


# Says nothing: what is told by form is then not told.
SILENT = Classifier((), (), {})


def parse(text: str) -> Classifier:
    """A classifier from a table: a row of classes, a row of where they start, then a row for each feature.

    >>> parse("\\ton\\toff\\n\\t0\\t-50\\nhot\\t100\\t0\\n").start
    (0, -50)
    """
    head, start, *rows = text.rstrip("\n").split("\n")
    return Classifier(tuple(head.split("\t")[1:]), _numbers(start[1:]), dict([row.split("\t", 1) for row in rows]))


@cache
def shipped() -> Classifier:
    """The classifier that is part of stallkit."""
    return parse(resources.files("stallkit.core").joinpath("classifier.tsv").read_text(encoding="utf-8"))


@lru_cache(maxsize=16384)
def _numbers(row: str) -> tuple[int, ...]:
    return tuple(map(int, row.split("\t")))
