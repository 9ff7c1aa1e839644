"""What the commands of the lab print with ``--json``."""

from __future__ import annotations

from typing import Mapping

from stallkit.cli.printed_json import Printed, Shape
from stallkit.detect.signature import Certainty, Kind, Severity, State
from stallkit_lab.evaluate.evaluation import Comparison
from stallkit_lab.lint.findings import Level
from stallkit_lab.record.replay import Timeline
from stallkit_lab.try_pattern import Trial

_TIMES: Shape = {"*": "integer"}
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
_SHAPES: Mapping[str, tuple[str, Shape]] = {
    "pack-add": ("the signature that was proposed", {
        "id": "text", "all_of": [{"text": "text?", "pattern": "text?", "where": "text"}], "cursor": "text",
        "doubts": ["text"], "rivals": [{"screen": "text", "signature": "text", "wins": "flag"}], "files": ["text"],
        "faults": ["text"], "problems": ["text"],
    }),
    "pack-capture": ("the screen that was saved", ({"target": "text", "file": "text", "content": "text"}, "@ended")),
    "demo": ("what was found of each program", {
        "rows": [{
            "program": "text", "driven_into": "text", "verdict": "text", "certainty": "text", "signature": "text",
            "reason": "text", "keys": "text",
        }],
        "wrong": "integer", "left_behind": ["text"],
    }),
    "eval": ("the figures, and each miss", _EVALUATED),
    "pack-lint": ("what is wrong in packs", {
        "packs": ["text"], "errors": "integer", "warnings": "integer",
        "findings": [{
            "code": "text", "level": Level, "title": "text", "pack": "text", "signature": "text?",
            "clause": "text?", "file": "text?", "line": "integer?", "message": "text", "todo": "text", "page": "text",
            "explain": "text",
        }],
        "notes": ["text"],
        "counts": [{"pack": "text", "signature": "text", "clause": "text?", "right": ["text"], "wrong": ["text"]}],
    }),
    "record-mark": ("the mark that was set", {"file": "text", "at": "number", "label": "text"}),
    "pack-matrix": ("what the packs have seen", {"rows": [_SEEN]}),
    "pack-new": ("the pack that was made", {
        "pack": "text", "distribution": "text", "module": "text", "directory": "text", "foreground": ["text"],
        "files": ["text"],
    }),
    "record-start": ("the recording", {
        "file": "text", "seconds": "number", "markers": "integer", "lost_bytes": "integer", "exit_status": "integer?",
    }),
    "record-replay": ("each change of verdict or truth", {"&": Timeline, "problems": ["text"]}),
    "pack-show": ("a signature", _PORTRAIT),
    "pack-try": ("which rows a pattern matches", {"clause": "text", "screens": [Trial], "counts": _TIMES}),
    "pack-tune": ("what each change of a clause does", {
        "signature": "text", "state": State, "cases": "integer", "matched": "integer", "precision": "number?",
        "recall": "number?", "wrong_keys": "integer",
        "effects": [{
            "clause": "text", "text": "text", "change": "text", "precision": "number?", "recall": "number?",
            "adds_to_precision": "number?", "costs_in_recall": "number?", "wrong_keys": "integer",
            "changed": ["text"], "broken": ["text"], "without_use": "flag",
        }],
        "problems": ["text"],
    }),
}  # fmt: skip

PRINTED = Printed(shapes=_SHAPES)
