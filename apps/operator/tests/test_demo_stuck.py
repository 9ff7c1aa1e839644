"""`scripts/demo-stuck`: the agent is freed each time, the prompt is answered, and nothing is left, also if ended."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from boxed import need_bwrap
from demo_stuck import left_behind
from proxied import need_proxies
from terminals import wait_for

pytestmark = pytest.mark.e2e

WORDS = [sys.executable, str(Path(__file__).parents[3] / "tests" / "demo_stuck.py")]
TOLD = [  # each after the one before
    "stuck: the credential proxy answers 404",
    "web: applied",
    "reads /forge/issues",
    "stuck: the egress proxy answers 403",
    "web: applied",
    "fetches from localhost",
    "stuck: the push of",
    "stallkit sandbox waive",
    "has pushed its commit",
    "stuck: there is no program spell",
    "web: rebuilt, version 2 of its manifest runs",
    "runs spell: 0 words are wrong",
    "deploy: got <y>",
    "waiver_used",
    "manifest_approved",
    "waivers.log: 2 lines, whole",
    "blocked 4 times, freed in 4 ways, 1 prompt answered; left behind: 0",
]


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    need_bwrap(monkeypatch)
    need_proxies()


def _folder(said: str) -> Path:
    [folder] = set(re.findall(r"/tmp/demo-\w+", said))
    return Path(folder)


def test_the_agent_is_freed_each_time_and_nothing_is_left() -> None:
    done = subprocess.run(WORDS, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    at = 0
    for text in TOLD:
        found = done.stdout.find(text, at)
        assert found >= 0, f"{text!r} is missing after {done.stdout[:at][-200:]!r}"
        at = found + len(text)
    folder = _folder(done.stdout)
    assert not folder.exists() and left_behind(folder) == []


def test_one_that_is_ended_leaves_nothing_either() -> None:
    demo = subprocess.Popen(WORDS, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    said = ""
    while "answers 404" not in said:
        line = demo.stdout.readline()
        assert line, f"it ended early: {said}"
        said += line
    folder = _folder(said)
    assert len(left_behind(folder)) > 4, "what it started is seen"
    demo.send_signal(signal.SIGTERM)
    demo.communicate(timeout=120)
    assert demo.returncode == 128 + signal.SIGTERM
    assert not folder.exists()
    wait_for(lambda: not left_behind(folder), "nothing to be left")
