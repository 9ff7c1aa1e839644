"""The hook that asks when a tool call is denied: only where it is installed, once for each call, and nobody waits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from queued import Desk
from terminals import wait_for

pytestmark = pytest.mark.e2e

EVENT = {
    "hook_event_name": "PermissionDenied", "session_id": "s1", "tool_use_id": "toolu_01", "tool_name": "Bash",
    "tool_input": {"command": "npm publish", "description": "x"}, "reason": "not on this branch",
}  # fmt: skip


class Sandbox:
    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk, self.folder = desk, folder

    def denied(self, text: str) -> str:
        """What the hook prints for an event."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "denied.py")],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    desk = Desk(tmp_path)
    made = Sandbox(desk, tmp_path / "state" / "stuck" / "web")
    assert desk("stuck", "install", str(made.folder), "--denied-hook").returncode == 0
    desk.begin("stuck", "serve", "web")
    wait_for((made.folder / "notify.sock").exists, "the endpoint's socket")
    yield made
    desk.end()


def test_a_denied_call_is_filed_once_and_its_reply_is_kept(sandbox: Sandbox) -> None:
    told = sandbox.denied(json.dumps(EVENT))
    assert "a person was asked" in told
    sandbox.denied(json.dumps(EVENT))
    (item,) = sandbox.desk.items()
    assert item["words"] == "a tool call was denied: Bash\nnpm publish\nnot on this branch"
    assert (item["session"], item["source"], item["state"]) == ("web", "agent", "input_required")
    assert sandbox.desk("stuck", "reply", str(item["id"]), "use the mirror").returncode == 0
    words = told.strip().rpartition(": ")[2].split()
    reply = subprocess.run([sys.executable, *words], input="", capture_output=True, text=True, timeout=60, check=False)
    assert (reply.returncode, reply.stdout) == (0, "use the mirror")
    assert fetched(sandbox) == (0, "use the mirror"), "also without the key, of which the agent may know nothing"
    sandbox.denied(json.dumps({**EVENT, "tool_use_id": "toolu_02"}))
    assert len(sandbox.desk.items("--all")) == 2


def fetched(sandbox: Sandbox) -> tuple[int, str]:
    """What the next `stuck` without words gives."""
    program = [sys.executable, str(sandbox.folder / "stuck.py")]
    done = subprocess.run(program, input="", capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_a_sandbox_that_takes_no_keys_keeps_the_reply(sandbox: Sandbox) -> None:
    assert fetched(sandbox)[0] == 2, "no hook has asked"
    sandbox.denied(json.dumps(EVENT))
    (item,) = sandbox.desk.items()
    assert "nobody waits for the reply" in sandbox.desk("stuck", "show", str(item["id"])).stdout
    done = sandbox.desk("stuck", "reply", str(item["id"]), "use the mirror")
    assert done.stdout == "1 web: answered, kept for its next stuck: no key goes into its sandbox\n"
    assert fetched(sandbox) == fetched(sandbox) == (0, "use the mirror")


def test_a_reply_that_somebody_waits_for_goes_there(sandbox: Sandbox) -> None:
    sandbox.denied(json.dumps(EVENT))
    (item,) = sandbox.desk.items()
    shell = [str(sandbox.folder / "stuck")]
    waiting = subprocess.Popen(shell, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: "nobody waits" not in sandbox.desk("stuck", "show", str(item["id"])).stdout, "the agent to wait")
    assert sandbox.desk("stuck", "reply", str(item["id"]), "yes").stdout == "1 web: answered\n"
    assert (waiting.communicate(timeout=30)[0], waiting.returncode) == ("yes", 0)


@pytest.mark.parametrize("text", ["", "[]", "{", "7"])
def test_what_is_no_event_files_nothing(sandbox: Sandbox, text: str) -> None:
    assert sandbox.denied(text) == ""
    assert sandbox.desk.items("--all") == []


def test_an_endpoint_that_is_away_holds_no_agent_up(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    folder = tmp_path / "elsewhere"
    assert desk("stuck", "install", str(folder), "--denied-hook", "--inside", "/run/x").returncode == 0
    assert Sandbox(desk, folder).denied(json.dumps(EVENT)) == ""
    hooks = json.loads((folder / "hooks.json").read_text())["hooks"]
    assert hooks["PermissionDenied"][0]["hooks"][0]["command"] == "/run/x/denied.py"


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    assert Desk(tmp_path)("stuck", "install", str(tmp_path / "a")).returncode == 0
    assert not [path for path in (tmp_path / "a").rglob("*") if "denied" in path.name or "hooks" in path.name]
