"""What the commands print with ``--json``: a value's own JSON, or a shape for each command."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.json_shapes import Printed, Shape
from stallkit.cli.panel import PrintedEnd
from stallkit.detect.engine import Detection, Fate
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import Sign, Source
from stallkit.judging.verdict import Verdict
from stallkit.press.check import CheckResult
from stallkit.press.events import Event
from stallkit.press.ready import Ready
from stallkit.press.send import Sent
from stallkit.probes.report import TerminalReport
from stallkit.runs.run import RunResult
from stallkit.sessions.model import ExitRecord
from stallkit.signals.tool_call import AskedInside

__all__ = ["PRINTED"]

_VALUES: Mapping[str, type] = {
    "check": CheckResult,
    "detection": Detection,
    "event": Event,
    "exit-record": ExitRecord,
    "run": RunResult,
    "terminal-report": TerminalReport,
    "verdict": Verdict,
}

# Commands that print what another name's schema describes.
_SAME: Mapping[str, str] = {
    "probe": "terminal-report",
}

_DECISION = "=press|choose|escalate|wait|restart|interrupt|resume|send|stop|ignore"
_FIELDS: Shape = {"*": "text"}
_END: Shape = {"version": "version", "&": PrintedEnd}
_TIMES: Shape = {"*": "integer"}
_SESSION: Shape = {
    "name": "text", "id": "text", "identity": "text?", "directory": "text", "engine": "text?", "container": "text?",
    "ports": ["integer"],
}  # fmt: skip

# By the command's words: what it is about, and the shape without `version`.
_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "attach": ("all runs, or the one that is named", (
        {"runs": [{
            "id": "text", "command": ["text"], "cwd": "text", "started": "time", "status": "text", "why": "text",
            "exit_status": "integer?", "seconds": "number?",
        }]},
        RunResult,
    )),
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
    "list": ("the sessions that were started", {
        "sessions": [(
            {"name": "text", "state": "=running|starting", "session": {"name": "text", "id": "text", "*": "any"}},
            {"name": "text", "state": "=ended", "ended": _END},
        )],
    }),
    "output": ("the last lines of a session, with `--check-stall` beside what `check` prints; or how it ended", (
        {"target": "text", "status": "null", "lines": ["text"]},
        {"&": CheckResult, "lines": ["text"]},
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
    "postmortem": ("how a session ended, with `--all` each time", (
        "@ended", {"target": "text", "ended": [_END]},
    )),
    "send": ("whether the text was typed", (
        {
            "target": "text", "sent": Sent, "why": "text",
            "state": State | None, "kind": Kind | None, "ended": (_END, "null"),
        },
        "@ended",
    )),
    "start": ("the session that was started, with `--manifest` its sandbox", (
        {"session": _SESSION},
        "@started_sandbox",
    )),
    "stop": ("how each session was ended", {
        "sessions": [({"name": "text", "cause": "text", "why": "text"}, {"name": "text", "error": "text"})],
    }),
    "wait-ready": ("whether an agent is at its composer", (
        {
            "target": "text", "ready": Ready, "why": "text", "dismissed": ["text"],
            "state": State | None, "kind": Kind | None, "ended": (_END, "null"),
        },
        "@ended",
    )),
}  # fmt: skip

PRINTED = Printed(_VALUES, _SAME, _SHAPES, {"ended": {"target": "text", "ended": _END}})
