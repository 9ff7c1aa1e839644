"""The JSON schema of an attrs class, from its fields: of the tables of a file that is read into such classes."""

from __future__ import annotations

from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Mapping, Union, get_args, get_origin

import attrs

from stallkit.durations import SPAN

__all__ = ["TEXTS", "closed", "keys_of", "schema_of", "some_of"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"type": "string", "pattern": SPAN}]},  # seconds, or as in "3m"
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def schema_of(hint: Any) -> dict[str, Any]:
    """The schema of a type: a plain one, a class of attrs, an enum, a list, a dictionary or a choice of them.

    Raises TypeError for another one.

    >>> schema_of(list[int] | None)
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    origin, within = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (Union, UnionType):
        return some_of(*map(schema_of, within))
    if origin is Literal:
        return {"enum": [*within]}
    if origin in (list, tuple, frozenset):
        return {"type": "array", "items": schema_of(within[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(within[1])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(one.value) for one in hint]}
    if isinstance(hint, type) and attrs.has(hint):
        given = [one for one in attrs.fields(attrs.resolve_types(hint)) if one.init]
        needed = [keys_of(hint)[one.name] for one in given if one.default is attrs.NOTHING]
        return closed({keys_of(hint)[one.name]: schema_of(one.type) for one in given}, needed)
    raise TypeError(f"no JSON schema for {hint!r}")


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
