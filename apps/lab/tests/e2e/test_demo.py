"""The demonstration tells every scene right, leaves nothing behind, and says so when it does not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from looks import ONE_LINE, SIZE, reads
from stallkit_lab import demo
from terminals import wait_for

from stallkit import Dismissal, Engine, Pack, Screen, Signature
from stallkit.detect.signature import State
from stallkit.press.check import check_session
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL
from stallkit.testing import MemoryTransport

pytestmark = pytest.mark.e2e


def test_every_scene_is_told_right(stallkit_command: str) -> None:
    done = subprocess.run(
        [stallkit_command, "demo", "--json"], check=False, capture_output=True, text=True, timeout=120
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["wrong"], found["left_behind"]) == (0, 0, [])
    rows = {row["program"]: row for row in found["rows"]}
    assert len(rows) == len(demo.scenes()), "every program of the demonstration is installed here"
    assert {row["driven_into"] for row in rows.values()} == {"working", "waiting", "ended"}
    assert [name for name, row in rows.items() if not row["keys"].startswith("none")] == ["the same, by a rule"]
    # Another demonstration may run beside this one, for a while.
    wait_for(lambda: not any(map(_has_mark, Path("/proc").glob("[0-9]*/environ"))), "no process of a demonstration")


def test_a_wrong_verdict_is_shown_as_one() -> None:
    """A pack that takes everything for a prompt must make rows differ: the gate can fail."""
    greedy = Signature(id="any", title="anything", state="waiting", kind="text", all_of=["i"])
    found = demo.run(Engine([Pack("greedy", signatures=[greedy])]))
    wrong = {scene.program for scene in found.scenes if not scene.right}
    assert {"a build that prints", "the same, by a rule"} <= wrong
    assert found.left_behind == ()


def test_a_key_that_was_not_due_is_wrong() -> None:
    scene = demo.scenes()[0]
    assert not scene.right, "a scene without a result is not right"
    assert not evolve(scene, expected=None).right


def test_a_key_that_changed_nothing_was_pressed() -> None:
    dismissal = Dismissal(keys="Space", verify_timeout_s=0.0)
    asks = Signature(
        "asks", "a key", "waiting", ["Press"], kind="press_key", severity="low", dismissal=dismissal, dialog=ONE_LINE
    )
    shows = Screen.from_text("Press any key ", cursor=(14, 0), size=SIZE)
    deaf = MemoryTransport(shows, foreground="acme", kernel=reads("acme"))
    scene = demo.scenes()[0]
    scene.result = check_session(deaf, Engine([Pack("p", foreground=["acme"], signatures=[asks])]), CAREFUL)
    assert scene.result.outcome is not None and scene.result.outcome.end is End.UNCHANGED
    assert (deaf.sent, scene.pressed, scene.as_row()["keys"]) == ([b" "], True, "Space: unchanged")
    assert not evolve(scene, expected=State.WAITING).right, "no key was due"


def _has_mark(path: Path) -> bool:
    try:
        return demo.MARK.encode() in path.read_bytes()
    except OSError:
        return False
