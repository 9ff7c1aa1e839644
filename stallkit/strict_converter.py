"""A converter of cattrs that converts nothing: a text stays a text, a number a number, and only a list is a list."""

from __future__ import annotations

from enum import StrEnum
from itertools import repeat
from typing import Any, Callable, get_args, get_origin

import cattrs

__all__ = ["strict"]

_NAMES: dict[type, str] = {str: "text", int: "whole number", float: "number", bool: "truth value"}
_LISTS: tuple[Any, ...] = (list, tuple, frozenset)


def strict(converter: cattrs.Converter) -> cattrs.Converter:
    """The converter, which refuses values of other types with a TypeError that says what is meant."""
    for kind, name in _NAMES.items():
        converter.register_structure_hook(kind, _only(kind, name))
    converter.register_structure_hook(StrEnum, lambda value, kind: kind(value))  # which is a text, too

    def items(value: object, kind: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{value!r:.60} is not a list")
        origin, within = get_origin(kind), get_args(kind)
        exact = origin is tuple and ... not in within
        pairs = zip(value, within, strict=True) if exact else zip(value, repeat(within[0]), strict=False)
        return origin(converter.structure(one, of) for one, of in pairs)

    converter.register_structure_hook_func(lambda kind: get_origin(kind) in _LISTS, items)
    return converter


def _only(kind: type, name: str) -> Callable[[object, object], Any]:
    def same(value: object, _: object) -> Any:
        fits = (int, float) if kind is float else kind
        if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{value!r:.60} is not a {name}")
        return kind(value)

    return same
