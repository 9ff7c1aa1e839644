"""OpenCode's server, played by a process of that name: what its answers come to, and who is asked at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from stallkit_agent_clis.opencode_server import SOURCE

from stallkit.signals import Guard, Kind, Publisher, Signal, State
from stallkit.signals.collect import signals_below
from stallkit.testing import check_signal

# It calls itself by argv[1], listens, and answers with the files of its folder; what it was asked goes to a file.
SERVER = """
import http.server, pathlib, sys, time
pathlib.Path('/proc/self/comm').write_text(sys.argv[1])
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open('asked', 'a') as asked: asked.write(self.path + '\\n')
        file = pathlib.Path('.' + self.path.replace('/', '_'))
        self.send_response(200 if file.exists() else 401)
        self.end_headers()
        if file.exists(): self.wfile.write(file.read_bytes())
    def log_message(self, *words): pass
server = http.server.HTTPServer((sys.argv[2], 0), Answer)
print('ready', flush=True)
if sys.argv[3:]: time.sleep(1000)
server.serve_forever()
"""
BASH = {"permission": "bash", "patterns": ["rm -rf build", "ls"], "metadata": {"command": "rm -rf build && ls"}}
EDIT = {"permission": "edit", "patterns": ["src/a.py"], "metadata": {"filepath": "src/a.py", "diff": "+"}}
FETCH = {"permission": "webfetch", "patterns": ["*"], "metadata": {"url": "http://x.test"}}
ASKS = {"sessionID": "s", "questions": [{"question": "Which policy?", "options": [{"label": "a"}]}]}


class Server:
    def __init__(self, folder: Path, name: str = "opencode", address: str = "127.0.0.1", *more: str) -> None:
        self.folder = folder
        program = [sys.executable, "-I", "-S", "-c", SERVER, name, address, *more]
        self.process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE)
        until_ready(self.process)

    def heard(self, sessions: Any, permissions: Any = (), questions: Any = ()) -> list[Signal]:
        for name, value in (("_session_status", sessions), ("_permission", permissions), ("_question", questions)):
            (self.folder / f".{name}").write_text(value if isinstance(value, str) else json.dumps(value))
        return list(signals_below(self.process.pid))

    @property
    def asked(self) -> bool:
        return (self.folder / "asked").exists()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def until_ready(process: subprocess.Popen[bytes]) -> None:
    """Wait for the line that it prints once it has its name, and listens."""
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.end()


def test_what_its_answers_come_to(server: Server) -> None:
    busy, retry = {"s": {"type": "busy"}}, {"s": {"type": "retry", "message": "Rate limit", "attempt": 1}}
    for sessions, permissions, questions, state, kind in (
        ({}, [], [], State.IDLE, None),
        ({"s": {"type": "idle"}}, [], [], State.IDLE, None),
        (busy, [], [], State.WORKING, None),
        (busy, [BASH], [], State.WAITING, Kind.PERMISSION),
        (busy, [], [ASKS], State.WAITING, Kind.QUESTION),
        (retry, [], [], State.WORKING, None),
    ):
        (said,) = server.heard(sessions, permissions, questions)
        assert (said.state, said.kind, said.guard, said.stale) == (state, kind, Guard.PROCESS, None)
        assert said.session == ("s" if sessions else None)
    assert (said.error, said.words) == ("retry", "Rate limit")
    (said,) = server.heard(busy | {"a subagent's": {"type": "busy"}})
    assert said.session is None


def test_what_it_wants_to_be_allowed(server: Server) -> None:
    for asked, fields in (
        (BASH, {"command": "rm -rf build && ls", "tool": "bash"}),
        (EDIT, {"path": "src/a.py", "tool": "edit"}),
        (FETCH, {"address": "http://x.test", "tool": "webfetch"}),
        ({"permission": ["x"], "metadata": 7}, {}),
        ("text", {}),
    ):
        (said,) = server.heard({}, [asked])
        assert (said.state, said.fields) == (State.WAITING, fields)
    (said,) = server.heard({}, [], [ASKS])
    assert said.fields == {"question": "Which policy?"}


@pytest.mark.parametrize("wrong", ["", "{", "[" * 5000, "null", "[]", '"busy"', "7", "x" * 2_000_000])
def test_another_answer_says_nothing(server: Server, wrong: str) -> None:
    assert server.heard(wrong) == []
    if wrong != "[]":
        assert server.heard({}, wrong) == []


def test_a_server_that_wants_a_password_says_nothing(server: Server) -> None:
    assert signals_below(server.process.pid) == ()
    assert server.asked


def test_only_the_process_that_listens_is_asked(tmp_path: Path) -> None:
    """Not a program of another name, not one that names a port, not one that listens elsewhere."""
    for number, (name, address) in enumerate((("python3", "127.0.0.1"), ("opencode", "127.0.0.2"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        server = Server(folder, name, address)
        try:
            assert server.heard({"s": {"type": "busy"}}) == [] and not server.asked
        finally:
            server.end()


def test_a_server_that_does_not_answer_holds_nothing_up(tmp_path: Path) -> None:
    server = Server(tmp_path, "opencode", "127.0.0.1", "never answers")
    try:
        assert signals_below(server.process.pid) == ()
    finally:
        server.end()


def test_a_port_of_another_process_is_not_asked(tmp_path: Path) -> None:
    """A process called opencode that has a socket, but does not listen, beside one that does under another name."""
    other = Server(tmp_path, "python3")
    named = "pathlib.Path('/proc/self/comm').write_text('opencode'); print('ready', flush=True)"
    holds = f"import pathlib, socket, time; held = socket.socket(); {named}; time.sleep(1000)"
    agent = subprocess.Popen([sys.executable, "-I", "-S", "-c", holds], stdout=subprocess.PIPE)
    try:
        until_ready(agent)
        assert signals_below(agent.pid) == () and not other.asked
    finally:
        agent.kill()
        agent.communicate()
        other.end()


def test_it_keeps_to_what_is_promised(server: Server) -> None:
    server.heard({"s": {"type": "busy"}}, [BASH])
    publisher = Publisher.of(server.process.pid)
    assert publisher is not None and check_signal(SOURCE, publisher) == 4


def test_what_is_started_as_it_is(tmp_path: Path) -> None:
    for options in (["--port", "4096"], ["--port=4096"], ["run", "hello"], ["serve"]):
        assert SOURCE.start_with(["opencode", *options], tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_a_password_is_in_no_command_line(tmp_path: Path) -> None:
    program = tmp_path / "opencode"
    program.write_text('#!/bin/sh\necho "$OPENCODE_SERVER_PASSWORD" "$@"\n')
    program.chmod(0o755)
    words = SOURCE.start_with([str(program), "--continue"], tmp_path)
    assert words is not None
    file = tmp_path / "password"
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text() not in " ".join(words)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [file.read_text(), "--port", "0", "--continue"]
