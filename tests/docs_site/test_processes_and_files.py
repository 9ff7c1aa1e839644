"""docs/processes-and-files.md is true: each call and command of its tables is made in a fresh process under a watch."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Iterator

import pytest
from docs_site import tables
from left_behind import Home, Left
from terminals import wait_for

import stallkit

pytestmark = pytest.mark.e2e

PAGE = (Path(__file__).parents[2] / "docs" / "processes-and-files.md").read_text()
# In a row's first cell, beside what is called.
WITH = {"bash"}
ASKS = "bash -c 'read -p \"Proceed? [y/N] \"'"
SETUP = """
import asyncio, pathlib
from stallkit import *
from stallkit.packs.registry import installed_engine
text = "Proceed? [y/N] "
asks = ["bash", "-c", "read -p 'Proceed? [y/N] '"]
memory = MemoryTransport(text)
"""
ENGINE = f"{SETUP}\nengine = installed_engine()\nverdict = check(memory).verdict\n"
MORE = {
    "PexpectTransport": "import pexpect\nspawn = pexpect.spawn(asks[0], asks[1:])",
    "run": "from stallkit_sessions import run",
    "run_async": "from stallkit_sessions import run_async",
    "Supervisor": """
from stallkit_supervisor import Supervisor
async def watched():
    async with Supervisor("tmux:w1", policy="observe") as supervisor:
        async for event in supervisor:
            if event.name == "escalation":
                return event
""",
}
# What stands in the page for each call, and what is called.
CALLS = {
    "engine.detect": "engine.detect(text)",
    "judge": "judge(engine.detect(text), memory.capture())",
    "may_press": "may_press(verdict)",
    "load_policy": "load_policy('daemon')",
    "load_pack": "load_pack('stallkit_shell_yn')",
    "hookimpl": "hookimpl(lambda: [])",
    "dump": "dump(verdict)",
    "load": "load(Verdict, dump(verdict))",
    "schema": "schema(Verdict)",
    "probed": "probed(memory.capture(), None, '/dev/null', 1)",
    "MemoryTransport": "check(MemoryTransport(text))",
    "StreamTransport": "(s := StreamTransport(), s.feed(text.encode()), check(s))",
    "Engine.default()": "Engine.default()",
    'open_target("tmux:w1")': "open_target('tmux:w1').capture()",
    'check("tmux:w1")': "check('tmux:w1', 'careful')",
    "dismiss": "dismiss('tmux:w1')",
    "send": "send('tmux:w1', 'hello')",
    "wait_until_ready": "wait_until_ready('tmux:w1', timeout_s=0.1)",
    "check_async": "asyncio.run(check_async('tmux:w1'))",
    "PtyTransport.spawn": "check(PtyTransport.spawn(asks))",
    "PexpectTransport": "check(PexpectTransport(spawn))",
    'EventLog("events.jsonl")': "EventLog(pathlib.Path('events.jsonl')).write(Event('test', 'tmux:w1', {}))",
    "run": "run(asks)",
    "run_async": "asyncio.run(run_async(asks))",
    "Supervisor": "asyncio.run(watched())",
}
OWN_SERVER = ("start", "stop", "list", "output")  # commands about sessions that stallkit starts


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Home]]:
    """One with a session that asks, and one in which nothing runs."""
    made = tuple(Home(tmp_path_factory.mktemp("left") / "home") for _ in range(2))
    try:
        for home in made:
            home.python(SETUP, CALLS["Engine.default()"])  # the packs are in the cache from now on
        made[0].beside("tmux", "new", "-d", "-s", "w1", ASKS)
        yield made[0], made[1]
    finally:
        for home in made:
            home.close()
        made[0].beside("tmux", "kill-server")


def spans(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([^`]+)`", cell))


def untrue(row: dict[str, str], left: Left) -> list[str]:
    """Where a row of the page is not what came of a call."""
    found = [
        *(["processes"] if spans(row["processes"]) != left.starts else []),
        *(["threads"] if (row["threads"] == "none") != (left.threads == 0) else []),
        *(["leaves"] if spans(row["leaves"]) != left.leaves else []),
        *(word for word in ("a descriptor", "a thread") if (word in row["leaves"]) != (word in left.keeps)),
        *(["nothing"] if (row["leaves"] == "nothing") != (not left.leaves and not left.keeps) else []),
    ]
    return [f"{', '.join(found)}: it is {left}"] if found else []


def assert_true(wrong: dict[str, list[str]]) -> None:
    said = [f"{name}: {one}" for name, found in wrong.items() for one in found]
    assert not said, "\n".join(said)


def test_each_public_call_starts_and_leaves_what_the_page_says(homes: tuple[Home, Home], tmp_path: Path) -> None:
    calls = next(tables.read(PAGE))
    wrong = {}
    for row in calls:
        for name in spans(row["call"]) - WITH:
            if "C/packs/*" in spans(row["leaves"]):
                left = Home(tmp_path / name).python(SETUP, CALLS[name])
            else:
                left = homes[0].python(f"{ENGINE}\n{MORE.get(name, '')}", CALLS[name])
            wrong[name] = untrue(row, left)
    assert_true(wrong)
    named = {name.partition("(")[0].partition(".")[0] for row in calls for name in spans(row["call"]) - WITH}
    functions = {name for name in stallkit.__all__ if not isinstance(getattr(stallkit, name), type)} - {"Decision"}
    assert functions - named == set(), "calls that the page leaves out"


def test_each_command_starts_and_leaves_what_the_page_says(homes: tuple[Home, Home]) -> None:
    wrong = {}
    for row in list(tables.read(PAGE))[1]:
        for command in re.findall(r"`stallkit ([^`]+)`", row["command"]):
            words = shlex.split(command)
            home = homes[words[0] in OWN_SERVER]
            left = home.command(words)
            wrong[command] = untrue(row, left)
            if words[0] == "stop":
                wait_for(lambda home=home: not home.alive(), "the monitor's end")
    assert_true(wrong)


def test_a_row_that_lies_is_found() -> None:
    left = Left(frozenset({"tmux"}), 1, frozenset({"a thread"}), frozenset({"S/queue.db"}), "")
    true = {"processes": "`tmux`", "threads": "some", "leaves": "`S/queue.db`, a thread"}
    assert untrue(true, left) == []
    for lie in ({"processes": "none"}, {"threads": "none"}, {"leaves": "`S/queue.db`"}, {"leaves": "a thread"}):
        assert len(untrue(true | lie, left)) == 1, lie
    assert untrue({"processes": "none", "threads": "none", "leaves": "`x`"}, Left(*[frozenset()] * 4, ""))  # type: ignore[arg-type]
