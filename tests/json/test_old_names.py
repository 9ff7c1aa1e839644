"""The methods of values that the version before had work as they did, and say once what is called today."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import json, warnings
import stallkit
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        result = stallkit.check(stallkit.MemoryTransport("Proceed? [y/N] "))
        event = stallkit.Event("escalation", "tmux:w1", {"why": "it asks"})
        for value in (result, result.verdict, result.verdict.detection, event):
            plain = value.to_dict()
            assert plain == stallkit.dump(value) == json.loads(value.to_json())
            kind, text = type(value), value.to_json()
            assert kind.from_dict(plain) == kind.from_json(text) == stallkit.load(kind, plain)
told = sorted(str(one.message).partition(" is ")[0] for one in said)
assert told == ["from_dict(plain)", "from_json(text)", "to_dict()", "to_json()"], told
assert {one.category for one in said} == {DeprecationWarning} and {one.filename for one in said} == {"<string>"}
"""


def test_old_names_work_and_warn_once() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
