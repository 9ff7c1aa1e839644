"""What the commands print with ``--json``: a value's own JSON, or a shape for each command."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.json_shapes import Printed, Shape
from stallkit.detect.engine import Detection, Fate
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import Sign, Source
from stallkit.judging.verdict import Verdict
from stallkit.press.check import CheckResult
from stallkit.press.events import Event
from stallkit.press.ready import Ready
from stallkit.press.send import Sent
from stallkit.probes.report import TerminalReport
from stallkit.signals.tool_call import AskedInside

__all__ = ["PRINTED"]

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
_FIELDS: Shape = {"*": "text"}
_TIMES: Shape = {"*": "integer"}

# By the command's words: what it is about, and the shape without `version`.
_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "config-show": (
        "the settings", {"settings": [{"setting": "text", "value": "any", "from": "text"}], "ignored": ["text"]}
    ),
    "explain": ("the verdict, what each source claims and which rule decides, and all signatures in order", (
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
