"""What a command printed with ``--json``, held to its published schema, which has to name every key."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import Any

import jsonschema_rs

from stallkit.cli.printed_json import json_schema


def printed(name: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The object that the command of that name printed, each key of which is in its schema."""
    [line] = done.stdout.splitlines() or [done.stderr]
    found: dict[str, Any] = json.loads(line)
    _validator(name).validate(found)
    return found


@cache
def _validator(name: str) -> Any:
    return jsonschema_rs.validator_for(closed(json_schema(name)), validate_formats=True)


def closed(value: Any) -> Any:
    """The schema without room for keys that it does not name; where it allows any key, it still does."""
    if isinstance(value, list):
        return [closed(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: closed(one) for key, one in value.items()}
    if isinstance(value.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made
