"""The agent's side as it is installed, in both languages, against a real endpoint and a person at the command line."""

from __future__ import annotations

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
    assert made("stuck", "install", str(tmp_path / "state" / "stuck" / "web")).returncode == 0
    yield made
    made.end()


def serve(desk: Desk) -> subprocess.Popen[bytes]:
    process = desk.begin("stuck", "serve", "web")
    wait_for((desk.folder / "state" / "stuck" / "web" / "notify.sock").exists, "the endpoint's socket")
    return process


def program(desk: Desk, form: str) -> list[str]:
    there = desk.folder / "state" / "stuck" / "web"
    return [sys.executable, str(there / "stuck.py")] if form == "python" else ["dash", str(there / "stuck")]


def ask(desk: Desk, form: str, *words: str, given: int | None = None) -> subprocess.Popen[bytes]:
    piped = subprocess.PIPE
    return subprocess.Popen([*program(desk, form), *words], env=BARE, stdin=given, stdout=piped, stderr=piped)


FORMS = pytest.mark.parametrize("form", ["shell", "python"])


@FORMS
def test_the_reply_is_printed_as_it_is(desk: Desk, form: str) -> None:
    serve(desk)
    asking = ask(desk, form, "npm was refused:", '"E403"')
    item = desk.item(state="input_required", session="web")
    assert item["words"] == 'npm was refused: "E403"'
    assert desk("stuck", "r", str(item["id"]), 'use "the\\n mirror"\n\tcafé ').returncode == 0
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out.decode(), err) == (0, 'use "the\\n mirror"\n\tcafé ', b"")


@FORMS
def test_what_is_declined_or_late_is_known_by_the_exit_code(desk: Desk, form: str) -> None:
    serve(desk)
    asking = ask(desk, form, "may I push to main?")
    item = desk.item(state="input_required")
    desk("stuck", "decline", str(item["id"]), "not", "to", "main")
    assert (asking.communicate(timeout=30)[0], asking.returncode) == (b"not to main", 1)
    asking = ask(desk, form, "hello?")
    item = desk.item(state="input_required")
    with closing(Queue(desk.folder / "state" / "queue.db")) as queue:
        queue.close_item(item["id"], ItemState.EXPIRED, Who("stallkit", "the clock"), "nobody answered in time")
    assert (asking.communicate(timeout=30), asking.returncode) == ((b"", b"nobody answered in time"), 4)


@FORMS
def test_it_comes_again_over_restarts_and_asks_once(desk: Desk, form: str) -> None:
    asking = ask(desk, form, "help")  # before anybody listens
    for end in (signal.SIGKILL, signal.SIGTERM):
        serving = serve(desk)
        item = desk.item(state="input_required")
        serving.send_signal(end)
        serving.wait()
        (desk.folder / "state" / "stuck" / "web" / "notify.sock").unlink(missing_ok=True)
    assert desk("stuck", "reply", str(item["id"]), "at last").returncode == 0
    serve(desk)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (0, b"at last") and b"trying again" in err
    assert [one["words"] for one in desk.items("--all")] == ["help"]


@FORMS
def test_who_stops_waiting_goes_on_with_the_key(desk: Desk, form: str) -> None:
    serve(desk)
    asking = ask(desk, form, "--wait", "1", "help")
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out) == (5, b"")
    key = err.decode().split("--key ")[1].strip()
    item = desk.item(state="input_required")
    desk("stuck", "reply", str(item["id"]), "meanwhile")
    again = ask(desk, form, "--key", key, given=subprocess.DEVNULL)
    assert (again.communicate(timeout=30)[0], again.returncode) == (b"meanwhile", 0)
    assert len(desk.items("--all")) == 1


@FORMS
def test_who_could_not_ask_does_not_say_that_somebody_is_asked(desk: Desk, form: str) -> None:
    """With the key alone, which goes on with what was asked earlier, it is still waiting."""
    asking = ask(desk, form, "--wait", "1", "help")
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out) == (2, b"") and b"nobody could be asked within 1 s" in err
    again = ask(desk, form, "--wait", "1", "--key", "of-before", given=subprocess.DEVNULL)
    assert b"still waiting" in again.communicate(timeout=30)[1] and again.returncode == 5


@FORMS
def test_what_cannot_be_asked_is_no_answer(desk: Desk, form: str) -> None:
    serve(desk)
    nothing = ask(desk, form, given=subprocess.DEVNULL)
    assert b"stuck TEXT" in nothing.communicate(timeout=30)[1] and nothing.returncode == 2
    long = ask(desk, form, "a" * 70_000)
    assert b"65,536" in long.communicate(timeout=30)[1] and long.returncode == 2


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
