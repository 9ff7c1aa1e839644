"""The keys `dialog`, `edge` and `fields` of a signature in a pack file, read into a `Dialog`."""

from __future__ import annotations

from typing import Any, Mapping

from attrs import fields

from stallkit.core.dialog import Dialog, Edge, Element

__all__ = ["DIALOG_KEYS", "read_dialog"]

DIALOG_KEYS = frozenset({"dialog", "edge", "fields"})
_RENAMED = {"is": "role"}  # `is` is a word of Python's own
_KEYS = {attribute.name for attribute in fields(Element)} - set(_RENAMED.values()) | _RENAMED.keys()


def read_dialog(row: Mapping[str, Any]) -> Dialog:
    """The dialog that a signature's table describes.  Raises ValueError and TypeError.

    >>> read_dialog({"edge": "blank", "dialog": ["Delete {file}?"], "fields": {"file": "path"}}).elements[0].row
    ('Delete {file}?',)
    """
    elements = row.get("dialog")
    if not isinstance(elements, list):
        raise ValueError("dialog is a list of its rows, from the first to the last on the screen")
    if "edge" not in row:
        raise ValueError(f"edge is missing: say what it begins below, one or more of {', '.join(Edge)}")
    given = row.get("fields", {})
    if not isinstance(given, dict):
        raise ValueError('fields is a table: name = "path"')
    return Dialog([_element(element) for element in elements], row["edge"], given)


def _element(given: Any) -> Element:
    if isinstance(given, str):
        return Element(row=given)
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is neither a row nor a table")
    if unknown := sorted(given.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r} of a row: use {', '.join(sorted(_KEYS))}")
    return Element(**{_RENAMED.get(str(key), str(key)): value for key, value in given.items()})
