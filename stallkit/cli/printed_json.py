"""The JSON schemas of what the commands print with ``--json``, as JSON Schema 2020-12."""

from __future__ import annotations

from functools import cache
from typing import Any

from stallkit.cli.command_set import command_sets
from stallkit.cli.commands import OWN
from stallkit.cli.json_shapes import Printed, schema_of_shape
from stallkit.jsonio import VERSION, schema

__all__ = ["all_printed", "json_schema"]


@cache
def all_printed() -> Printed:
    """What the commands of all installed distributions print."""
    found = Printed()
    for one in (OWN, *command_sets()):
        found = found.joined(one.shapes())
    return found


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name, as in ``json_schema("verdict")`` and ``json_schema("stuck-list")``.

    It is of a value, or of what the command of these words prints with ``--json``; `Printed.names` has all.  Raises
    ValueError for another name.

    >>> json_schema("event")["required"]
    ['version', 'time', 'event', 'target']
    """
    known = all_printed()
    name = known.same.get(name, name)
    if name in known.values:
        return schema(known.values[name])
    if name not in known.shapes:
        raise ValueError(f"no JSON schema {name!r}: there are {', '.join(known.names)}")
    about, shape = known.shapes[name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"What `stallkit {_words(name)} --json` prints: {about}; all texts are redacted",
        **_versioned(schema_of_shape(shape, known.shared)),
    }


def _versioned(made: dict[str, Any]) -> dict[str, Any]:
    """The schema with `version` in each of its objects."""
    if "anyOf" in made:
        return {"anyOf": [_versioned(one) for one in made["anyOf"]]}
    properties = {"version": {"const": VERSION}, **made["properties"]}
    return {**made, "properties": properties, "required": ["version", *made["required"]]}


def _words(name: str) -> str:
    """The command that is meant: groups have one word."""
    group, _, verb = name.partition("-")
    return f"{group} {verb}" if group in ("audit", "config", "policy", "routes", "stuck") else name
