"""How good a yes/no answer is: the four cells, precision, recall, F1, and how far chance may have moved each.

Pure.  A figure over no cases is None, neither 0 nor 1: nothing was measured.
"""

from __future__ import annotations

import math
from typing import Any, Iterable

from attrs import frozen

__all__ = ["Cells", "share", "wilson"]

Z = 1.959964  # the 97.5 % point of the normal distribution: intervals hold 95 % of the time
_DIGITS = 4


@frozen
class Cells:
    """Right (tp) and wrong (fp) answers *yes*, and wrong (fn) and right (tn) answers *no*."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def count(cls, pairs: Iterable[tuple[bool, bool]]) -> Cells:
        """From pairs of (truth, answer)."""
        counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
        for truth, said in pairs:
            counts[truth, said] += 1
        return cls(*counts.values())

    @property
    def precision(self) -> float | None:
        """The share of positive answers that are right."""
        return share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """The share of positive cases that were found."""
        return share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def f1_interval(self) -> list[float] | None:
        """The interval of F1.

        F1 itself counts true positives twice and is not a proportion, but it is 2s / (1 + s) of one: s, the true
        positives among all cases that are positive or judged so.  That grows with s: bounds of s give bounds of F1.
        """
        bounds = wilson(self.tp, self.tp + self.fp + self.fn)
        return bounds and [round(2 * bound / (1 + bound), _DIGITS) for bound in bounds]

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit eval --json`` prints them."""
        return {
            "tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn,
            "precision": self.precision, "recall": self.recall, "f1": self.f1,
            "precision_interval": wilson(self.tp, self.tp + self.fp),
            "recall_interval": wilson(self.tp, self.tp + self.fn),
            "f1_interval": self.f1_interval,
        }  # fmt: skip


def share(part: int, whole: int) -> float | None:
    """The share, or None of an empty whole."""
    return round(part / whole, _DIGITS) if whole else None


def wilson(part: int, whole: int) -> list[float] | None:
    """Wilson's score interval (1927) of a proportion, 95 %: unlike the textbook one it holds near 0 and 1.

    >>> wilson(0, 10), wilson(10, 10)
    ([0.0, 0.2775], [0.7225, 1.0])
    """
    if not whole:
        return None
    rate, square = part / whole, Z * Z / whole
    middle = rate + square / 2
    reach = Z * math.sqrt((rate * (1 - rate) + square / 4) / whole)
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return [round(max(0.0, low), _DIGITS), round(min(1.0, high), _DIGITS)]
