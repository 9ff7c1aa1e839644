"""An ssh agent that wants each use of a key confirmed: only yes is yes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Iterator

import pytest
from askroom import PASSPHRASE, AskRoom, Person
from terminals import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal")


@pytest.fixture
def agent_socket(ask_room: AskRoom) -> Iterator[str]:
    """An ssh agent as a program in tmux starts it, with the room's key, whose uses are to be confirmed."""
    socket = ask_room.folder / "agent.sock"
    words = ask_room.words("ssh-agent", "-D", "-a", str(socket))
    ask_room.server.start("keys", *words)
    wait_for(socket.exists, "the ssh agent")
    plain = ask_room.folder / "plain"
    plain.write_bytes(ask_room.key.read_bytes())
    plain.chmod(0o600)
    change = ["ssh-keygen", "-q", "-p", "-P", PASSPHRASE, "-N", "", "-f", str(plain)]
    subprocess.run(change, check=True, timeout=20, stdout=subprocess.DEVNULL)
    given = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
    subprocess.run(["ssh-add", "-q", "-c", str(plain)], env=given, check=True, timeout=20)
    yield str(socket)
    with contextlib.suppress(ProcessLookupError):
        os.kill(ask_room.pane_pid("keys"), signal.SIGTERM)


def test_only_yes_is_yes(ask_room: AskRoom, person: list[Person], agent_socket: str) -> None:
    (ask_room.folder / "letter").write_text("hello")
    person.append(ask_room.attach("keys"))
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", f"{ask_room.key}.pub", f"{ask_room.folder}/letter"]
    given = {**os.environ, "SSH_AUTH_SOCK": agent_socket}
    for answer, signs in [("no", False), ("y", False), ("", False), ("yes", True)]:
        quiet = subprocess.DEVNULL
        signing = subprocess.Popen(sign, env=given, stdin=quiet, stderr=quiet)
        try:
            person[0].sees("Allow use of key")
            asked = ask_room.waits("terminal", ask_room.pane_pid("keys"))
            assert (asked.who, asked.kind) == ("ssh-agent", "confirm")
            person[0].types(f"{answer}\r")
            assert (signing.wait(20) == 0) is signs, answer
        finally:
            signing.kill()
            signing.wait()
