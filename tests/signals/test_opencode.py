"""OpenCode's server, played by a process of that name: what its answers come to, and who is asked at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from terminals import wait_for

from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import Kind, State
from stallkit.signals.heard import signals_below

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
pathlib.Path('ready').touch()
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
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", SERVER, name, address, *more], cwd=folder)
        wait_for((folder / "ready").exists, "the server")

    def heard(self, sessions: Any, permissions: Any = (), questions: Any = ()) -> list[Signal]:
        for name, value in (("_session_status", sessions), ("_permission", permissions), ("_question", questions)):
            (self.folder / f".{name}").write_text(value if isinstance(value, str) else json.dumps(value))
        return list(signals_below(self.process.pid))

    @property
    def asked(self) -> bool:
        return (self.folder / "asked").exists()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


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
    holds = (
        "import pathlib, socket, time; held = socket.socket(); pathlib.Path('/proc/self/comm').write_text('opencode')"
    )
    agent = subprocess.Popen([sys.executable, "-I", "-S", "-c", f"{holds}; time.sleep(1000)"])
    try:
        name = Path(f"/proc/{agent.pid}/comm")
        wait_for(lambda: name.read_text() == "opencode\n", "it to take its name")
        assert signals_below(agent.pid) == () and not other.asked
    finally:
        agent.kill()
        agent.wait()
        other.end()
