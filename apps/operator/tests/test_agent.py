"""The agent's side as it is installed, in both languages, and its hook, against a real endpoint and a person."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from machine_room import PROGRAMS, missing
from queued import Desk
from stallkit_operator.install import install
from stallkit_operator.item import ItemState, Who
from stallkit_operator.queue import Queue
from terminals import wait_for

pytestmark = pytest.mark.e2e

BARE = {"PATH": os.environ["PATH"]}  # of a sandbox: nothing else is set


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    assert made("sandbox", "install", str(tmp_path / "state" / "stuck" / "web")).returncode == 0
    yield made
    made.end()


def serve(desk: Desk) -> subprocess.Popen[bytes]:
    process = desk.begin("sandbox", "serve", "web")
    wait_for((desk.folder / "state" / "stuck" / "web" / "notify.sock").exists, "the endpoint's socket")
    return process


def program(desk: Desk, form: str) -> list[str]:
    there = desk.folder / "state" / "stuck" / "web"
    return [sys.executable, str(there / "stuck.py")] if form == "python" else ["dash", str(there / "stuck")]


def ask(desk: Desk, form: str, *words: str, given: int | None = None) -> subprocess.Popen[bytes]:
    piped = subprocess.PIPE
    return subprocess.Popen([*program(desk, form), *words], env=BARE, stdin=given, stdout=piped, stderr=piped)


def said(asking: subprocess.Popen[bytes], s: float = 60) -> tuple[int, str, str]:
    """Its exit code, and what it said."""
    out, err = asking.communicate(timeout=s)
    return asking.returncode, out.decode(), err.decode()


FORMS = ("shell", "python")


def test_what_it_prints_and_ends_with_is_the_reply_or_why_there_is_none(desk: Desk) -> None:
    early = {form: ask(desk, form, "--wait", "1", "help") for form in FORMS}
    keyed = {form: ask(desk, form, "--wait", "1", "--key", "of-before", given=subprocess.DEVNULL) for form in FORMS}
    for form in FORMS:
        code, out, err = said(early[form])
        assert (code, out) == (2, "") and "nobody could be asked within 1 s" in err, form
        code, _, err = said(keyed[form])
        assert code == 5 and "still waiting" in err, "with the key alone, which goes on with what was asked earlier"
    serve(desk)
    for form in FORMS:
        asking = ask(desk, form, "npm was refused:", '"E403"')
        item = desk.item(state="input_required", session="web")
        assert item["words"] == 'npm was refused: "E403"'
        assert desk("stuck", "r", str(item["id"]), 'use "the\\n mirror"\n\tcafé ').returncode == 0
        assert said(asking) == (0, 'use "the\\n mirror"\n\tcafé ', ""), form
        asking = ask(desk, form, "may I push to main?")
        item = desk.item(state="input_required")
        desk("stuck", "decline", str(item["id"]), "not", "to", "main")
        assert said(asking)[:2] == (1, "not to main"), form
        asking = ask(desk, form, "hello?")
        item = desk.item(state="input_required")
        with closing(Queue(desk.folder / "state" / "queue.db")) as queue:
            queue.close_item(item["id"], ItemState.EXPIRED, Who("stallkit", "the clock"), "nobody answered in time")
        assert said(asking) == (4, "", "nobody answered in time"), form
        code, out, err = said(ask(desk, form, "--wait", "1", "help"))
        assert (code, out) == (5, ""), "who stops waiting goes on with the key"
        item = desk.item(state="input_required")
        desk("stuck", "reply", str(item["id"]), "meanwhile")
        key = err.split("--key ")[1].strip()
        assert said(ask(desk, form, "--key", key, given=subprocess.DEVNULL))[:2] == (0, "meanwhile"), form
        nothing, long = ask(desk, form, given=subprocess.DEVNULL), ask(desk, form, "a" * 70_000)
        assert "stuck TEXT" in said(nothing)[2] and nothing.returncode == 2, form
        assert "65,536" in said(long)[2] and long.returncode == 2, form


def test_it_comes_again_over_restarts_and_asks_once(desk: Desk) -> None:
    asking = {form: ask(desk, form, f"help {form}") for form in FORMS}  # before anybody listens
    for end in (signal.SIGKILL, signal.SIGTERM):
        serving = serve(desk)
        item = desk.item(state="input_required")
        wait_for(lambda: all(form in desk.item(state="input_required")["words"] for form in FORMS), "both")
        serving.send_signal(end)
        serving.wait()
        (desk.folder / "state" / "stuck" / "web" / "notify.sock").unlink(missing_ok=True)
    with closing(Queue(desk.folder / "state" / "queue.db")) as queue:
        queue.close_item(item["id"], ItemState.ANSWERED, Who("ada", "a test"), "at last")
    serve(desk)
    for form in FORMS:
        code, out, err = said(asking[form])
        assert (code, out) == (0, "at last") and "trying again" in err, form
    [item] = desk.items("--all")
    assert sorted(item["words"].split("\n\n")) == ["help python", "help shell"]


def test_in_a_sandbox_without_network_it_needs_nothing_but_the_directory(desk: Desk) -> None:
    if why := missing("bwrap"):
        pytest.skip(why)
    there = desk.folder / "state" / "stuck" / "web"
    serve(desk)
    sandbox = [str(PROGRAMS / "bwrap"), "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]
    sandbox += ["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
    sandbox += ["--dev", "/dev", "--tmpfs", "/tmp", "--unshare-all"]
    sandbox += ["--bind", str(there), "/run/stallkit", "--clearenv", "--setenv", "PATH", "/usr/bin"]
    asking = subprocess.Popen([*sandbox, "/run/stallkit/stuck", "no way out"], stdout=subprocess.PIPE)
    item = desk.item(state="input_required")
    desk("stuck", "reply", str(item["id"]), "there is")
    assert (asking.communicate(timeout=30)[0], asking.returncode) == (b"there is", 0)


def test_what_is_installed_says_where_it_is_in_the_sandbox_and_follows_no_link(tmp_path: Path) -> None:
    folder, outside = tmp_path / "mounted", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("mine")
    for name in ("stuck", ".stuck.new", "SKILL.md"):
        (folder / name).symlink_to(outside)
    install(folder, "/run/stallkit")
    assert outside.read_text() == "mine" and os.access(folder / "stuck", os.X_OK)
    for name in ("SKILL.md", "STUCK.md", "commands/stuck.md"):
        text = (folder / name).read_text()
        assert "/run/stallkit/stuck" in text and "{dir}" not in text
    shutil.rmtree(folder / "commands")
    (folder / "commands").symlink_to(tmp_path)
    with pytest.raises(OSError, match="symbolic link"):
        install(folder)


EVENT = {
    "hook_event_name": "PermissionDenied", "session_id": "s1", "tool_use_id": "toolu_01", "tool_name": "Bash",
    "tool_input": {"command": "npm publish", "description": "x"}, "reason": "not on this branch",
}  # fmt: skip


class Sandbox:
    """The agent's side of one sandbox, with its hook, and the person's desk."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk, self.folder = desk, folder

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)

    def denied(self, text: str) -> str:
        """What the hook prints for an event."""
        done = self.run(str(self.folder / "denied.py"), given=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fetched(self) -> tuple[int, str]:
        """What the next `stuck` without words gives."""
        done = self.run(str(self.folder / "stuck.py"))
        return done.returncode, done.stdout


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Sandbox]:
    desk = Desk(tmp_path)
    made = Sandbox(desk, tmp_path / "state" / "stuck" / "web")
    assert desk("sandbox", "install", str(made.folder), "--denied-hook").returncode == 0
    desk.begin("sandbox", "serve", "web")
    wait_for((made.folder / "notify.sock").exists, "the endpoint's socket")
    yield made
    desk.end()


