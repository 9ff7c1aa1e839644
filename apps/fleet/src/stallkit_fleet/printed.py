"""What the commands of the fleet print with ``--json``."""

from __future__ import annotations

from typing import Mapping

from stallkit_operator.item import Item

from stallkit.cli.printed_json import Printed, Shape
from stallkit_fleet.messages import Outcome

_SAME: Mapping[str, str] = {
    "fleet-report": "report",
    "fleet-approve": "fleet-reply",
    "fleet-decline": "fleet-reply",
}
_HOST: Shape = {"host": "text", "alive": "flag", "heard": "number", "*": "any"}
_SESSION: Shape = {"host": "text", "alive": "flag", "state": "text", "since": "number?", "target": "text", "*": "any"}

_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "fleet-doctor": ("what is wrong in a fleet", {"findings": [{"where": "text", "why": "text", "todo": "text"}]}),
    "fleet-list": ("the sessions of all hosts", {"hosts": [_HOST], "sessions": [_SESSION]}),
    "fleet-policy-list": ("the versions of the policy of a fleet, and what each host runs", {
        "versions": [{"version": "integer", "by": "text", "at": "number", "note": "text", "text": "text"}],
        "hosts": {"*": {"policy": "integer?", "takes_policies": "flag?", "policy_refused": "text?"}},
    }),
    "fleet-reply": ("what came of an answer at a host", {
        "host": "text", "result": Outcome, "why": "text", "item": (Item, "null"),
    }),
    "fleet-show": ("one item of a host", {"host": "text", "item": Item}),
    "fleet-stuck-list": ("what waits for a person on all hosts", {
        "items": [{"host": "text", "alive": "flag", "item": Item}],
    }),
    "fleet-watch": ("an event of a host; further keys are its facts", {
        "host": "text", "sequence": "integer", "time": "time", "event": "text", "target": "text", "*": "any",
    }),
}  # fmt: skip

PRINTED = Printed(same=_SAME, shapes=_SHAPES)
