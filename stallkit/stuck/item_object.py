"""An item of the queue as plain values for JSON; not redacted yet."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import asdict

from stallkit.stuck.item import Item

__all__ = ["item_object"]

_PLAIN = (
    "id",
    "revision",
    "session",
    "kind",
    "words",
    "action",
    "by",
    "through",
    "text",
    "category",
    "asked",
    "questions",
    "several",
)


def item_object(item: Item) -> dict[str, Any]:
    """The item as ``stallkit stuck list --json`` prints it."""
    options = [{**asdict(one), "kind": one.kind and str(one.kind)} for one in item.options]
    times = {name: _stamp(getattr(item, name)) for name in ("created", "expires", "at")}
    words = {name: str(getattr(item, name)) for name in ("source", "state", "delivery")}
    return {**{name: getattr(item, name) for name in _PLAIN}, **times, **words, "options": options}


def _stamp(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
