"""What classes of values are made with: attrs."""

from __future__ import annotations

from attrs import evolve, field, fields, frozen
from attrs.validators import ge, instance_of, le

__all__ = ["evolve", "field", "fields", "frozen", "ge", "instance_of", "le"]
