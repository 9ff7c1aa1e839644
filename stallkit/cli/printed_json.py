"""What the commands print with ``--json``, and its JSON schemas: a value's own JSON, or a shape for each command."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, Mapping, Sequence

from attrs import evolve, field, frozen

from stallkit.cli.command_set import command_sets
from stallkit.cli.main import OWN
from stallkit.detect.engine import Detection, Fate
from stallkit.detect.layout import PARTS
from stallkit.detect.rows import Sort
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.distributions import named
from stallkit.evidence.claim import Sign, Source
from stallkit.jsonio import VERSION, schema, schema_of_json
from stallkit.judging.verdict import Verdict
from stallkit.press.check import CheckResult
from stallkit.press.events import Event
from stallkit.press.send import Ready, Sent
from stallkit.signals.collect import AskedInside
from stallkit.transports.stream import TerminalReport

# --- what a distribution prints ---

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


# --- what commands print ---

_VALUES: Mapping[str, type] = {
    "check": CheckResult,
    "detection": Detection,
    "event": Event,
    "terminal-report": TerminalReport,
    "verdict": Verdict,
}

# Commands that print what another name's schema describes.
_DECISION = "=press|choose|escalate|wait|restart|interrupt|resume|send|stop|ignore"
_PART = f"={'|'.join(PARTS)}"
_FIELDS: Shape = {"*": "text"}
_TIMES: Shape = {"*": "integer"}

# By the command's words: what it is about, and the shape without `version`.
_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "config-show": (
        "the settings", {"settings": [{"setting": "text", "value": "any", "from": "text"}], "ignored": ["text"]}
    ),
    "explain": ("the verdict, what each source claims, the rule, all signatures in order; or the parts, or a process", (
        {
            "&": Verdict, "target": "text",
            "claims": [{
                "source": Source, "sign": Sign, "state": State, "kind": (Kind, "null"), "weight": "text",
                "keys": "flag",
            }],
            "rule": "text?",
            "otherwise": [{"without": Source, "rule": "text", "state": State, "certainty": Certainty}],
            "facts": [{"fact": "text", "argues_for": "text"}], "inside": [AskedInside],
            "dialog": ({
                "whole": "flag", "doubt": "text?", "fields": _FIELDS,
                "rows": [{"row": "integer", "text": "text", "as": "text?"}],
            }, "null"),
            "signatures": [{
                "signature": "text", "tier": "text", "fate": Fate,
                "cursor_fits": "flag",
                "clauses": [{
                    "role": "text", "clause": "text", "held": "flag?", "row": "integer?", "start": "integer?",
                    "text": "text?",
                }],
            }],
        },
        {
            "target": "text", "rows": [{"sort": Sort | None, "parts": [_PART], "text": "text"}],
            "parts": {"*": ["integer"]},
        },
        TerminalReport,
        "@ended",
    )),
    "pack-list": ("the packs", {
        "packs": [{
            "name": "text", "version": "text", "distribution": "text", "priority": "integer", "foreground": ["text"],
            "signatures": "integer",
        }],
        "order": ["text"], "problems": ["text"],
    }),
    "policy-explain": ("what a policy would do about a session, or with `--log` about each detection", (
        {
            "target": "text", "policy": "text", "decision": _DECISION, "keys": "text?", "option": "text?",
            "why": "text?", "rule": "text?", "state": State, "certainty": Certainty, "kind": Kind | None,
            "request": (_FIELDS, "null"), "foreground": "text?", "reasons": ["text"],
        },
        {
            "policy": "text", "counts": _TIMES,
            "detections": [{
                "time": "time", "target": "text", "decision": _DECISION, "keys": "text?", "why": "text?",
                "rule": "text?", "signature": "text?", "request": (_FIELDS, "null"),
            }],
        },
        "@ended",
    )),
    "send": ("whether the text was typed", (
        {
            "target": "text", "sent": Sent, "why": "text",
            "state": State | None, "kind": Kind | None, "ended": ("@end", "null"),
        },
        "@ended",
    )),
    "wait": ("whether an agent is at its composer", (
        {
            "target": "text", "ready": Ready, "why": "text", "dismissed": ["text"],
            "state": State | None, "kind": Kind | None, "ended": ("@end", "null"),
        },
        "@ended",
    )),
}  # fmt: skip

PRINTED = Printed(_VALUES, {}, _SHAPES)


# --- its schemas ---


@cache
def all_printed() -> Printed:
    """What the commands of all installed distributions print."""
    found = Printed()
    for one in (OWN, *command_sets()):
        if one.printed is not None:
            found = found.joined(named(one.printed))
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
        "title": f"What `stallkit {name.replace('-', ' ')} --json` prints: {about}; all texts are redacted",
        **_versioned(schema_of_shape(shape, known.shared)),
    }


def _versioned(made: dict[str, Any]) -> dict[str, Any]:
    """The schema with `version` in each of its objects."""
    if "anyOf" in made:
        return {"anyOf": [_versioned(one) for one in made["anyOf"]]}
    properties = {"version": {"const": VERSION}, **made["properties"]}
    return {**made, "properties": properties, "required": ["version", *made["required"]]}
