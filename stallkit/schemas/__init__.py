"""The JSON schemas of what stallkit prints and of what `to_dict` returns (JSON Schema 2020-12).

Those of values are a file each; those of what only commands print are made of shapes.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from stallkit.schemas.printed import PRINTED, SAME, printed_schema

__all__ = ["COMMANDS", "SCHEMAS", "VALUES", "json_schema"]

VALUES = ("check", "detection", "event", "exit-record", "run", "terminal-report", "verdict")
COMMANDS = tuple(sorted([*PRINTED, *SAME]))
SCHEMAS = (*VALUES, *COMMANDS)


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name, as in ``json_schema("verdict")`` and ``json_schema("stuck-list")``.

    It is of a value (`VALUES`), or of what the command of these words prints with ``--json`` (`COMMANDS`).  Raises
    ValueError for another name.

    >>> json_schema("event")["required"]
    ['version', 'time', 'event', 'target']
    """
    name = SAME.get(name, name)
    if name in PRINTED:
        return printed_schema(name, json_schema)
    if name not in VALUES:
        raise ValueError(f"no JSON schema {name!r}: there are {', '.join(SCHEMAS)}")
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
