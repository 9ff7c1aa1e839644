"""The JSON schemas of what stallkit prints and of what `to_dict` returns, one file each (JSON Schema 2020-12)."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["SCHEMAS", "json_schema"]

SCHEMAS = ("check", "detection", "event", "exit-record", "run", "terminal-report", "verdict")


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name, one of `SCHEMAS`, as in ``json_schema("verdict")``.

    Raises ValueError for another name.

    >>> json_schema("event")["required"]
    ['version', 'time', 'event', 'target']
    """
    if name not in SCHEMAS:
        raise ValueError(f"no JSON schema {name!r}: there are {', '.join(SCHEMAS)}")
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
