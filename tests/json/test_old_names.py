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

NAMES = """
import warnings
import stallkit
for name in ("json_schema", "Composer", "ContainerError", "Scene"):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        value = getattr(stallkit, name)
    [one] = said
    assert value.__name__ == name and f"{value.__module__}.{name} now" in str(one.message), str(one.message)
    assert name not in stallkit.__all__
"""


def test_names_that_moved_to_their_modules_are_found_and_say_where() -> None:
    done = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_old_names_work_and_warn_once() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
