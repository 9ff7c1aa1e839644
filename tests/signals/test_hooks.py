"""The hooks of an agent that was started with them: what the program writes, and what is made of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from agent_stand_in import StandIn

from stallkit.core.signal import Signal
from stallkit.core.signature import Kind, State
from stallkit.signals import hook_program
from stallkit.signals.claude_hooks import folder_of
from stallkit.signals.heard import signals_below
from stallkit.signals.per_start import remove_files, told_more

BASH = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
WRITE = {"hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": {"file_path": "/a/b.py"}}
DONE = {**BASH, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "x" * 100_000}}
ASKS = {
    "hook_event_name": "PermissionRequest",
    "tool_name": "AskUserQuestion",
    "tool_input": {"questions": [{"question": "Which\nstorage?", "options": []}]},
}
STOP = {"hook_event_name": "Stop", "last_assistant_message": "Shall I continue?"}
FAILED = {"hook_event_name": "StopFailure", "error": "rate_limit", "last_assistant_message": "Limit reached"}
SAYS = {"hook_event_name": "UserPromptSubmit", "prompt": "a password: hunter2"}
NOTICE = {"hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "needs permission"}
BORED = {"hook_event_name": "Notification", "notification_type": "idle_prompt", "message": "is waiting for your input"}

# It runs the hook's program on each file that comes, from a child as the agent does, and goes on as the same process.
RUNS = """
import pathlib, subprocess, sys, time
pathlib.Path('/proc/self/comm').write_text('claude')
here = pathlib.Path(sys.argv[1])
while True:
    for file in sorted(here.glob('*.event')):
        with file.open() as event:
            subprocess.run(['sh', '-c', (here / 'hook').read_text() + '; exit $?'], stdin=event)
        file.unlink()
    time.sleep(0.01)
