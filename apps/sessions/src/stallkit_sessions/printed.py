"""What the commands of the app of sessions print with ``--json``."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.printed_json import Printed, Shape
from stallkit.press.check import CheckResult
from stallkit_sessions.cli.panel import PrintedEnd
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.runs.run import RunResult

_VALUES: Mapping[str, type] = {"exit-record": ExitRecord, "run": RunResult}

_END: Shape = {"version": "version", "&": PrintedEnd}
_ENDED: Shape = {"target": "text", "ended": _END}  # of a session that was started, and that is over
_SESSION: Shape = {
    "name": "text", "id": "text", "identity": "text?", "directory": "text", "engine": "text?", "container": "text?",
    "ports": ["integer"],
}  # fmt: skip

_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "attach": ("all runs, or the one that is named", (
        {"runs": [{
            "id": "text", "command": ["text"], "cwd": "text", "started": "time", "status": "text", "why": "text",
            "exit_status": "integer?", "seconds": "number?",
        }]},
        RunResult,
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
        {"target": "text", "ended": [_END]},
    )),
    "start": ("the session that was started, with `--manifest` its sandbox", (
        {"session": _SESSION},
        "@started_sandbox",
    )),
    "stop": ("how each session was ended", {
        "sessions": [({"name": "text", "cause": "text", "why": "text"}, {"name": "text", "error": "text"})],
    }),
}  # fmt: skip

PRINTED = Printed(_VALUES, {}, _SHAPES, {"end": _END, "ended": _ENDED})
