"""The JSON schema of ``stallkit.toml``, for editors: from the classes that it is read into."""

from __future__ import annotations

from typing import Any

import attrs

from stallkit.class_schema import closed, schema_of, some_of
from stallkit.press.policy_file import PROFILES
from stallkit.press.policy_schema import policy_table
from stallkit.supervise.settings import Settings

__all__ = ["settings_schema"]


def settings_schema() -> dict[str, Any]:
    """The schema of the settings."""
    tables = {one.name: one.type for one in attrs.fields(attrs.resolve_types(Settings)) if one.name != "policy"}
    policy = some_of({"type": "string", "description": f"a file, or {', '.join(PROFILES)}"}, policy_table())
    known = {"format": {"const": 1}, **{name: schema_of(kind) for name, kind in tables.items()}, "policy": policy}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The settings of stallkit"}
    return {**head, **closed(known)}
