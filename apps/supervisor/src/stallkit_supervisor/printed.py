"""What the commands of the supervisor print with ``--json``."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.printed_json import Printed, Shape
from stallkit.detect.signature import Certainty, Kind, State

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
_TIMES: Shape = {"*": "integer"}
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

_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "config-notify": ("whether each place was told", {"places": [{"place": "text", "told": "flag", "what": "text"}]}),
    "report": ("what the event log says; with `--incidents` each one, with the facts of its event", (
        {
            "begun": "time?", "ended": "time?", "events": "integer", "unreadable": "integer", "watching": "integer?",
            "troubles": "integer", "sessions": [_REPORTED],
        },
        {"incidents": [{"at": "number", "time": "time?", "session": "text", "event": "text", "facts": {"*": "any"}}]},
    )),
    "status": ("what each watched session does", {
        "sessions": [_WATCHED],
        "supervisors": [{"pid": "integer", "since": "number", "policy": "text", "summary": "text"}],
    }),
}  # fmt: skip

PRINTED = Printed(same={"watch": "event"}, shapes=_SHAPES)