"""


class Hooked(StandIn):
    """A process called claude that was started with hooks, and runs them when a test says so."""

    def __init__(self, home: Path) -> None:
        words = told_more(["claude", "--continue"], "one")
        settings = json.loads(Path(words[2]).read_text())
        (home / "hook").write_text(settings["hooks"]["Stop"][0]["hooks"][0]["command"])
        (home / "agent.py").write_text(RUNS)
        self.words, self.log = words, folder_of("one") / "said.jsonl"
        run = [sys.executable, str(home / "agent.py"), str(home), *words[1:]]
        super().__init__(home, run, name=sys.executable)
        self.runs(SAYS)  # from then on it has its name

    def runs(self, *events: dict[str, Any]) -> None:
        for number, event in enumerate(events):
            new = self.home / f"{number}.new"
            new.write_text(json.dumps({"session_id": "s", "cwd": "/", **event}))
            new.rename(self.home / f"{number}.event")
            while (self.home / f"{number}.event").exists():
                time.sleep(0.01)

    def at(self, status: str, ago_s: float, *events: dict[str, Any], **more: Any) -> list[Signal]:
        """The signals after these events, and a session file whose status is this old."""
        self.log.write_text("")
        self.runs(*events)
        self.says(status=status, statusUpdatedAt=(time.time() - ago_s) * 1000, **more)
        return list(signals_below(self.shell.pid))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooked]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STALLKIT_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        made = Hooked(tmp_path_factory.mktemp("home"))
        yield made
        made.end()


@pytest.mark.parametrize(
    ("events", "words", "fields"),
    [
        ([BASH], "rm -rf build", {"command": "rm -rf build", "tool": "Bash"}),
        ([WRITE], "/a/b.py", {"path": "/a/b.py", "tool": "Write"}),
        ([BASH, DONE, WRITE, NOTICE], "/a/b.py", {"path": "/a/b.py", "tool": "Write"}),
        ([SAYS, ASKS], "Which storage?", {"question": "Which storage?", "tool": "AskUserQuestion"}),
        ([BASH, WRITE], "permission prompt", {}),  # which of the two is shown is unknown
        ([BASH, STOP], "permission prompt", {}),
        ([], "permission prompt", {}),
    ],
)
def test_the_words_of_a_wait(agent: Hooked, events: list[dict[str, Any]], words: str, fields: dict[str, str]) -> None:
    (said,) = agent.at("waiting", 60, *events)
    assert (said.source, said.state, said.stale) == ("claude", State.WAITING, None)
    assert (said.words, said.fields) == (words, fields)


def test_a_wait_that_the_file_does_not_say_yet(agent: Hooked) -> None:
    said = agent.at("busy", 60, ASKS)
    assert [(one.source, one.state, one.kind, one.stale) for one in said] == [
        ("claude", State.WORKING, None, None),
        ("claude-hook", State.WAITING, Kind.QUESTION, None),
    ]


@pytest.mark.parametrize("status", ["busy", "idle", "shell"])
def test_a_wait_is_over_when_the_file_has_changed_since(agent: Hooked, status: str) -> None:
    """After an answer no hook need come: a refusal has none."""
    said = agent.at(status, -1, BASH)
    assert [one.stale for one in said] == [None, "its session file has changed since"]


def test_a_menu_that_a_person_opened_later_has_no_words_of_a_refused_request(agent: Hooked) -> None:
    (said,) = agent.at("waiting", -60, BASH, waitingFor="dialog open")
    assert (said.words, said.fields) == ("dialog open", {})


@pytest.mark.parametrize("events", [[BASH, SAYS], [BASH, DONE], [BASH, STOP], [BORED], [SAYS], []])
def test_what_begins_no_wait(agent: Hooked, events: list[dict[str, Any]]) -> None:
    assert [(one.source, one.state) for one in agent.at("busy", 60, *events)] == [("claude", State.WORKING)]


def test_how_a_turn_ended(agent: Hooked) -> None:
    (said,) = agent.at("idle", 0, SAYS, FAILED)
    assert (said.state, said.error, said.words) == (State.IDLE, "rate_limit", "Limit reached")
    (said,) = agent.at("idle", 0, FAILED, SAYS, STOP)
    assert (said.state, said.error, said.words) == (State.IDLE, None, "Shall I continue?")
    (said,) = agent.at("idle", -60, FAILED)
    assert said.error is None  # it has worked since


def test_what_a_person_typed_is_not_kept(agent: Hooked) -> None:
    agent.at("idle", 60, SAYS)
    assert "hunter2" not in agent.log.read_text() and agent.log.stat().st_mode & 0o777 == 0o600


def test_the_events_of_another_process_do_not_count(agent: Hooked) -> None:
    agent.at("busy", 60)
    line = {"event": "PermissionRequest", "at": time.time(), "fields": {"tool": "Bash"}}
    for above in ([], [[agent.pid, 1]], [[1, 1]], "x", [[agent.pid]]):
        agent.log.write_text(json.dumps({**line, "above": above}) + "\n[\n\n7\n")
        assert len(signals_below(agent.shell.pid)) == 1


def run(file: Path | str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    program = [sys.executable, "-I", "-S", hook_program.__file__, str(file)]
    return subprocess.run(program, input=given, capture_output=True, check=False)


@pytest.mark.parametrize(
    "given", [b"", b"{", b"[]", b"7", b"\xff", b'{"tool_input": 7, "message": ["x"]}', b"[" * 10**6]
)
def test_it_says_and_decides_nothing(tmp_path: Path, given: bytes) -> None:
    """Whatever it is given, and wherever it should write: an answer would be a decision."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "said", tmp_path / "link", tmp_path / "pipe", tmp_path, "/dev/full", "/none/there"):
        done = run(file, given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "elsewhere").exists()
    assert run("", b"").returncode == 0


def test_its_file_stays_small(tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_bytes(b"x" * (hook_program.FILE + 1))
    run(file, json.dumps({**DONE, "message": "y" * 10_000, "tool_input": {"command": "z" * 10_000}}).encode())
    assert file.stat().st_size < 3 * hook_program.TEXT + 500
    assert json.loads(file.read_text())["fields"]["command"] == "z" * hook_program.TEXT


@pytest.mark.parametrize(
    "command",
    [
        ["claude", "--settings", "mine.json"],
        ["claude", "--settings={}"],
        ["bash", "-c", "claude"],
        ["opencode", "--port", "4096"],
        ["opencode", "run", "hello"],
        ["opencode", "serve"],
        ["vim"],
        [],
    ],
)
def test_what_is_started_as_it_was(command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path))
    assert told_more(command, "x") == command
    assert not list(tmp_path.iterdir())


def test_a_password_is_in_no_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path))
    words = told_more(["opencode", "--continue"], "x")
    file = tmp_path / "hooks" / "x" / "password"
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text() not in " ".join(words)
    (tmp_path / "opencode").write_text('#!/bin/sh\necho "$OPENCODE_SERVER_PASSWORD" "$@"\n')
    (tmp_path / "opencode").chmod(0o755)
    words[words.index("opencode")] = str(tmp_path / "opencode")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [file.read_text(), "--port", "0", "--continue"]
    remove_files("x")
    assert not file.parent.exists()
