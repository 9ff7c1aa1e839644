"""The JSON schema of a policy file, for editors: from the definitions that its reader holds it to."""

from __future__ import annotations

from typing import Any

from stallkit.class_schema import closed, schema_of, some_of
from stallkit.press.policy_file import KEYS, PROFILES
from stallkit.press.rules import CONDITIONS, WORDS, Act

__all__ = ["policy_schema", "policy_table"]

_TEXT: dict[str, Any] = {"type": "string"}
_SOME: dict[str, Any] = {"type": "string", "minLength": 1}
_PATTERNS = some_of(_SOME, {"type": "array", "items": _TEXT, "minItems": 1})


def policy_schema() -> dict[str, Any]:
    """The schema of a policy file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A policy of stallkit: what it may do"}
    return {**head, **policy_table()}


def policy_table() -> dict[str, Any]:
    """The schema of a policy as a table of another file."""
    rule = {
        "do": schema_of(Act),
        "why": _TEXT,
        "text": _TEXT,
        **{name: _condition(name) for name in CONDITIONS},
        "request": {"type": "object", "additionalProperties": _PATTERNS},
        "never": _PATTERNS,
    }
    top = {
        "format": {"const": 1},
        "name": _TEXT,
        "profile": {"enum": [*PROFILES]},
        "patient": {"type": "boolean"},
        "agents": {"type": "array", "items": _TEXT},
        "trust": {"type": "array", "items": {"type": "string", "pattern": "^[/~]"}},
        "rule": {"type": "array", "items": closed(rule, ["do"])},
    }
    assert set(top) == set(KEYS)
    return closed(top)


def _condition(name: str) -> dict[str, Any]:
    """Shell patterns; of the words that a fact can be an editor proposes each."""
    if name not in WORDS:
        return _PATTERNS
    word = some_of({"enum": [*map(str, WORDS[name])]}, {"type": "string", "pattern": r"[*?\[]"})
    return some_of(word, {"type": "array", "items": word, "minItems": 1})
