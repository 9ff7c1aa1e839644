"""Which state a look is of, by the weights of its features: multinomial logistic regression.

They are learnt from labelled screens, for screens that no signature of their own program knows (`evidence.form`);
``scripts/train_classifier.py`` makes their file, which is read when it is first needed.  Pure but for that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Callable, Iterable, Protocol

from attrs import field, frozen

__all__ = ["SILENT", "Classifier", "Rows", "parse", "shipped"]


_FEW = 4_000  # searches: some eight looks


class Weights(Protocol):
    """The row of each feature that has one; a dict is such."""

    @property
    def get(self) -> Callable[[str], str | None]: ...


@frozen
class Classifier:
    """Classes and, for each feature, what it adds to the logarithm of the odds of each; `start` is without features.

    Weights are hundredths, those of a feature separated by tabs: most features are never looked up.
    """

    classes: tuple[str, ...]
    start: tuple[int, ...]
    weights: Weights = field(repr=False)

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
    return Classifier(tuple(head.split("\t")[1:]), _numbers(start[1:]), Rows(rows))


class Rows:
    """Rows of a table by what stands before their first tab: `get` is a search in sorted rows, and soon a dict's.

    To make a dict of the shipped table takes 7 ms and this 2, of a process that may end after its first look.

    >>> Rows(["on\\t1\\t2", "hot\\t3\\t4"]).get("hot")
    '3\\t4'
    """

    def __init__(self, rows: Iterable[str]) -> None:
        self._rows = sorted(rows)  # the shipped ones are sorted already
        self._asked = 0
        self.get: Callable[[str], str | None] = self._search

    def table(self) -> dict[str, str]:
        """All of them."""
        return dict([(one[0], one[1]) for one in [row.split("\t", 1) for row in self._rows]])

    def _search(self, key: str) -> str | None:
        self._asked += 1
        if self._asked > _FEW:
            self.get = self.table().get
        head = f"{key}\t"
        at = bisect_left(self._rows, head)
        found = at < len(self._rows) and self._rows[at].startswith(head)
        return self._rows[at][len(head) :] if found else None


@cache
def shipped() -> Classifier:
    """The classifier that is part of stallkit."""
    return parse((get_data("stallkit.core", "classifier.tsv") or b"").decode())


@lru_cache(maxsize=16384)
def _numbers(row: str) -> tuple[int, ...]:
    return tuple(map(int, row.split("\t")))
