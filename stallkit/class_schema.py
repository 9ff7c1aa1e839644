"""The JSON schema of a type, of a class of attrs from its fields: of a file's tables, and of the JSON of values."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Callable, Literal, Mapping, Union, get_args, get_origin

import attrs

from stallkit.durations import SPAN

__all__ = ["TEXTS", "closed", "keys_of", "schema_of", "some_of"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}
_SECONDS: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": SPAN}]}  # a number, or "3m"
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def schema_of(
    hint: Any, table: Callable[[type], dict[str, Any]] | None = None, number: dict[str, Any] = _SECONDS
) -> dict[str, Any]:
    """The schema of a type: a plain one, a class of attrs, an enum, a list, a dictionary or a choice of them.

    `table` makes that of a class, by default that of a table of a file; `number` is that of a float.  Raises TypeError
    for another type.

    >>> schema_of(list[int] | None)
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    of, origin, within = partial(schema_of, table=table, number=number), get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if hint is float:
        return dict(number)
    if origin is Annotated:
        return {**of(within[0]), "format": within[1]}  # a text in a format that JSON Schema knows
    if origin in (Union, UnionType):
        return some_of(*map(of, within))
    if origin is Literal:
        return {"enum": [*within]}
    if origin in (list, tuple, frozenset):
        exactly = {} if origin is not tuple or ... in within else {"minItems": len(within), "maxItems": len(within)}
        return {"type": "array", "items": of(within[0]), **exactly}
    if origin in (dict, AnyMapping):
        return {"type": "object", "additionalProperties": of(within[1])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(one.value) for one in hint]}
    if isinstance(hint, type) and attrs.has(hint):
        return table(hint) if table else _table(hint)
    raise TypeError(f"no JSON schema for {hint!r}")


def _table(kind: type) -> dict[str, Any]:
    given = [one for one in attrs.fields(attrs.resolve_types(kind)) if one.init]
    needed = [keys_of(kind)[one.name] for one in given if one.default is attrs.NOTHING]
    return closed({keys_of(kind)[one.name]: schema_of(one.type) for one in given}, needed)


def keys_of(kind: type) -> dict[str, str]:
    """The keys of a class of attrs in a file, by the names of its fields."""
    return {one.name: one.alias or one.name for one in attrs.fields(kind) if one.init}


def some_of(*schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what is by one of these."""
    return {"anyOf": [*schemas]}


def closed(properties: Mapping[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """The schema of a table with these keys and no other ones."""
    made: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**made, "required": required} if required else made
