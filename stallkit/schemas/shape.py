"""JSON schemas in short: a shape looks like the value that it describes.

``"text"``, ``"integer"``, ``"number"``, ``"flag"``, ``"time"`` (ISO 8601), ``"null"`` and ``"any"`` are plain values,
``"=a|b"`` is one of these words, each with ``?`` behind it also null; ``"@name"`` is what another schema describes.  A
list of one shape is an array, a tuple one of its shapes, and a mapping an object with these keys: ``"key?"`` may be
absent, ``"*"`` is of any other key, and ``"&"`` an object whose keys are there as well.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

__all__ = ["Shape", "schema_of_shape"]

Shape = str | Sequence["Shape"] | Mapping[str, "Shape"]
_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "null": {"type": "null"},
    "any": {},
}


def schema_of_shape(shape: Shape) -> dict[str, Any]:
    """The JSON schema of a shape; the others that it names are under ``$defs``.  Raises KeyError for an unknown word.

    >>> schema_of_shape({"name": "text", "why?": "=done|over?"})["properties"]["why"]
    {'enum': ['done', 'over', None]}
    """
    if isinstance(shape, str):
        return _of_word(shape.removesuffix("?"), shape.endswith("?"))
    if isinstance(shape, tuple):
        return {"anyOf": [schema_of_shape(one) for one in shape]}
    if isinstance(shape, Mapping):
        return _of_keys(shape)
    (item,) = shape
    return {"type": "array", "items": schema_of_shape(item)}


def _of_word(word: str, or_null: bool) -> dict[str, Any]:
    if word.startswith("@"):
        return {"$ref": f"#/$defs/{word[1:]}"}
    if word.startswith("="):
        return {"enum": [*word[1:].split("|"), *[None] * or_null]}
    schema = dict(_PLAIN[word])
    return {**schema, "type": [schema["type"], "null"]} if or_null else schema


def _of_keys(shape: Mapping[str, Shape]) -> dict[str, Any]:
    named = {key: one for key, one in shape.items() if key not in ("*", "&")}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {key.removesuffix("?"): schema_of_shape(one) for key, one in named.items()},
        "required": [key for key in named if not key.endswith("?")],
    }
    if "&" in shape:
        made["allOf"] = [schema_of_shape(shape["&"])]
    if "*" in shape:
        made["additionalProperties"] = schema_of_shape(shape["*"])
    return made
