"""Which class a look is of, by the weights of its features: multinomial logistic regression.

``scripts/train_classifier.py`` of stallkit's repository learns the weights from labelled screens.
"""

from __future__ import annotations

import math
from functools import cache
from pkgutil import get_data
from typing import Iterable, Mapping

from attrs import field, frozen


@frozen
class Regression:
    """Classes, and what each feature adds to the logarithm of the odds of each, in hundredths.

    `start` is what a look without any feature has.
    """

    classes: tuple[str, ...]
    start: tuple[int, ...]
    weights: Mapping[str, tuple[int, ...]] = field(repr=False)

    def odds(self, features: Iterable[str], among: Iterable[str]) -> dict[str, float]:
        """The probability of each of these classes, given that it is one of them; a class that is unknown has none.

        >>> Regression(("on", "off"), (0, 0), {"hot": (100, 0)}).odds({"hot"}, ["on", "off"])["on"]
        0.7310585786300049
        """
        known = [row for feature in features if (row := self.weights.get(feature)) is not None]
        wanted = [self.classes.index(one) for one in among if one in self.classes]
        sums = [(self.start[at] + sum([row[at] for row in known])) / 100 for at in wanted]
        top = max(sums, default=0.0)
        shares = [math.exp(one - top) for one in sums]
        return {self.classes[at]: share / sum(shares) for at, share in zip(wanted, shares, strict=True)}


def parse(text: str) -> Regression:
    """A regression from a table: a row of classes, a row of where they start, then a row for each feature.

    >>> parse("\\ton\\toff\\n\\t0\\t-50\\nhot\\t100\\t0\\n")
    Regression(classes=('on', 'off'), start=(0, -50))
    """
    head, start, *rows = [row.split("\t") for row in text.rstrip("\n").split("\n")]
    return Regression(tuple(head[1:]), _numbers(start), {row[0]: _numbers(row) for row in rows})


@cache
def shipped() -> Regression:
    """The regression of this distribution, read when it is first needed."""
    return parse((get_data("stallkit_form", "weights.tsv") or b"").decode())


def _numbers(row: list[str]) -> tuple[int, ...]:
    return tuple(map(int, row[1:]))
