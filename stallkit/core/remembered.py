"""What is worked out about a clause once, and may be kept from one start to the next.

Such an answer depends on nothing but the clause.  To work them all out for the shipped packs takes longer than a whole
look at a screen, so that a compiled pack (`stallkit.packs.compiled`) carries those of its clauses.
"""

from __future__ import annotations

from typing import Any, Callable, Generic, Iterable, Mapping, Sequence, TypeVar, cast

from stallkit.core.signature import Clause

__all__ = ["Remembered", "answers", "functions", "recall", "remembered"]

_MOST = 8192  # more clauses than any set of packs has; a fuzzer must not fill the memory
_UNKNOWN = object()
_T = TypeVar("_T")

_functions: dict[str, Remembered[Any]] = {}


class Remembered(Generic[_T]):
    """A pure function of a clause that keeps its answers; an exception is raised anew at each call."""

    def __init__(self, work_out: Callable[[Clause], _T]) -> None:
        self.work_out = work_out
        self.known: dict[Clause, _T] = {}
        self._kept: list[Callable[[], Mapping[Clause, _T]]] = []
        self.__doc__ = work_out.__doc__

    def __call__(self, clause: Clause) -> _T:
        found = self.known.get(clause, _UNKNOWN)
        if found is _UNKNOWN and self._kept:
            while self._kept:
                self._keep(self._kept.pop()())
            found = self.known.get(clause, _UNKNOWN)
        if found is _UNKNOWN:
            found = self.work_out(clause)
            self._keep({clause: found})
        return cast(_T, found)

    def recall(self, kept: Callable[[], Mapping[Clause, _T]]) -> None:
        """Take answers that were worked out before: it is called, once, where one of them may be asked for."""
        self._kept.append(kept)

    def _keep(self, answers: Mapping[Clause, _T]) -> None:
        if len(self.known) + len(answers) > _MOST:
            self.known = {}
        self.known.update(answers)


def remembered(work_out: Callable[[Clause], _T]) -> Remembered[_T]:
    """Decorates a pure function of a clause whose answers compiled packs carry; its name is its own among these."""
    function = _functions[work_out.__name__] = Remembered(work_out)
    return function


def answers(clauses: Iterable[Clause]) -> dict[str, list[Any]]:
    """All that can be worked out about the clauses, by the function's name and in their order.

    Raises re.error for a pattern that `re` does not accept.
    """
    asked = tuple(clauses)
    return {name: [function(clause) for clause in asked] for name, function in _functions.items()}


def recall(clauses: Callable[[], Sequence[Clause]], given: Mapping[str, Callable[[], Sequence[Any]]]) -> None:
    """Take what `answers` gave in another process with the same code.  Raises KeyError for an unknown function."""
    for name, read in given.items():
        _functions[name].recall(lambda read=read: dict(zip(clauses(), read(), strict=False)))  # type: ignore[misc]


def functions() -> tuple[Remembered[Any], ...]:
    """All of these functions."""
    return tuple(_functions.values())
