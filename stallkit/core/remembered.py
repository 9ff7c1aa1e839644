"""What is worked out about a clause once, and may be kept from one start to the next.

Such an answer depends on nothing but the clause.  To work them all out for the shipped packs takes longer than a whole
look at a screen, so that a compiled pack (`stallkit.packs.compiled`) carries those of its clauses.
"""

from __future__ import annotations

from typing import Any, Callable, Generic, Iterable, Mapping, TypeVar

from stallkit.core.signature import Clause

__all__ = ["Answers", "Remembered", "answers", "functions", "recall", "remembered"]

_MOST = 8192  # more clauses than any set of packs has; a fuzzer must not fill the memory
_T = TypeVar("_T")

Answers = Mapping[str, Mapping[Clause, Any]]  # by the function's name
_functions: dict[str, Remembered[Any]] = {}


class Remembered(Generic[_T]):
    """A pure function of a clause that keeps its answers; an exception is raised anew at each call."""

    def __init__(self, work_out: Callable[[Clause], _T]) -> None:
        self.work_out = work_out
        self.known: dict[Clause, _T] = {}
        self.__doc__ = work_out.__doc__

    def __call__(self, clause: Clause) -> _T:
        if clause not in self.known:
            self.keep({clause: self.work_out(clause)})
        return self.known[clause]

    def keep(self, answers: Mapping[Clause, _T]) -> None:
        """Take answers that were worked out before."""
        if len(self.known) + len(answers) > _MOST:
            self.known = {}
        self.known.update(answers)


def remembered(work_out: Callable[[Clause], _T]) -> Remembered[_T]:
    """Decorates a pure function of a clause whose answers compiled packs carry; its name is its own among these."""
    function = _functions[work_out.__name__] = Remembered(work_out)
    return function


def answers(clauses: Iterable[Clause]) -> Answers:
    """All that can be worked out about the clauses.  Raises re.error for a pattern that `re` does not accept."""
    asked = tuple(clauses)
    return {name: {clause: function(clause) for clause in asked} for name, function in _functions.items()}


def recall(given: Answers) -> None:
    """Take answers that `answers` gave in another process with the same code.  Raises KeyError for an unknown one."""
    for name, known in given.items():
        _functions[name].keep(known)


def functions() -> tuple[Remembered[Any], ...]:
    """All of these functions."""
    return tuple(_functions.values())
