"""`stallkit serve` as a process: lines, HTTP, the example in JavaScript, MCP, and a real prompt that is answered."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

import pytest
from askers import exchange, request
from queued import COMMAND, Desk
from stallkit_operator.serve.json_rpc import own
from terminals import Server, wait_for

from stallkit.daemon_socket import listens

pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "who_waits.mjs"
ASKS = "read -p 'Overwrite notes.txt? [y/N] ' it; echo \"got <$it>\"; exec sleep 1000"
LETS = '[[rule]]\ndo = "press"\nsignature = "shell_yn:yes_no"\nsession = "tmux:one"\n'


class Programs(Desk):
    """`stallkit serve`, and programs that ask it."""

    def serve(self, *words: str) -> subprocess.Popen[bytes]:
        made = self.begin("serve", *words)
        wait_for(lambda: made.poll() is not None or all(map(listens, self.sockets)), "the server")
        return made

    @property
    def place(self) -> Path:
        return self.folder / "state" / "serve"

    @property
    def sockets(self) -> list[Path]:
        return [self.place / "rpc.sock", self.place / "http.sock"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as made:
            made.settimeout(60)
            made.connect(str(self.place / "rpc.sock"))
            made.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(made.makefile().readline())
        return answer

    def node(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The example in JavaScript."""
        command = ["node", str(EXAMPLE), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path, server)
    yield made
    made.end()


def test_a_program_answers_a_prompt_where_the_policy_lets_it(desk: Programs, server: Server) -> None:
    session = server.start("one", "bash", "-c", ASKS, shows="[y/N]")
    desk.watch("tmux:one")
    item = desk.item(state="input_required")
    reading = desk.serve()
    refused = desk.ask("reply", id=item["id"], revision=item["revision"], text="y")["result"]
    assert refused["result"] == "refused" and "--policy" in refused["why"]
    reading.terminate()
    assert reading.wait(30) == 0
    desk.serve("--policy", "careful")
    refused = desk.ask("reply", id=item["id"], revision=item["revision"], text="y")["result"]
    assert refused["why"].startswith("any program may show this prompt; to allow it: stallkit policy allow")
    assert "got" not in session.capture().screen.text
    desk.started[-1].terminate()
    desk.started[-1].wait(30)
    (policy := desk.folder / "own.toml").write_text(LETS)
    desk.serve("--policy", str(policy))
    told = desk.ask("who_waits")["result"]
    assert [one["id"] for one in told["items"]] == [item["id"]]
    assert [one["target"] for one in told["sessions"]] == ["tmux:one"]
    node = desk.node(f"{item['id']}@{item['revision']}", "y")
    assert (node.returncode, node.stderr) == (0, "")
    assert node.stdout.startswith("done: the prompt went away")
    server.wait(session, "got <y>")
    late = desk.ask("reply", id=item["id"], revision=item["revision"], text="n")["result"]
    assert "it is answered already" in late["why"]
    unknown = desk.node("99@1", "y")
    assert unknown.returncode == 1 and unknown.stderr.startswith("no item 99: ")
    assert unknown.stderr.count("\n") == 1, "an error is told in a line"
    desk.environment["STALLKIT_STATE_DIR"] = "/nonexistent"
    nobody = desk.node()
    assert nobody.returncode == 1 and "no stallkit serve" in nobody.stderr


def test_sockets_are_the_users_own_and_sandboxes_reach_only_their_endpoint(desk: Programs) -> None:
    desk.serve("web")
    assert stat.S_IMODE(desk.place.stat().st_mode) == 0o700
    for name in ("rpc.sock", "http.sock"):
        assert stat.S_IMODE((desk.place / name).stat().st_mode) == 0o600
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "who_waits"}'
    asks = request("POST", "/rpc", body, "Content-Type: application/json")
    assert b'"items":[]' in exchange(desk.place / "http.sock", asks)
    sandbox = desk.folder / "state" / "stuck" / "web" / "notify.sock"
    assert exchange(sandbox, asks).startswith(b"HTTP/1.1 421 ")
    assert b"ok" in exchange(sandbox, request("GET", "/healthz"))
    plain = request("POST", "/rpc", body, "Content-Type: text/plain")
    assert exchange(desk.place / "http.sock", plain).startswith(b"HTTP/1.1 415 ")
    assert exchange(desk.place / "http.sock", request("GET", "/rpc/openapi.json")).startswith(b"HTTP/1.1 200 ")
    again = desk("serve")
    assert again.returncode == 1 and "another process serves it" in again.stderr
    assert desk("serve", "--listen", "127.0.0.1:1").returncode == 64
    assert desk("serve", "--mcp", "web").returncode == 64
    assert desk("serve", "--policy", "wild").returncode == 64


def test_many_requests_on_one_connection_and_one_that_is_too_long(desk: Programs) -> None:
    desk.serve()
    with socket.socket(socket.AF_UNIX) as made, made.makefile("rb") as read:
        made.settimeout(60)
        made.connect(str(desk.place / "rpc.sock"))
        for number in range(20):
            asks = {"jsonrpc": "2.0", "id": number, "method": "who_waits"}
            made.sendall(json.dumps(asks).encode() + b'\n\n{"jsonrpc": "2.0", "method": "who_waits"}\n')
            assert json.loads(read.readline())["id"] == number
        for _ in range(10):  # more than the socket holds: the answer is read after all was sent
            made.sendall(b"x" * 200_000)
        assert b"65,536 bytes" in read.readline() and read.readline() == b""


def test_another_user_is_not_answered() -> None:
    """Where the socket itself would let them in, which it does not."""
    code = "require('node:net').connect(process.argv[1]).on('error', () => {})"
    others = [65_534] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = Path(folder) / "s"
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(30)
        Path(folder).chmod(0o755)
        path.chmod(0o666)
        for user in (os.geteuid(), *others):
            asks = subprocess.Popen(["node", "-e", code, str(path)], user=user, cwd="/")
            with listening.accept()[0] as connection:
                assert own(connection) is (user == os.geteuid())
            asks.wait(30)


def test_a_coding_agent_asks_over_mcp(desk: Programs) -> None:
    from mcp import Client, StdioServerParameters

    async def tools(*words: str) -> dict[str, Any]:
        server = StdioServerParameters(command=COMMAND, args=["serve", "--mcp", *words], env=desk.environment)
        async with Client(server) as client:
            found: dict[str, Any] = {one.name: one for one in (await client.list_tools()).tools}
            asked = await client.call_tool("who_waits", {})
            assert asked.structured_content is not None and asked.structured_content["items"] == []
            wrong = await client.call_tool("explain", {"target": "file:/etc/passwd"})
            assert wrong.is_error and "not read for programs" in str(wrong.content)
            if "reply" in found:
                late = await client.call_tool("reply", {"id": 7, "revision": 1, "text": "y"})
                assert late.is_error and "no item 7" in str(late.content)
            return found

    assert set(asyncio.run(tools())) == {"who_waits", "explain"}
    assert set(asyncio.run(tools("--policy", "careful"))) == {"who_waits", "explain", "reply"}


def test_without_its_packages_it_says_what_to_install(desk: Desk) -> None:
    code = "import sys; sys.modules['starlette'] = None; from stallkit.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve"],
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "pip install 'stallkit-operator[serve]'" in done.stderr
