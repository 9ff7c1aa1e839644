"""What classes of values are made with: attrs, and the fields of a value by their names."""

from __future__ import annotations

from typing import Any

from attrs import asdict, evolve, field, fields, frozen
from attrs.validators import ge, instance_of, le

__all__ = ["by_name", "evolve", "field", "fields", "frozen", "ge", "instance_of", "le"]


def by_name(value: Any) -> dict[str, Any]:
    """The fields of a value, by their names, as they are."""
    return asdict(value, recurse=False)
