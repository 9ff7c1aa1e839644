"""The JSON of a value as a class: the fields of its form are the keys of its JSON, in their order.

`stallkit.jsonio` dumps, loads and describes a value by its form, which is made `of` the value and has it as `value`; a
value without a form by its own fields.  A form stands beside the class that it is of.  Without a `value` it can only be
dumped.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import repeat
from typing import Annotated, Any, Callable, Protocol, Self, TypeVar, get_args, get_origin

import cattrs
from attrs import fields

SPREAD = {"spread": True}  # of a field whose keys are the form's own: a value's, or all that the form does not name
NEWER = {"newer": True}  # of a field that earlier versions did not have: it is left out where it has its default
Time = Annotated[str, "date-time"]  # ISO 8601; the format for the schema
_T = TypeVar("_T")


class _Form(Protocol):
    @classmethod
    def of(cls, value: Any, /) -> Self: ...


_F = TypeVar("_F", bound=_Form)
FORMS: dict[type, type[Any]] = {}


def json_form(kind: type) -> Callable[[type[_F]], type[_F]]:
    """A decorator: the class is the form of values of that kind."""

    def registered(form: type[_F]) -> type[_F]:
        FORMS[kind] = form
        return form

    return registered


def alike(kind: type[_T], value: object, **given: Any) -> _T:
    """One of that class with these fields, and else with the attributes of `value` of the same names.

    >>> from stallkit.judging.verdict import Hung
    >>> alike(Hung, Hung(3.0, ("no data",)), since_s=4.0)
    Hung(since_s=4.0, evidence=('no data',))
    """
    names = [one.name for one in fields(kind) if one.init]  # type: ignore[arg-type]  # any class of attrs
    return kind(**{name: getattr(value, name) for name in names if hasattr(value, name)} | given)


# --- a converter that converts nothing ---

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
