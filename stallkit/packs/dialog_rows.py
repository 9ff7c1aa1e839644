"""The keys `dialog`, `edge`, `fields` and `forms` of a signature in a pack file, read into dialogs."""

from __future__ import annotations

from typing import Any, Mapping

from attrs import fields

from stallkit.detect.dialog import Button, Dialog, Edge, Element

__all__ = ["DIALOG_KEYS", "RENAMED", "read_dialog", "read_dialogs"]

DIALOG_KEYS = frozenset({"dialog", "edge", "fields", "forms"})
_FORM = frozenset({"dialog", "edge", "fields"})
RENAMED = {"is": "role"}  # `is` is a word of Python's own
_KEYS = {attribute.name for attribute in fields(Element)} - set(RENAMED.values()) | RENAMED.keys()
_BUTTON_KEYS = {attribute.name for attribute in fields(Button)} - set(RENAMED.values()) | RENAMED.keys()


def read_dialogs(row: Mapping[str, Any]) -> tuple[Dialog, ...]:
    """The dialogs of a signature's table: its own, or each of its `forms`.  Raises ValueError and TypeError."""
    forms = row.get("forms")
    if forms is None:
        return (read_dialog(row),)
    if not isinstance(forms, list) or not forms or not all(isinstance(form, dict) for form in forms):
        raise ValueError("forms is a list of tables, each with dialog, edge and fields")
    if _FORM & row.keys():
        raise ValueError("a signature has one dialog, or forms, not both")
    if unknown := sorted({key for form in forms for key in form} - _FORM):
        raise ValueError(f"unknown key {unknown[0]!r} of a form: use {', '.join(sorted(_FORM))}")
    return tuple(map(read_dialog, forms))


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
    values = _renamed(given)
    if "buttons" in values:
        values["buttons"] = tuple(map(_button, values["buttons"]))
    return Element(**values)


def _button(given: Any) -> Button:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is no button: write a table with text, is and key")
    if unknown := sorted(given.keys() - _BUTTON_KEYS):
        raise ValueError(f"unknown key {unknown[0]!r} of a button: use {', '.join(sorted(_BUTTON_KEYS))}")
    return Button(**_renamed(given))


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(str(key), str(key)): value for key, value in given.items()}
