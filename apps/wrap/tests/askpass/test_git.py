"""git, over http to a server that wants a password: a name and a secret, asked inside an agent's tool call."""

from __future__ import annotations

import base64
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator

import pytest
from askroom import PASSPHRASE, AskRoom, Person

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal")


class _Wants(BaseHTTPRequestHandler):
    """An empty repository for whoever knows the password."""

    given: list[str]

    def do_GET(self) -> None:
        word = self.headers.get("Authorization", "").removeprefix("Basic ")
        if not word:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="acme"')
            self.end_headers()
            return
        self.given.append(base64.b64decode(word).decode())
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.end_headers()
        self.wfile.write(b"001e# service=git-upload-pack\n0000" + b"0000")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def repository() -> Iterator[tuple[str, list[str]]]:
    """Its address, and the names and passwords that it was given."""
    given: list[str] = []
    handler = type("_Handler", (_Wants,), {"given": given})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}/acme.git", given
        http.shutdown()
        thread.join()


def test_a_name_and_a_password_inside_a_tool_call_and_none_without_a_person(
    ask_room: AskRoom, person: list[Person], repository: tuple[str, list[str]]
) -> None:
    address, given = repository
    agent = ask_room.compose("agent", "git", "ls-remote", address)
    agent.call()
    said = agent.printed("over 128")
    assert "stallkit: no answer for git (pid " in said and "set a credential helper" in said
    assert said.count("no answer for") == 1 and given == []
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("Username for")
    asked = ask_room.waits("pop-up", ask_room.pane_pid("agent"))
    assert (asked.who, asked.kind) == ("git", "text") and asked.prompt.startswith("Username for 'http://127.0.0.1:")
    person[0].types("visitor\r")
    person[0].sees("Password for")
    asked = ask_room.waits("pop-up", ask_room.pane_pid("agent"))
    assert (asked.who, asked.kind) == ("git", "secret")
    person[0].types(f"{PASSPHRASE}\r")
    agent.printed("over 0")
    assert given == [f"visitor:{PASSPHRASE}"]
    assert agent.typed() == b"\x12\x12Z" and ask_room.files_with(PASSPHRASE) == []
