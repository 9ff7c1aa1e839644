"""The JSON schemas of a pack's files, for editors: from the classes that they are read into.

What a schema cannot say, such as that a waiting signature has a kind, the reader says.
"""

from __future__ import annotations

from typing import Any

import attrs

from stallkit.detect.agent import Agent
from stallkit.detect.composer import Composer
from stallkit.detect.dialog import Button, Edge, Element, FieldType, Role
from stallkit.detect.signature import (
    Certainty,
    Clause,
    CursorState,
    Dismissal,
    Expect,
    Kind,
    Severity,
    Signature,
    State,
    Tier,
)
from stallkit.jsonio import TEXTS, closed, keys_of, schema_of, some_of
from stallkit.packs.pack_file import AGENT_FORMAT, FORMAT, RENAMED, TOP

__all__ = ["agent_schema", "pack_schema"]

_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TEXT_OR_TEXTS = some_of(_TEXT, TEXTS)
_STATES = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]


def pack_schema() -> dict[str, Any]:
    """The schema of ``signatures.toml``."""
    top: dict[str, Any] = {
        "format": {"const": FORMAT},
        "name": _TEXT,
        "priority": {"type": "integer"},
        "foreground": TEXTS,
        "executables": {"type": "object", "additionalProperties": TEXTS},
        "general": _FLAG,
        "signature": {"type": "array", "minItems": 1, "items": _signature()},
    }
    assert top.keys() == TOP
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A pack of signatures for stallkit"}
    return {**head, **closed(top, ["format", "signature"])}


def agent_schema() -> dict[str, Any]:
    """The JSON schema of an agent file, for editors: from the classes that it is read into."""
    table = schema_of(Agent)
    made = closed({"format": {"const": AGENT_FORMAT}, **table["properties"]}, ["format", *table["required"]])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "What stallkit knows of an agent"}
    return {**head, **made}


def _signature() -> dict[str, Any]:
    dialog = {"dialog": _ROWS, "edge": _EDGE, "fields": _FIELDS}
    known: dict[str, Any] = {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
        "state": {"enum": _STATES},
        "kind": schema_of(Kind),
        "severity": schema_of(Severity),
        "cursor": schema_of(CursorState),
        "certainty": schema_of(Certainty),
        "all_of": {"type": "array", "minItems": 1, "items": _CLAUSE},
        "none_of": {"type": "array", "items": _CLAUSE},
        "dismissal": _DISMISSAL,
        "composer": schema_of(Composer),
        "allow_below": {"type": "array", "items": schema_of(State)},
        "tier": {"enum": [name for tier in Tier for name in (tier.name.lower(), tier.name)]},
        "forms": {"type": "array", "minItems": 1, "items": closed(dialog, ["dialog", "edge"])},
        "hits": TEXTS,
        "misses": TEXTS,
        **dialog,
    }
    plain = {keys_of(Signature)[one.name]: one.type for one in attrs.fields(attrs.resolve_types(Signature))}
    rest = {key: schema_of(hint) for key, hint in plain.items() if key not in known}
    return closed({**rest, **known}, ["id", "title", "state", "all_of"])


_CLAUSE = some_of(
    {"type": "string", "minLength": 1, "description": "a literal that is on the screen"},
    {
        **schema_of(Clause),
        "properties": {**dict.fromkeys(keys_of(Clause), _TEXT), "ignore_case": _FLAG, "keywords": TEXTS},
    },
)
_DISMISSAL = closed(
    {
        "keys": {**_TEXT, "description": "tmux's names, bare words that type themselves, quoted text"},
        "because": _TEXT,
        "expect": schema_of(Expect),
        "affirmative": _FLAG,
        "verify_timeout_s": {"type": "number", "minimum": 0, "maximum": 60},
        "settle_s": {"type": "number", "deprecated": True, "description": "the older name of verify_timeout_s"},
    },
    ["keys"],
)
assert keys_of(Dismissal).keys() <= _DISMISSAL["properties"].keys()
_BUTTON = {"text": _TEXT, "is": schema_of(Role), "key": _TEXT}
assert {RENAMED.get(key, key) for key in _BUTTON} == keys_of(Button).keys()
_ELEMENT = {
    **dict.fromkeys(("row", "option", "pattern"), _TEXT_OR_TEXTS),
    **dict.fromkeys(("choices", "rule", "ignore_case", "at_cursor", "selected"), _FLAG),
    "times": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2},
    "is": schema_of(Role),
    "key": _TEXT,
    "buttons": {"type": "array", "minItems": 1, "items": closed(_BUTTON, ["text"])},
}
assert {RENAMED.get(key, key) for key in _ELEMENT} == keys_of(Element).keys()
_ROWS = {"type": "array", "items": some_of(_TEXT, closed(_ELEMENT))}
_EDGE = some_of(schema_of(Edge), {"type": "array", "items": schema_of(Edge)})
_FIELD = closed({"is": schema_of(FieldType), "most": {"type": "integer"}, "decides": _FLAG, "aside": _FLAG}, ["is"])
_FIELDS = {"type": "object", "additionalProperties": some_of(schema_of(FieldType), TEXTS, _FIELD)}
