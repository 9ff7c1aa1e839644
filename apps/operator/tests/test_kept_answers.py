"""A typed answer is in no file: through every way there is, a word of its own is typed, and then looked for.

`apps/wrap/tests/askpass` looks for what is typed at the askpass program.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from queued import COMMAND, Desk
from terminals import Server, wait_for

from stallkit.daemon_socket import listens

pytestmark = pytest.mark.e2e

LETS = '[[rule]]\ndo = "press"\nsession = "tmux:one"\nsignature = "shell_yn:yes_no"\n'
# It asks again and again, and wipes what was typed off the screen.
ASKS = """\
for name in notes draft letter list last; do
    read -p "Overwrite $name.txt? [y/N] " it
    clear
    printf '%s\\n' "$it" >>"$1"
done"""


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "desk").mkdir()
    made = Desk(tmp_path / "desk", server)
    yield made
    made.end()


def kept(folder: Path, marker: str) -> list[str]:
    """The files below a folder that have it, databases with their logs included."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if marker.encode() in path.read_bytes()]


def mcp_reply(desk: Desk, item: dict[str, Any], text: str) -> None:
    from mcp import Client, StdioServerParameters

    async def reply() -> None:
        words = ["serve", "--mcp", "--policy", "own.toml"]
        server = StdioServerParameters(command=COMMAND, args=words, env=desk.environment, cwd=desk.folder)
        async with Client(server) as client:
            given = {"id": item["id"], "revision": item["revision"], "text": text}
            done = await client.call_tool("reply", given)
            assert done.structured_content is not None and done.structured_content["result"] == "done", done

    asyncio.run(reply())


DASHBOARD = """
import sys
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.orders import Order, Verb

desk = Desk(None, sys.argv[1])
(item,) = desk.board().items
print(desk.do(Order(Verb.REPLY, item.id, sys.argv[2]), item))
"""


def dashboard_reply(desk: Desk, item: dict[str, Any], text: str) -> None:
    """What the dashboard does with a line, without its screen."""
    assert desk.server is not None
    words = [sys.executable, "-c", DASHBOARD, str(desk.server.socket), text]
    done = subprocess.run(words, env=desk.environment, capture_output=True, text=True, timeout=60, check=False)
    assert "answered" in done.stdout and text not in done.stdout, done


def command_reply(desk: Desk, item: dict[str, Any], text: str) -> None:
    done = desk("stuck", "reply", str(item["id"]), text, "--json")
    assert done.returncode == 0 and text not in done.stdout + done.stderr, done


def serve_reply(desk: Desk, item: dict[str, Any], text: str) -> None:
    asked = {"id": item["id"], "revision": item["revision"], "text": text}
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(60)
        made.connect(str(desk.folder / "state/serve/rpc.sock"))
        made.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "reply", "params": asked}).encode() + b"\n")
        told = made.makefile().readline()
    assert json.loads(told)["result"]["result"] == "done" and text not in told, told


WAYS: dict[str, Callable[[Desk, dict[str, Any], str], None]] = {
    "stuck reply": command_reply,
    "serve": serve_reply,
    "MCP": mcp_reply,
    "dashboard": dashboard_reply,
}


def test_an_answer_to_a_prompt_of_the_queue_is_in_no_file(desk: Desk, server: Server, tmp_path: Path) -> None:
    (desk.folder / "own.toml").write_text(LETS)
    server.start("one", "bash", "-c", ASKS, "bash", str(tmp_path / "heard"), shows="[y/N]")
    desk.watch("tmux:one")
    desk.begin("serve", "--policy", "own.toml")
    wait_for(lambda: listens(desk.folder / "state/serve/rpc.sock"), "the server")
    typed_texts = []
    for way, reply in WAYS.items():
        item = desk.item(state="input_required")
        typed_texts.append(text := f"n{secrets.token_hex(4)}o")
        reply(desk, item, text)
        wait_for(lambda text=text: text in (tmp_path / "heard").read_text(), f"the program to hear {way}")  # type: ignore[misc]
        assert desk.item(id=item["id"])["text"] == f"[{len(text)} characters]", way
    watched = desk.item(state="input_required")  # the supervisor has seen what came after the last one
    assert watched["id"] > item["id"]
    assert (tmp_path / "heard").read_text().split() == typed_texts
    assert {text: found for text in typed_texts if (found := kept(desk.folder, text))} == {}
    assert kept(desk.folder, "Overwrite notes.txt?"), "the search finds what is kept"
