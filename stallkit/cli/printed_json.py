"""What the commands print with ``--json``: a value's own JSON, or a shape for each command, as JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any, Mapping

from stallkit.cli.json_shapes import Shape, schema_of_shape
from stallkit.cli.panel import PrintedEnd
from stallkit.detect.engine import Detection, Fate
from stallkit.detect.signature import Certainty, Kind, Severity, State
from stallkit.evidence.claim import Sign, Source
from stallkit.jsonio import VERSION, schema
from stallkit.judging.verdict import Verdict
from stallkit.lab.evaluate.compare import Comparison
from stallkit.lab.lint.findings import Level
from stallkit.lab.record.replay import Timeline
from stallkit.lab.try_pattern import Trial
from stallkit.press.check import CheckResult
from stallkit.press.events import Event
from stallkit.press.ready import Ready
from stallkit.press.send import Sent
from stallkit.probes.report import TerminalReport
from stallkit.runs.run import RunResult
from stallkit.sessions.model import ExitRecord
from stallkit.signals.tool_call import AskedInside
from stallkit.stuck.answering import Result
from stallkit.stuck.item import Item

__all__ = ["COMMANDS", "PRINTED", "SCHEMAS", "VALUES", "json_schema"]

VALUES: Mapping[str, type] = {
    "check": CheckResult,
    "detection": Detection,
    "event": Event,
    "exit-record": ExitRecord,
    "run": RunResult,
    "terminal-report": TerminalReport,
    "verdict": Verdict,
}

# Commands that print what another name's schema describes.
SAME: Mapping[str, str] = {
    "probe": "terminal-report",
    "watch": "event",
    "stuck-answer": "stuck-reply",
    "stuck-approve": "stuck-reply",
    "stuck-decline": "stuck-reply",
    "stuck-triage": "stuck-show",
    "egress-edit": "routes-edit",
    "routes-reload": "routes-edit",
    "pipelock-edit": "routes-edit",
}

_DECISION = "=press|choose|escalate|wait|restart|interrupt|resume|send|stop|ignore"
_FIELDS: Shape = {"*": "text"}
_END: Shape = {"version": "version", "&": PrintedEnd}
_ENDED: Shape = {"target": "text", "ended": _END}  # of a session that stallkit started, and that is over
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
_SANDBOX: Shape = {
    "name": "text", "version": "integer", "directory": "text", "branch": "text?", "repository": "text?",
    "pull_request": "integer?", "engine": "text", "image": "text?",
}  # fmt: skip
_WAIVER: Shape = {
    "id": "integer", "subject": "text", "gate": "text", "why": "text", "by": "text", "through": "text",
    "item": "integer?", "granted": "time", "expires": "time", "revoked": "time?",
}  # fmt: skip
_SEEN: Shape = {
    "program": "text", "version": "text", "kind": "text", "severity": Severity | None, "keys": "text?",
    "signatures": ["text"], "seen": "text?",
}  # fmt: skip
_INTERVAL: Shape = (["number"], "null")
_CELLS: Shape = {
    "tp": "integer", "fp": "integer", "fn": "integer", "tn": "integer", "precision": "number?", "recall": "number?",
    "f1": "number?", "precision_interval": _INTERVAL, "recall_interval": _INTERVAL, "f1_interval": _INTERVAL,
}  # fmt: skip
_SHARE: Mapping[str, Shape] = {"accuracy": "number?", "interval": _INTERVAL}
_CONFUSION: Shape = {**_SHARE, "confusion": {"*": _TIMES}}
_GROUP: Shape = {"cases": "integer", "waiting": _CELLS, "states": _SHARE, "kinds": _SHARE, "wrong_keys": _TIMES}
_EVALUATED: Mapping[str, Shape] = {
    "cases": "integer", "waiting": _CELLS, "sure": _CELLS, "states": _CONFUSION, "kinds": _CONFUSION,
    "wrong_keys": _TIMES, "right_keys": _TIMES,
    "misses": [{
        "id": "text", "program": "text", "true": "text", "true_kind": "text?", "predicted": "text",
        "predicted_kind": "text?", "certainty": Certainty, "signature": "text?", "hard": "flag", "wrong_keys": ["text"],
        "reasons": ["text"],
    }],
    "settings": {"packs": {"*": "text"}, "classifier": "text?", "screen_only": "flag", "leave_out": "any"},
    "groups?": {"*": {"*": _GROUP}}, "left_out?": "any", "skipped": ["text"], "problems": ["text"],
    "baseline?": Comparison,
}  # fmt: skip
_PORTRAIT: Mapping[str, Shape] = {
    "name": "text", "title": "text", "state": State, "kind": Kind | None, "severity": Severity, "certainty": Certainty,
    "preview": "flag", "tier": "text", "place": "integer", "of": "integer", "all_of": ["text"], "none_of": ["text"],
    "source": "text", "example": "text?", "looks": [{"row": "text", "matches": "flag"}],
    "apart": [{"name": "text", "rows": ["text"], "taken_for": "text"}], "keys": "text?", "pressed": "text",
    "seen": [_SEEN],
    "figures": {"hits": ["integer"], "misses": ["integer"], "screens": "integer", "elsewhere": "integer"},
}  # fmt: skip

# By the command's words: what it is about, and the shape without `version`.
PRINTED: Mapping[str, tuple[str, Shape]] = {
    "add-signature": ("the signature that was proposed", {
        "id": "text", "all_of": [{"text": "text?", "pattern": "text?", "where": "text"}], "cursor": "text",
        "doubts": ["text"], "rivals": [{"screen": "text", "signature": "text", "wins": "flag"}], "files": ["text"],
        "faults": ["text"], "problems": ["text"],
    }),
    "attach": ("all runs, or the one that is named", (
        {"runs": [{
            "id": "text", "command": ["text"], "cwd": "text", "started": "time", "status": "text", "why": "text",
            "exit_status": "integer?", "seconds": "number?",
        }]},
        RunResult,
    )),
    "audit-show": ("what persons changed; further keys are of the event", {
        "events": [{
            "log": "text", "version": "integer", "n": "integer", "time": "time", "event": "text", "previous": "text",
            "*": "any",
        }],
    }),
    "audit-verify": ("whether the logs are whole", {
        "logs": [{
            "log": "text", "lines": "integer", "last": "text", "findings": [{"line": "integer", "why": "text"}],
            "notes": ["text"],
        }],
    }),
    "capture": ("the screen that was saved", ({"target": "text", "file": "text", "content": "text"}, _ENDED)),
    "config-show": (
        "the settings", {"settings": [{"setting": "text", "value": "any", "from": "text"}], "ignored": ["text"]}
    ),
    "demo": ("what was found of each program", {
        "rows": [{
            "program": "text", "driven_into": "text", "verdict": "text", "certainty": "text", "signature": "text",
            "reason": "text", "keys": "text",
        }],
        "wrong": "integer", "left_behind": ["text"],
    }),
    "eval": ("the figures, and each miss", _EVALUATED),
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
        _ENDED,
    )),
    "incidents": ("what was done to sessions, and reported; `facts` are those of the event", {
        "incidents": [{"at": "number", "time": "time?", "session": "text", "event": "text", "facts": {"*": "any"}}],
    }),
    "lint": ("what is wrong in packs", {
        "packs": ["text"], "errors": "integer", "warnings": "integer",
        "findings": [{
            "code": "text", "level": Level, "title": "text", "pack": "text", "signature": "text?",
            "clause": "text?", "file": "text?", "line": "integer?", "message": "text", "todo": "text", "page": "text",
            "explain": "text",
        }],
        "notes": ["text"],
        "counts": [{"pack": "text", "signature": "text", "clause": "text?", "right": ["text"], "wrong": ["text"]}],
    }),
    "list": ("the sessions that were started", {
        "sessions": [(
            {"name": "text", "state": "=running|starting", "session": {"name": "text", "id": "text", "*": "any"}},
            {"name": "text", "state": "=ended", "ended": _END},
        )],
    }),
    "mark": ("the mark that was set", {"file": "text", "at": "number", "label": "text"}),
    "matrix": ("what the packs have seen", {"rows": [_SEEN]}),
    "new-pack": ("the pack that was made", {
        "pack": "text", "distribution": "text", "module": "text", "directory": "text", "foreground": ["text"],
        "files": ["text"],
    }),
    "notify": ("whether each place was told", {"places": [{"place": "text", "told": "flag", "what": "text"}]}),
    "output": ("the last lines of a session, with `--check-stall` beside what `check` prints; or how it ended", (
        {"target": "text", "status": "null", "lines": ["text"]},
        {"&": CheckResult, "lines": ["text"]},
        _ENDED,
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
        _ENDED,
    )),
    "postmortem": ("how a session ended, with `--all` each time", (
        _ENDED, {"target": "text", "ended": [_END]},
    )),
    "record": ("the recording", {
        "file": "text", "seconds": "number", "markers": "integer", "lost_bytes": "integer", "exit_status": "integer?",
    }),
    "replay": ("each change of verdict or truth", {"&": Timeline, "problems": ["text"]}),
    "report": ("what the event log tells", {
        "begun": "time?", "ended": "time?", "events": "integer", "unreadable": "integer", "watching": "integer?",
        "troubles": "integer", "sessions": [_REPORTED],
    }),
    "routes-edit": ("the edit of a proxy", {
        "sandbox": "text", "result": "text", "why": "text?", "diff": "text", "notes": ["text"],
    }),
    "send": ("whether the text was typed", (
        {
            "target": "text", "sent": Sent, "why": "text",
            "state": State | None, "kind": Kind | None, "ended": (_END, "null"),
        },
        _ENDED,
    )),
    "signature": ("a signature", _PORTRAIT),
    "start": ("the session that was started, with `--manifest` its sandbox", (
        {"session": _SESSION},
        {"session": "text", "sandbox": _SANDBOX, "sealed": "flag"},
    )),
    "status": ("what each watched session does", {
        "sessions": [_WATCHED],
        "supervisors": [{"pid": "integer", "since": "number", "policy": "text", "summary": "text"}],
    }),
    "stop": ("how each session was ended", {
        "sessions": [({"name": "text", "cause": "text", "why": "text"}, {"name": "text", "error": "text"})],
    }),
    "stuck-list": ("what waits for a person", {"items": [Item]}),
    "stuck-manifest": ("what a sandbox was started from", {
        "sandbox": _SANDBOX, "text": "text",
        "history": [{
            "version": "integer", "at": "text", "by": "text", "why": "text?", "item": "integer?", "changes": ["text"],
        }],
    }),
    "stuck-reply": ("what came of an answer", {
        "result": Result, "why": "text", "item": Item,
    }),
    "stuck-show": ("one item", {"item": Item}),
    "stuck-waive": ("the waiver that was granted", {"waiver": _WAIVER}),
    "stuck-waived": ("whether an operation is let through", {"waived": "flag", "waiver": (_WAIVER, "null")}),
    "stuck-waivers": ("what is let through", {"waivers": [_WAIVER]}),
    "try": ("which rows a pattern matches", {"clause": "text", "screens": [Trial], "counts": _TIMES}),
    "tune": ("what each change of a clause does", {
        "signature": "text", "state": State, "cases": "integer", "matched": "integer", "precision": "number?",
        "recall": "number?", "wrong_keys": "integer",
        "effects": [{
            "clause": "text", "text": "text", "change": "text", "precision": "number?", "recall": "number?",
            "adds_to_precision": "number?", "costs_in_recall": "number?", "wrong_keys": "integer",
            "changed": ["text"], "broken": ["text"], "without_use": "flag",
        }],
        "problems": ["text"],
    }),
    "wait-ready": ("whether an agent is at its composer", (
        {
            "target": "text", "ready": Ready, "why": "text", "dismissed": ["text"],
            "state": State | None, "kind": Kind | None, "ended": (_END, "null"),
        },
        _ENDED,
    )),
}  # fmt: skip


COMMANDS = tuple(sorted([*PRINTED, *SAME]))
SCHEMAS = (*VALUES, *COMMANDS)


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name, as in ``json_schema("verdict")`` and ``json_schema("stuck-list")``.

    It is of a value (`VALUES`), or of what the command of these words prints with ``--json`` (`COMMANDS`).  Raises
    ValueError for another name.

    >>> json_schema("event")["required"]
    ['version', 'time', 'event', 'target']
    """
    name = SAME.get(name, name)
    if name in VALUES:
        return schema(VALUES[name])
    if name not in PRINTED:
        raise ValueError(f"no JSON schema {name!r}: there are {', '.join(SCHEMAS)}")
    about, shape = PRINTED[name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"What `stallkit {_words(name)} --json` prints: {about}; all texts are redacted",
        **_versioned(schema_of_shape(shape)),
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
