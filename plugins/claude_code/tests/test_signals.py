"""What Claude Code says of itself: its session file, whose file counts, and the hooks that it was started with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any, Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stallkit_claude_code import hook_program
from stallkit_claude_code.session_file import SOURCE

from stallkit.signals import Guard, Kind, Signal, State
from stallkit.testing import StandIn, check_signal

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


class ClaudeCode(StandIn):
    """A process called claude, with its session file."""

    def __init__(self, home: Path, command: Sequence[str] = (), name: str = "claude") -> None:
        super().__init__(home, name, command)
        self.folder = home / ".claude" / "sessions"
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def file(self) -> Path:
        """Its session file."""
        return self.folder / f"{self.publisher.own_pid}.json"

    def says(self, **more: Any) -> None:
        """Write the session file as the process itself would."""
        own = self.publisher
        said = {"pid": own.own_pid, "procStart": str(own.started), "pidDomain": f"linux:0:{own.domain}"}
        said |= {"status": "waiting", "waitingFor": "permission prompt", "updatedAt": time.time() * 1000 - 2000}
        self.file.write_text(json.dumps(said | more))

    def heard(self) -> list[tuple[str | None, str | None]]:
        """State and reason of each signal below the command."""
        return [(said.state, said.stale) for said in self.signals()]


class Hooked(ClaudeCode):
    """A process called claude that was started with hooks, and runs them when a test says so."""

    def __init__(self, home: Path) -> None:
        folder = home / "hooks" / "one"
        folder.mkdir(parents=True)
        words = SOURCE.start_with(["claude", "--continue"], folder)
        assert words is not None
        settings = json.loads(Path(words[2]).read_text())
        (home / "hook").write_text(settings["hooks"]["Stop"][0]["hooks"][0]["command"])
        (home / "agent.py").write_text(RUNS)
        self.words, self.log = words, folder / "said.jsonl"
        run = [sys.executable, str(home / "agent.py"), str(home), *words[1:]]
        super().__init__(home, run, sys.executable)
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
        return list(self.signals())


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaudeCode]:
    with ClaudeCode(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooked]:
    with Hooked(tmp_path_factory.mktemp("home")) as made:
        yield made


def test_what_its_file_says(agent: ClaudeCode) -> None:
    agent.says()
    (said,) = agent.signals()
    assert (said.state, said.kind, said.words) == (State.WAITING, Kind.PERMISSION, "permission prompt")
    assert (said.guard, said.pid, said.stale) == (Guard.PROCESS, agent.pid, None)
    assert said.age_s is not None and said.age_s >= 2
    assert said.session is None


def test_by_which_id_it_goes_on_later(agent: ClaudeCode) -> None:
    agent.says(status="busy", sessionId="0f8b41c2-77aa-4c1e-9d50-3a1f7be2c9d4")
    (said,) = agent.signals()
    assert said.session == "0f8b41c2-77aa-4c1e-9d50-3a1f7be2c9d4"


@pytest.mark.parametrize(
    ("status", "state"),
    [("idle", State.IDLE), ("busy", State.WORKING), ("shell", State.IDLE), ("waiting", State.WAITING)],
)
def test_each_status(agent: ClaudeCode, status: str, state: State) -> None:
    agent.says(status=status)
    assert agent.heard() == [(state, None)]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"procStart": "1"}, "another process wrote it"),
        ({"procStart": None}, "it does not say when its process started"),
        ({"pid": 1}, "another process wrote it"),
        ({"pidDomain": "linux:0:pid:[1]"}, "it is of another pid namespace"),
        ({"pidDomain": None, "procStart": "1"}, "another process wrote it"),
    ],
)
def test_a_file_of_another_process_is_stale(agent: ClaudeCode, wrong: dict[str, Any], why: str) -> None:
    agent.says(**wrong)
    assert agent.heard() == [(State.WAITING, why)]


@pytest.mark.parametrize("domain", [None, ""])
def test_a_file_of_a_version_without_pid_namespaces_counts(agent: ClaudeCode, domain: str | None) -> None:
    """Missing is unknown, and unknown is not another."""
    agent.says(pidDomain=domain)
    assert agent.heard() == [(State.WAITING, None)]


@pytest.mark.parametrize("status", ["blocked", "", None, 7, ["waiting"]])
def test_an_unknown_status_says_nothing(agent: ClaudeCode, status: object) -> None:
    agent.says(status=status)
    assert agent.heard() == []


def test_only_a_regular_file_of_its_own_user_is_read(agent: ClaudeCode, tmp_path: Path) -> None:
    agent.says()
    agent.file.rename(tmp_path / "elsewhere")
    agent.file.symlink_to(tmp_path / "elsewhere")
    assert agent.heard() == []
    agent.file.unlink()
    os.mkfifo(agent.file)
    assert agent.heard() == []  # and does not hang
    agent.file.unlink()
    agent.says()
    if os.geteuid() == 0:
        os.chown(agent.file, 12345, 12345)
        assert agent.heard() == []
        os.chown(agent.file, 0, 0)
    with agent.file.open("a") as file:
        file.write(" " * 2_000_000)
    assert agent.heard() == []
    agent.file.unlink()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_no_file_makes_it_raise(agent: ClaudeCode, data: bytes) -> None:
    agent.file.write_bytes(data)
    assert agent.heard() == []


@settings(max_examples=50)
@given(st.text())
def test_its_words_are_one_harmless_line(agent: ClaudeCode, words: str) -> None:
    agent.says(waitingFor=words)
    (said,) = agent.signals()
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in said.words)


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
def test_the_words_of_a_wait(hooked: Hooked, events: list[dict[str, Any]], words: str, fields: dict[str, str]) -> None:
    (said,) = hooked.at("waiting", 60, *events)
    assert (said.source, said.state, said.stale) == ("claude", State.WAITING, None)
    assert (said.words, said.fields) == (words, fields)


def test_a_wait_that_the_file_does_not_say_yet(hooked: Hooked) -> None:
    said = hooked.at("busy", 60, ASKS)
    assert [(one.source, one.state, one.kind, one.stale) for one in said] == [
        ("claude", State.WORKING, None, None),
        ("claude-hook", State.WAITING, Kind.QUESTION, None),
    ]


@pytest.mark.parametrize("status", ["busy", "idle", "shell"])
def test_a_wait_is_over_when_the_file_has_changed_since(hooked: Hooked, status: str) -> None:
    """After an answer no hook need come: a refusal has none."""
    said = hooked.at(status, -1, BASH)
    assert [one.stale for one in said] == [None, "its session file has changed since"]


def test_a_menu_that_a_person_opened_later_has_no_words_of_a_refused_request(hooked: Hooked) -> None:
    (said,) = hooked.at("waiting", -60, BASH, waitingFor="dialog open")
    assert (said.words, said.fields) == ("dialog open", {})


@pytest.mark.parametrize("events", [[BASH, SAYS], [BASH, DONE], [BASH, STOP], [BORED], [SAYS], []])
def test_what_begins_no_wait(hooked: Hooked, events: list[dict[str, Any]]) -> None:
    assert [(one.source, one.state) for one in hooked.at("busy", 60, *events)] == [("claude", State.WORKING)]


def test_how_a_turn_ended(hooked: Hooked) -> None:
    (said,) = hooked.at("idle", 0, SAYS, FAILED)
    assert (said.state, said.error, said.words) == (State.IDLE, "rate_limit", "Limit reached")
    (said,) = hooked.at("idle", 0, FAILED, SAYS, STOP)
    assert (said.state, said.error, said.words) == (State.IDLE, None, "Shall I continue?")
    (said,) = hooked.at("idle", -60, FAILED)
    assert said.error is None  # it has worked since


def test_what_a_person_typed_is_not_kept(hooked: Hooked) -> None:
    hooked.at("idle", 60, SAYS)
    assert "hunter2" not in hooked.log.read_text() and hooked.log.stat().st_mode & 0o777 == 0o600


def test_the_events_of_another_process_do_not_count(hooked: Hooked) -> None:
    hooked.at("busy", 60)
    line = {"event": "PermissionRequest", "at": time.time(), "fields": {"tool": "Bash"}}
    for above in ([], [[hooked.pid, 1]], [[1, 1]], "x", [[hooked.pid]]):
        hooked.log.write_text(json.dumps({**line, "above": above}) + "\n[\n\n7\n")
        assert len(hooked.signals()) == 1


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


def test_its_session_file_keeps_to_what_is_promised(agent: ClaudeCode) -> None:
    agent.says()
    assert check_signal(SOURCE, agent.publisher, [agent.file], time.time()) == 23
    assert agent.heard() == [(State.WAITING, None)]  # the file is as it was


def test_its_hooks_keep_to_what_is_promised(hooked: Hooked) -> None:
    above = [[hooked.pid, hooked.publisher.started]]
    hooked.at("waiting", 60)
    asks = {"at": time.time(), "above": above, "event": "PermissionRequest"}
    hooked.log.write_text(json.dumps({**asks, "fields": {"command": "a\nb\x1b[2J\u202e"}}) + "\n")
    assert hooked.signals()[0].fields
    assert check_signal(SOURCE, hooked.publisher, [hooked.log, hooked.file], time.time()) == 42


def test_a_command_with_settings_of_its_own_is_started_as_it_is(tmp_path: Path) -> None:
    for command in (["claude", "--settings", "mine.json"], ["claude", "--settings={}"]):
        assert SOURCE.start_with(command, tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_the_files_of_a_start_are_its_users_alone(tmp_path: Path) -> None:
    words = SOURCE.start_with(["/usr/bin/claude", "--continue"], tmp_path)
    assert words == ["/usr/bin/claude", "--settings", str(tmp_path / "settings.json"), "--continue"]
    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
        "settings.json": 0o600,
        "said.jsonl": 0o600,
    }
