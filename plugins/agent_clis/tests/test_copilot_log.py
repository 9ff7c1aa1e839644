"""Copilot's event log, beside a process that holds its session: what it comes to, and whose log counts."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stallkit_agent_clis.copilot_log import SOURCE

from stallkit.signals import Guard, Kind, Signal, State
from stallkit.testing import StandIn, check_signal

HOLDS = "mkdir -p $HOME/.copilot/session-state/one; exec 9>$HOME/.copilot/session-state/one/inuse.$$.hold; "
START = {"type": "session.start", "data": {}}
SAID = {"type": "user.message", "data": {"content": "go on"}}
TURN = {"type": "assistant.turn_start", "data": {"turnId": "0"}}
TOOL = {"type": "tool.execution_start", "data": {"toolName": "bash"}}
ASK = {
    "type": "tool.execution_start",
    "data": {"toolName": "ask_user", "toolCallId": "7", "arguments": {"message": "Which?"}},
}
TOLD = {"type": "tool.execution_complete", "data": {"toolCallId": "7"}}
SHELL = {"kind": "shell", "fullCommandText": "rm -rf build && ls", "intention": "Clean"}
ASKS = {"type": "permission.requested", "data": {"requestId": "1", "permissionRequest": SHELL}}
ANSWERED = {"type": "permission.completed", "data": {"requestId": "1", "result": {"kind": "approved"}}}
END = {"type": "assistant.turn_end", "data": {"turnId": "0"}}
FAILED = {"type": "session.error", "data": {"errorType": "rate_limit", "message": "Too many requests"}}
ABORT = {"type": "abort", "data": {"reason": "user_initiated"}}


class Copilot(StandIn):
    """A process that holds the session called one."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, "copilot", before=HOLDS)
        self.log = home / ".copilot" / "session-state" / "one" / "events.jsonl"

    def wrote(self, *events: dict[str, Any]) -> list[Signal]:
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        self.log.write_text("".join(json.dumps(event | {"timestamp": at}) + "\n" for event in events))
        return list(self.signals())


@pytest.fixture(scope="module")
def copilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copilot]:
    with Copilot(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([START], State.IDLE),
        ([START, SAID, TURN], State.WORKING),
        ([START, SAID, TURN, TOOL, ASKS], State.WAITING),
        ([START, SAID, TURN, TOOL, ASKS, ANSWERED], State.WORKING),
        ([START, SAID, TURN, TOOL, ASKS, ANSWERED, END], State.IDLE),
        ([START, SAID, TURN, TOOL, ASKS, END, ABORT], State.IDLE),  # an answer that never came
        ([START, SAID, TURN, {**END, "agentId": "a"}], State.WORKING),  # a subagent's turn
        ([START, SAID, TURN, ASKS, START], State.IDLE),
        ([START, SAID, TURN, ASK], State.WAITING),
        ([START, SAID, TURN, ASK, TOLD], State.WORKING),
        ([], None),  # a log that cannot be read, too
    ],
)
def test_what_its_log_comes_to(copilot: Copilot, events: list[dict[str, Any]], state: State | None) -> None:
    (said,) = copilot.wrote(*events)
    assert (said.state, said.guard, said.stale, said.session) == (state, Guard.PROCESS, None, "one")
    assert not said.menus, "its log knows of none"


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (SHELL, {"command": "rm -rf build && ls", "tool": "shell"}),
        ({"kind": "write", "fileName": "/a/b.py", "diff": "+"}, {"path": "/a/b.py", "tool": "write"}),
        ({"kind": "url", "url": "http://x.test"}, {"address": "http://x.test", "tool": "url"}),
        ({"kind": "mcp", "toolName": "lookup"}, {"tool": "lookup"}),
        ({"kind": 7, "fullCommandText": ["x"]}, {}),
    ],
)
def test_what_it_wants_to_be_allowed(copilot: Copilot, request_: dict[str, Any], fields: dict[str, str]) -> None:
    asks = {"type": "permission.requested", "data": {"requestId": "1", "permissionRequest": request_}}
    (said,) = copilot.wrote(START, asks)
    assert (said.state, said.kind, said.fields) == (State.WAITING, Kind.PERMISSION, fields)
    assert said.age_s is not None


def test_a_question_and_a_failure(copilot: Copilot) -> None:
    asks = {"type": "user_input.requested", "data": {"requestId": "2", "question": "Which\nstorage?"}}
    (said,) = copilot.wrote(START, SAID, asks)
    assert (said.state, said.kind, said.words) == (State.WAITING, Kind.QUESTION, "Which storage?")
    (said,) = copilot.wrote(START, SAID, TURN, ASK)
    assert (said.kind, said.words) == (Kind.QUESTION, "Which?")
    (said,) = copilot.wrote(START, SAID, FAILED)
    assert (said.state, said.error, said.words) == (State.IDLE, "rate_limit", "Too many requests")


def test_only_the_session_that_it_holds(copilot: Copilot, tmp_path: Path) -> None:
    """Another log in the same directory, a lock file of this pid that it does not hold: neither is its own."""
    other = copilot.log.parent.parent / "two"
    other.mkdir()
    (other / "events.jsonl").write_text(json.dumps(ASKS) + "\n")
    (other / f"inuse.{copilot.pid}.hold").touch()
    (other / f"inuse.{copilot.pid}.lock").write_text(str(copilot.pid))
    assert [said.state for said in copilot.wrote(START)] == [State.IDLE]
    with StandIn(tmp_path, "copilot") as alone:
        folder = tmp_path / ".copilot" / "session-state" / "one"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text(json.dumps(ASKS) + "\n")
        (folder / f"inuse.{alone.pid}.hold").touch()
        assert alone.signals() == ()


LINES = st.recursive(st.none() | st.booleans() | st.text(), lambda part: st.dictionaries(st.text(), part)).map(
    json.dumps
)
EVENTS = st.sampled_from([START, SAID, TURN, ASKS, END, ABORT, FAILED]).flatmap(
    lambda event: st.sampled_from([event, {**event, "data": None}, {**event, "data": {"permissionRequest": [1]}}])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(EVENTS.map(json.dumps) | LINES), st.binary(max_size=50))
def test_no_log_makes_it_raise(copilot: Copilot, lines: list[str], rest: bytes) -> None:
    copilot.log.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n" + rest)
    for said in copilot.signals():
        assert "\n" not in said.words and said.guard is Guard.PROCESS


def test_the_end_of_a_long_log_is_enough(copilot: Copilot) -> None:
    (said,) = copilot.wrote(START, *[{**SAID, "data": {"content": "x" * 100_000}}] * 20, ASKS)
    assert said.state is State.WAITING
    os.truncate(copilot.log, 100)


def test_it_keeps_to_what_is_promised(copilot: Copilot) -> None:
    asks = {"type": "user_input.requested", "data": {"question": "x\x1b[2J\u202e\ny"}}
    assert copilot.wrote(asks)[0].state is State.WAITING
    assert check_signal(SOURCE, copilot.publisher, [copilot.log], time.time()) == 23
