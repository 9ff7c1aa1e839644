"""Which state a look is of, by the weights of its features: multinomial logistic regression.

They are learnt from labelled screens, for screens that no signature of their own program knows (`by_form`);
``scripts/train_classifier.py`` makes their file, which is read when it is first needed.  Pure but for that.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import Iterable, Mapping, Sequence

from attrs import field, frozen

__all__ = ["SILENT", "Classifier", "parse", "shipped"]

HUNDREDTHS = 100  # the weights in the file


@frozen
class Classifier:
    """Classes and, for each feature, what it adds to the logarithm of the odds of each; `start` is without features."""

    classes: tuple[str, ...]
    start: tuple[float, ...]
    weights: Mapping[str, Sequence[float]] = field(repr=False)

    def odds(self, features: Iterable[str], among: Iterable[str]) -> dict[str, float]:
        """The probability of each of these classes, given that it is one of them; empty where it has none of them.

        >>> Classifier(("on", "off"), (0.0, 0.0), {"hot": (1.0, 0.0)}).odds({"hot"}, ["on", "off"])["on"]
        0.7310585786300049
        """
        wanted = [self.classes.index(one) for one in among if one in self.classes]
        sums = [self.start[at] for at in wanted]
        for feature in features:
            if weights := self.weights.get(feature):
                for number, at in enumerate(wanted):
                    sums[number] += weights[at]
        top = max(sums, default=0.0)
        shares = [math.exp(one - top) for one in sums]
        return {self.classes[at]: share / sum(shares) for at, share in zip(wanted, shares, strict=True)}


# Says nothing: what is told by form is then not told.
SILENT = Classifier((), (), {})


def parse(text: str) -> Classifier:
    """A classifier from a table: a row of classes, a row of where they start, then a row for each feature.

    Columns are separated by tabs, weights are hundredths.

    >>> parse("\\ton\\toff\\n\\t0\\t-50\\nhot\\t100\\t0\\n").start
    (0.0, -0.5)
    """
    head, start, *rows = [line.split("\t") for line in text.rstrip("\n").split("\n")]
    weights = {feature: tuple(int(one) / HUNDREDTHS for one in given) for feature, *given in rows}
    return Classifier(tuple(head[1:]), tuple(int(one) / HUNDREDTHS for one in start[1:]), weights)


@cache
def shipped() -> Classifier:
    """The classifier that is part of stallkit."""
    return parse(resources.files("stallkit.core").joinpath("classifier.tsv").read_text(encoding="utf-8"))
