"""JSON schemas in short: a shape looks like the value that it describes.

``"text"``, ``"integer"``, ``"number"``, ``"flag"``, ``"time"`` (ISO 8601), ``"null"`` and ``"any"`` are plain values,
``"=a|b"`` is one of these words, each with ``?`` behind it also null; a type is what its values become.  A list of one
shape is an array, a tuple one of its shapes, and a mapping an object with these keys: ``"key?"`` may be absent, ``"*"``
is of any other key, and ``"&"`` a class whose keys are there as well.
"""

from __future__ import annotations

from types import UnionType
from typing import Any, Mapping, Sequence

from stallkit.jsonio import VERSION, schema_of_json

__all__ = ["Shape", "schema_of_shape"]

Shape = str | type | UnionType | Sequence["Shape"] | Mapping[str, "Shape"]
_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "null": {"type": "null"},
    "any": {},
    "version": {"const": VERSION},
}


def schema_of_shape(shape: Shape) -> dict[str, Any]:
    """The JSON schema of a shape.  Raises KeyError for an unknown word.

    >>> schema_of_shape({"name": "text", "why?": "=done|over?"})["properties"]["why"]
    {'enum': ['done', 'over', None]}
    """
    if isinstance(shape, str):
        return _of_word(shape.removesuffix("?"), shape.endswith("?"))
    if isinstance(shape, type | UnionType):
        return schema_of_json(shape)
    if isinstance(shape, tuple):
        return {"anyOf": [schema_of_shape(one) for one in shape]}
    if isinstance(shape, Mapping):
        return _of_keys(shape)
    (item,) = shape
    return {"type": "array", "items": schema_of_shape(item)}


def _of_word(word: str, or_null: bool) -> dict[str, Any]:
    if word.startswith("="):
        return {"enum": [*word[1:].split("|"), *[None] * or_null]}
    schema = dict(_PLAIN[word])
    return {**schema, "type": [schema["type"], "null"]} if or_null else schema


def _of_keys(shape: Mapping[str, Shape]) -> dict[str, Any]:
    base = schema_of_shape(shape["&"]) if "&" in shape else {"properties": {}, "required": []}
    named = {key: one for key, one in shape.items() if key not in ("*", "&")}
    properties = {key.removesuffix("?"): schema_of_shape(one) for key, one in named.items()}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {**base["properties"], **properties},
        "required": [*base["required"], *(key for key in named if not key.endswith("?"))],
    }
    return {**made, "additionalProperties": schema_of_shape(shape["*"])} if "*" in shape else made
