"""What the commands print with ``--json``, and its JSON schemas: a value's own JSON, or a shape for each command."""

from __future__ import annotations

from functools import cache
from typing import Any, Mapping

from stallkit.cli.command_set import Printed, Shape, command_sets, schema_of_shape
from stallkit.cli.main import OWN
from stallkit.detect.engine import Detection, Fate
from stallkit.detect.layout import PARTS
from stallkit.detect.rows import Sort
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import Sign, Source
from stallkit.jsonio import VERSION, schema
from stallkit.judging.verdict import Verdict
from stallkit.press.check import CheckResult
from stallkit.press.events import Event
from stallkit.press.send import Ready, Sent
from stallkit.signals.collect import AskedInside
from stallkit.transports.stream import TerminalReport

# --- what commands print ---

_VALUES: Mapping[str, type] = {
    "check": CheckResult,
    "detection": Detection,
    "event": Event,
    "terminal-report": TerminalReport,
    "verdict": Verdict,
}

# Commands that print what another name's schema describes.
_SAME: Mapping[str, str] = {
    "probe": "terminal-report",
}

_DECISION = "=press|choose|escalate|wait|restart|interrupt|resume|send|stop|ignore"
_PART = f"={'|'.join(PARTS)}"
_FIELDS: Shape = {"*": "text"}
_TIMES: Shape = {"*": "integer"}

# By the command's words: what it is about, and the shape without `version`.
_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "config-show": (
        "the settings", {"settings": [{"setting": "text", "value": "any", "from": "text"}], "ignored": ["text"]}
    ),
    "explain": ("the verdict, what each source claims, the rule, all signatures in order; with `--layout` the parts", (
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
        "@ended",
    )),
    "packs": ("the packs", {
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

PRINTED = Printed(_VALUES, _SAME, _SHAPES)


# --- its schemas ---


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
