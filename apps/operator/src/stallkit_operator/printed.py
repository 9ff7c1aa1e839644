"""What the commands of the operator's app print with ``--json``."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.printed_json import Printed, Shape
from stallkit_operator.answering import Result
from stallkit_operator.item import Item

_SAME: Mapping[str, str] = {
    "stuck-approve": "stuck-reply",
    "stuck-decline": "stuck-reply",
    "stuck-triage": "stuck-show",
    "sandbox-egress-edit": "sandbox-routes-edit",
    "sandbox-routes-reload": "sandbox-routes-edit",
}
_SANDBOX: Shape = {
    "name": "text", "version": "integer", "directory": "text", "branch": "text?", "repository": "text?",
    "pull_request": "integer?", "engine": "text", "image": "text?",
}  # fmt: skip
_STARTED: Shape = {"session": "text", "sandbox": _SANDBOX, "sealed": "flag"}
_WAIVER: Shape = {
    "id": "integer", "subject": "text", "gate": "text", "why": "text", "by": "text", "through": "text",
    "item": "integer?", "granted": "time", "expires": "time", "revoked": "time?",
}  # fmt: skip

_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "sandbox-audit-show": ("what persons changed; further keys are of the event", {
        "events": [{
            "log": "text", "version": "integer", "n": "integer", "time": "time", "event": "text", "previous": "text",
            "*": "any",
        }],
    }),
    "sandbox-audit-verify": ("whether the logs are whole", {
        "logs": [{
            "log": "text", "lines": "integer", "last": "text", "findings": [{"line": "integer", "why": "text"}],
            "notes": ["text"],
        }],
    }),
    "sandbox-routes-edit": ("the edit of a proxy", {
        "sandbox": "text", "result": "text", "why": "text?", "diff": "text", "notes": ["text"],
    }),
    "stuck-list": ("what waits for a person", {"items": [Item]}),
    "sandbox-manifest": ("what a sandbox was started from", {
        "sandbox": _SANDBOX, "text": "text",
        "history": [{
            "version": "integer", "at": "text", "by": "text", "why": "text?", "item": "integer?", "changes": ["text"],
        }],
    }),
    "stuck-reply": ("what came of an answer", {
        "result": Result, "why": "text", "item": Item,
    }),
    "stuck-show": ("one item", {"item": Item}),
    "sandbox-waive": ("the waiver that was granted", {"waiver": _WAIVER}),
    "sandbox-waived": ("whether an operation is let through", {"waived": "flag", "waiver": (_WAIVER, "null")}),
    "sandbox-waivers": ("what is let through", {"waivers": [_WAIVER]}),
}  # fmt: skip

PRINTED = Printed(same=_SAME, shapes=_SHAPES, shared={"started_sandbox": _STARTED})
