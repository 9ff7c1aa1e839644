"""A program that asks inside an agent's work without the askpass program is told by `check` and `explain`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from askroom import AskRoom
from terminals import wait_for

from stallkit.signals.collect import AskedInside, asked_inside
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal"),
]


def command(stallkit_command: str, room: AskRoom, *words: str) -> str:
    """What it prints."""
    called = [stallkit_command, *words, "-S", str(room.server.socket)]
    return subprocess.run(called, capture_output=True, text=True, timeout=60, check=False).stdout


def asked(room: AskRoom, name: str, *, prompted: bool = False) -> AskedInside:
    """The one that asks inside a session's work, as soon as it reads (and its prompt is on the screen)."""
    found: list[AskedInside] = []
    transport = TmuxTransport(name, room.server.options)

    def reads() -> bool:
        transport.capture()
        found[:] = asked_inside(transport.capture())
        return bool(found) and (not prompted or found[0].prompt is not None)

    wait_for(reads, "a reader inside")
    transport.close()
    return found[0]


def test_ssh_in_a_tool_call_is_told_with_its_prompt(ask_room: AskRoom, stallkit_command: str) -> None:
    """Without the askpass program it opens the terminal itself, and shares every key with the composer."""
    bare = [f"--unset={name}" for name in ask_room.variables]
    agent = ask_room.compose("agent", "env", *bare, *ask_room.ask_for_passphrase)
    agent.call()
    found = asked(ask_room, "agent", prompted=True)
    assert (found.who, found.own, found.how) == ("ssh-keygen", False, "read") and found.inside.startswith("python")
    assert found.prompt is not None and found.prompt.startswith("Enter passphrase")
    [told] = json.loads(command(stallkit_command, ask_room, "check", "--json", "tmux:agent"))["inside"]
    assert (told["who"], told["pid"], told["prompt"]) == (found.who, found.pid, found.prompt)
    for verb in ("check", "explain"):
        said = command(stallkit_command, ask_room, verb, "tmux:agent")
        assert f"ssh-keygen (pid {found.pid}) waits in read on the terminal beside python" in said
    [told] = json.loads(command(stallkit_command, ask_room, "explain", "--json", "tmux:agent"))["inside"]
    assert told["inside"] == found.inside
    asks = ask_room.compose("asks", *ask_room.ask_for_passphrase)  # by the askpass program
    asks.call()
    asks.printed("over 255")
    assert json.loads(command(stallkit_command, ask_room, "check", "--json", "tmux:asks"))["inside"] == []
