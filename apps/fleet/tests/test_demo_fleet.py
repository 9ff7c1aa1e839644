"""`scripts/demo-fleet`: a prompt is answered from afar, a host comes back, and nothing is left, also if it is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from demo_stuck import left_behind
from small_network import lacking, namespaces
from terminals import wait_for

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[3]
WORDS = [sys.executable, str(ROOT / "tests" / "demo_fleet.py")]
TOLD = [  # each after the one before
    "nats://bus:4222 is ready for hosts",
    "c     clean    waiting",
    "c/1   ",
    "c/1: answered",
    "c got <y>",
    "b got <n>",
    "b     clean    unreachable",
    "b     clean    working",
    "1 answered by ada",
    "nothing is wrong",
    "3 hosts in one list, 1 answer from afar, 1 host cut off and back; left behind: 0",
]


@pytest.fixture(autouse=True)
def _root() -> None:
    if missing := lacking():
        pytest.skip(missing)


def test_all_is_as_it_must_be_and_nothing_is_left() -> None:
    demo = subprocess.Popen(WORDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, wrong = demo.communicate(timeout=300)
    assert demo.returncode == 0, said + wrong
    at = 0
    for text in TOLD:
        found = said.find(text, at)
        assert found >= 0, f"{text!r} is missing after {said[:at][-200:]!r}"
        at = found + len(text)
    assert namespaces(demo.pid) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_ended_leaves_nothing_either(number: signal.Signals) -> None:
    demo = subprocess.Popen(WORDS, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    said = ""
    while "1  One list" not in said:
        line = demo.stdout.readline()
        assert line, f"it ended early: {said}"
        said += line
    assert len(namespaces(demo.pid)) == 4
    [folder] = Path("/tmp").glob(f"demo-fleet-{demo.pid}-*")
    assert len(left_behind(folder)) > 8, "what it started is seen"
    demo.send_signal(number)
    demo.communicate(timeout=120)
    assert demo.returncode == 128 + number
    assert namespaces(demo.pid) == []
    assert not folder.exists()
    wait_for(lambda: not left_behind(folder), "nothing to be left")


def test_a_step_that_fails_is_told_and_nothing_is_left() -> None:
    wrong = "import demo_fleet, sys; demo_fleet.URL = 'nats://bus:1'; sys.exit(demo_fleet.main())"
    words = [sys.executable, "-c", wrong]
    demo = subprocess.Popen(words, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True)
    said, _ = demo.communicate(timeout=120)
    assert demo.returncode == 1
    assert "failed: stallkit fleet create" in said and "nothing listens there" in said
    assert namespaces(demo.pid) == []


@pytest.mark.parametrize(
    ("without", "says"),
    [
        (["unshare", "--user"], "missing: root"),
        (["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"], "missing: ip netns add"),
    ],
)
def test_what_is_missing_is_said_in_one_line(without: list[str], says: str) -> None:
    words = ["sh", str(ROOT / "scripts" / "demo-fleet")] if "root" in says else WORDS
    done = subprocess.run([*without, *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(says)
