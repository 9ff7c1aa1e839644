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
    "watch": "event",
}

_DECISION = "=press|choose|escalate|wait|restart|interrupt|resume|send|stop|ignore"
_FIELDS: Shape = {"*": "text"}
_END: Shape = {"version": "version", "&": PrintedEnd}
_TIMES: Shape = {"*": "integer"}
_SESSION: Shape = {
    "name": "text", "id": "text", "identity": "text?", "directory": "text", "engine": "text?", "container": "text?",
    "ports": ["integer"],
}  # fmt: skip
_WATCHED: Shape = {
    "target": "text", "state": State, "certainty": Certainty | None, "kind": Kind | None, "signature": "text?",
    "line": "text?", "foreground": "text?", "need": "text?",
    "needs": (
        {"what": "text", "since": "time", "looks": "integer", "told": "integer", "answered_by": "text?"}, "null",
    ), "unchanged": "integer", "still_since": "time?",
    "recoveries": "integer", "restarts": "integer", "halted": "text?", "held": "text?", "waits_for_quota": "flag",
    "error": "text?", "seen_at": "number?", "seen_time": "time?", "iteration": "integer", "free_at": "number?",
    "free_time": "time?", "supervisor": "integer?",
}  # fmt: skip
_REPORTED: Shape = {
    "session": "text", "state": "text?", "halted": "text?", "seen": "time?",
    "waits": [{
        "what": "text", "about": "text?", "since": "time?", "until": "time?", "blocked_s": "number", "by": "text?",
        "told": "integer",
    }],
    "blocked_s": "number", "still_waits": "flag", "pressed": "integer", "not_pressed": "integer",
    "restarts": "integer", "restarts_failed": "integer", "resumed": "integer", "failures": _TIMES, "limits": _TIMES,
    "ends": _TIMES, "troubles": "integer", "turns": "integer",
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
    "incidents": ("what was done to sessions, and reported; `facts` are those of the event", {
        "incidents": [{"at": "number", "time": "time?", "session": "text", "event": "text", "facts": {"*": "any"}}],
    }),
    "list": ("the sessions that were started", {
        "sessions": [(
            {"name": "text", "state": "=running|starting", "session": {"name": "text", "id": "text", "*": "any"}},
            {"name": "text", "state": "=ended", "ended": _END},
        )],
    }),
    "notify": ("whether each place was told", {"places": [{"place": "text", "told": "flag", "what": "text"}]}),
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
    "report": ("what the event log tells", {
        "begun": "time?", "ended": "time?", "events": "integer", "unreadable": "integer", "watching": "integer?",
        "troubles": "integer", "sessions": [_REPORTED],
    }),
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
    "status": ("what each watched session does", {
        "sessions": [_WATCHED],
        "supervisors": [{"pid": "integer", "since": "number", "policy": "text", "summary": "text"}],
    }),
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