def test_a_denied_call_is_filed_once_and_its_reply_is_kept(hooks: Sandbox) -> None:
    assert hooks.fetched()[0] == 2, "no hook has asked"
    told = hooks.denied(json.dumps(EVENT))
    assert "a person was asked" in told
    hooks.denied(json.dumps(EVENT))
    (item,) = hooks.desk.items()
    assert item["words"] == "a tool call was denied: Bash\nnpm publish\nnot on this branch"
    assert (item["session"], item["source"], item["state"]) == ("web", "agent", "input_required")
    assert "nobody waits for the reply" in hooks.desk("stuck", "show", str(item["id"])).stdout
    done = hooks.desk("stuck", "reply", str(item["id"]), "use the mirror")
    assert done.stdout == "1 web: answered, kept for its next stuck: no key goes into its sandbox\n"
    reply = hooks.run(*told.strip().rpartition(": ")[2].split())
    assert (reply.returncode, reply.stdout) == (0, "use the mirror")
    for _ in range(2):  # also without the key, of which the agent may know nothing
        assert hooks.fetched() == (0, "use the mirror")
    hooks.denied(json.dumps({**EVENT, "tool_use_id": "toolu_02"}))
    assert len(hooks.desk.items("--all")) == 2


def test_a_reply_that_somebody_waits_for_goes_there(hooks: Sandbox) -> None:
    hooks.denied(json.dumps(EVENT))
    (item,) = hooks.desk.items()
    shell = [str(hooks.folder / "stuck")]
    waiting = subprocess.Popen(shell, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: "nobody waits" not in hooks.desk("stuck", "show", str(item["id"])).stdout, "the agent to wait")
    assert hooks.desk("stuck", "reply", str(item["id"]), "yes").stdout == "1 web: answered\n"
    assert (waiting.communicate(timeout=30)[0], waiting.returncode) == ("yes", 0)


def test_what_is_no_event_or_has_no_endpoint_files_nothing_and_it_is_off_unless_asked_for(
    hooks: Sandbox, tmp_path: Path
) -> None:
    assert [hooks.denied(text) for text in ("", "[]", "{", "7")] == [""] * 4
    assert hooks.desk.items("--all") == []
    folder = tmp_path / "elsewhere"
    assert hooks.desk("sandbox", "install", str(folder), "--denied-hook", "--inside", "/run/x").returncode == 0
    assert Sandbox(hooks.desk, folder).denied(json.dumps(EVENT)) == "", "it holds no agent up"
    installed = json.loads((folder / "hooks.json").read_text())["hooks"]
    assert installed["PermissionDenied"][0]["hooks"][0]["command"] == "/run/x/denied.py"
    assert hooks.desk("sandbox", "install", str(tmp_path / "a")).returncode == 0
    assert not [path for path in (tmp_path / "a").rglob("*") if "denied" in path.name or "hooks" in path.name]
