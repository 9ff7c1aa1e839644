"""The commands that a distribution brings, and the JSON that they print.

A distribution names its set in its pyproject.toml:

    [project.entry-points."stallkit.commands"]
    lab = "stallkit_lab.commands:COMMANDS"
"""

from __future__ import annotations

from importlib import import_module
from types import UnionType
from typing import Any, Mapping, Sequence

import click
from attrs import evolve, field, frozen

from stallkit.distributions import brought, named
from stallkit.jsonio import VERSION, schema_of_json

# --- what commands print with --json ---

Shape = str | type | UnionType | Sequence["Shape"] | Mapping[str, "Shape"]
_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "null": {"type": "null"},
    "any": {},
    "version": {"const": VERSION},
}


@frozen
class Printed:
    """What the commands of a distribution print with ``--json``."""

    values: Mapping[str, type] = field(factory=dict)  # by name: what is printed as a whole
    same: Mapping[str, str] = field(factory=dict)  # commands that print what another name describes
    shapes: Mapping[str, tuple[str, Shape]] = field(factory=dict)  # by command: about what, and all but `version`
    shared: Mapping[str, Shape] = field(factory=dict)  # what other distributions call "@name"

    def joined(self, other: Printed) -> Printed:
        """Both."""
        return evolve(
            self,
            values={**self.values, **other.values},
            same={**self.same, **other.same},
            shapes={**self.shapes, **other.shapes},
            shared={**self.shared, **other.shared},
        )

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that print an object, by their words with dashes."""
        return tuple(sorted([*self.shapes, *self.same]))

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that has a schema."""
        return (*self.values, *self.commands)


def schema_of_shape(shape: Shape, shared: Mapping[str, Shape] | None = None) -> dict[str, Any]:
    """The JSON schema of a shape.  Raises KeyError for an unknown word.

    >>> schema_of_shape({"name": "text", "why?": "=done|over?"})["properties"]["why"]
    {'enum': ['done', 'over', None]}
    """
    shared = shared or {}
    if isinstance(shape, str):
        if shape.startswith("@"):
            return schema_of_shape(shared[shape[1:]], shared)
        return _of_word(shape.removesuffix("?"), shape.endswith("?"))
    if isinstance(shape, type | UnionType):
        return schema_of_json(shape)
    if isinstance(shape, tuple):
        found = [one for one in shape if not (isinstance(one, str) and one[:1] == "@" and one[1:] not in shared)]
        made = [schema_of_shape(one, shared) for one in found]
        return made[0] if len(made) == 1 else {"anyOf": made}
    if isinstance(shape, Mapping):
        return _of_keys(shape, shared)
    (item,) = shape
    return {"type": "array", "items": schema_of_shape(item, shared)}


def _of_word(word: str, or_null: bool) -> dict[str, Any]:
    if word.startswith("="):
        return {"enum": [*word[1:].split("|"), *[None] * or_null]}
    schema = dict(_PLAIN[word])
    return {**schema, "type": [schema["type"], "null"]} if or_null else schema


def _of_keys(shape: Mapping[str, Shape], shared: Mapping[str, Shape]) -> dict[str, Any]:
    base = schema_of_shape(shape["&"], shared) if "&" in shape else {"properties": {}, "required": []}
    named = {key: one for key, one in shape.items() if key not in ("*", "&")}
    properties = {key.removesuffix("?"): schema_of_shape(one, shared) for key, one in named.items()}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {**base["properties"], **properties},
        "required": [*base["required"], *(key for key in named if not key.endswith("?"))],
    }
    return {**made, "additionalProperties": schema_of_shape(shape["*"], shared)} if "*" in shape else made


@frozen
class CommandSet:
    """What a distribution adds to the command line.  Nothing but this is imported before one of its verbs is called.

    >>> CommandSet({"hello": ("acme.hello_command", "greet a session")}).verbs["hello"][1]
    'greet a session'
    """

    verbs: Mapping[str, tuple[str, str]]  # the module with VERB_command, and what --help says of it in a row
    printed: str | None = None  # module:name of what these verbs print with --json, a `Printed`
    offers: Mapping[str, str] = field(factory=dict)  # module:name of what other distributions use if it is there

    def command(self, verb: str) -> click.Command:
        """The command of this verb.  Raises whatever the import of its module raises."""
        found: click.Command = getattr(import_module(self.verbs[verb][0]), f"{verb.replace('-', '_')}_command")
        return found

    def shapes(self) -> Printed:
        """What its commands print with --json.  Raises whatever the import of its module raises."""
        if self.printed is None:
            return Printed()
        found: Printed = named(self.printed)
        return found


def command_sets() -> tuple[CommandSet, ...]:
    """Those of the installed distributions, without stallkit's own."""
    return tuple(one for one in brought() if isinstance(one, CommandSet))
