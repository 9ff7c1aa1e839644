"""Compiled patterns, and what is proven of them, from one start to the next.

To compile the patterns of one look takes longer than the look.  What `re` and `regex` make of a pattern is a list of
numbers, its program, from which they make the same pattern again in no time.  A process that is given a store
(`stallkit.packs.kept_programs`) compiles only what none compiled before it; without one this is `re.compile`.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]  # typeshed leaves it out
import copyreg
import re
import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from re import _compiler, _parser  # type: ignore[attr-defined]  # and this
from typing import TYPE_CHECKING, Any, AnyStr, Callable, Hashable, Mapping, Protocol, cast

if TYPE_CHECKING:
    import regex

__all__ = ["Store", "answer", "guarded", "keep_in", "plain", "save"]

Key = tuple[Hashable, ...]

_MOST = 4_000  # answers of one process: more than any set of packs asks for


class Store(Protocol):
    """Where answers are kept: plain values, by plain values."""

    def get(self, key: Key) -> Any | None:
        """What was kept under the key, if anything was."""

    def put(self, answers: Mapping[Key, Any]) -> None:
        """Keep these, and what else was kept as far as there is room."""


class _Kept:
    """The answers that this process asked for, and the store that it looks them up in."""

    def __init__(self) -> None:
        self.open: Callable[[], Store | None] | None = None
        self.store: Store | None = None
        self.asked: dict[Key, Any] = {}
        self.new = False


_kept = _Kept()


def keep_in(open: Callable[[], Store | None] | None) -> None:
    """Look answers up in this store from now on, which is opened at the first one; None: in none."""
    _kept.__init__()  # type: ignore[misc]  # as if nothing had been asked for
    _kept.open = open


def save() -> None:
    """Put what was asked for into the store, where some of it is new."""
    if _kept.new and _kept.store is not None:
        _kept.store.put(dict(_kept.asked))
        _kept.new = False


def answer(key: Key, work_out: Callable[[], Any]) -> Any:
    """What was kept under the key, else what is worked out now, and kept.  Raises what `work_out` raises."""
    opening, _kept.open = _kept.open, None  # at most one of several threads opens it, and what that needs asks nothing
    if opening is not None:
        _kept.store = opening()
    if _kept.store is None:
        return work_out()
    found = _kept.asked.get(key)
    if found is None:
        found = _kept.store.get(key)
        if found is None:
            found, _kept.new = work_out(), True
        if len(_kept.asked) < _MOST:
            _kept.asked[key] = found
    return found


def plain(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives.  Raises re.error, OverflowError or RecursionError where it does.

    >>> plain("a+", re.MULTILINE) == re.compile("a+", re.MULTILINE)
    True
    """
    program = answer(("re", _sre.MAGIC, pattern, int(flags)), lambda: _program(pattern, flags))
    try:
        return cast("re.Pattern[AnyStr]", _sre.compile(pattern, *program))
    except (TypeError, ValueError, RuntimeError):  # not a program, or this Python's are made of something else
        return re.compile(pattern, flags)


def _program(pattern: str | bytes, flags: int) -> tuple[Any, ...]:
    """What `re` makes of a pattern: flags, code, groups, their names, and those in order."""
    try:
        tree = _parser.parse(pattern, int(flags))
        state, code = tree.state, _compiler._code(tree, int(flags))
        names: list[str | None] = [None] * state.groups
        for name, number in state.groupdict.items():
            names[number] = name
        return int(flags | state.flags), list(map(int, code)), state.groups - 1, state.groupdict, tuple(names)
    except (AttributeError, TypeError):  # a Python that does it otherwise
        return ()


def guarded(pattern: str, ignore_case: bool, backwards: bool = False) -> regex.Pattern[str]:
    """What `regex.compile` gives for a pattern of lines; `backwards`: the last place first.  Raises regex.error."""
    key = ("regex", pattern, ignore_case, backwards)
    try:
        data = answer(key, lambda: _data(_guarded(pattern, ignore_case, backwards)))
        return cast("regex.Pattern[str]", _maker()(*data))
    except (AttributeError, ImportError, TypeError, ValueError, RuntimeError):  # not the data, or another regex
        return _guarded(pattern, ignore_case, backwards)


def _guarded(pattern: str, ignore_case: bool, backwards: bool) -> regex.Pattern[str]:
    import regex

    case, order = regex.IGNORECASE if ignore_case else 0, regex.REVERSE if backwards else 0
    return regex.compile(pattern, regex.MULTILINE | case | order)


def _data(made: regex.Pattern[str]) -> tuple[Any, ...]:
    """What a pattern of `regex` is pickled as."""
    return cast(tuple[Any, ...], copyreg.dispatch_table[type(made)](made)[1])


@cache
def _maker() -> Callable[..., object]:
    """What makes patterns of `regex` from their data: it is in its extension, and to import the rest takes 7 ms."""
    name = "regex._regex"
    if name not in sys.modules:
        package = find_spec("regex")
        found = PathFinder.find_spec(name, package.submodule_search_locations if package else [])
        if found is None or found.loader is None:
            raise ImportError(name)
        extension = module_from_spec(found)
        found.loader.exec_module(extension)
        sys.modules[name] = extension  # where `import regex` finds it
    make: Callable[..., object] = sys.modules[name].compile
    return make
