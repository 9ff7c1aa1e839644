"""Values of a file as they are written: "no" is no truth value, a text is no list of letters, 1 is no text."""

from __future__ import annotations

from typing import Any, Callable, get_args, get_origin

import cattrs
from attrs import fields

__all__ = ["said", "strict_converter"]


def strict_converter() -> cattrs.Converter:
    """A converter that knows every key, and makes no value into another."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in _NAMES.items():
        converter.register_structure_hook(kind, _only(kind, name))

    def items(value: object, of: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        return [converter.structure(one, *get_args(of)) for one in value]

    converter.register_structure_hook_func(_is_list, items)
    return converter


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list


_NAMES: dict[type, str] = {str: "text", int: "whole number", float: "number", bool: "truth value"}


def _only(kind: type, name: str) -> Callable[[object, object], Any]:
    def same(value: object, _: object) -> Any:
        fits = (int, float) if kind is float else kind
        if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{value!r} is no {name}")
        return kind(value)

    return same


def said(error: BaseException, kind: type | None) -> str:
    """What is wrong, in words for whoever wrote the file; for `cattrs.transform_error`."""
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = ", ".join(one.name for one in fields(error.cl))
        return f"nobody knows the key {', '.join(sorted(error.extra_fields))}, but {known}"
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
