"""ssh and sudo against real accounts, in a private world: a host key, a password, and a password for sudo."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Iterator

import pytest
from askroom import AskRoom, Person
from live.scene import CACHE
from live.secluded import PASSWORD, VISITOR, World
from stallkit_wrap.askpass.prompts import prompts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="it takes root's mount namespaces"),
]
PYTHON = "/usr/bin/python3"  # the one of the tests may lie where nobody else may look
# What the askpass program imports, beside Python's own.
PACKAGES = ("stallkit", "stallkit_wrap", "attr", "attrs", "cattrs", "platformdirs", "regex", "typing_extensions")


def needs(*programs: str) -> None:
    for program in programs:
        if not (CACHE / "debs" / program).exists():
            pytest.skip(f"scripts/test did not fetch {program}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "world"
    folder.mkdir()
    made = World(folder)
    yield made
    made.close()


def test_a_host_key_and_a_password_inside_a_tool_call(ask_room: AskRoom, person: list[Person], world: World) -> None:
    needs("usr/sbin/sshd")
    agent = ask_room.compose("agent", *shlex.split(world.environment["SSH_STRANGER"]), "true")
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("continue connecting")
    person[0].types("no\r")
    assert "Host key verification failed" in agent.printed("over 255")
    agent.call()
    person[0].sees("continue connecting")
    asked = ask_room.waits("pop-up", ask_room.pane_pid("agent"))
    assert (asked.who, asked.kind) == ("ssh", "confirm") and "The authenticity of host" in asked.prompt
    person[0].types("yes\r")
    person[0].sees("password:")
    asked = ask_room.waits("pop-up", ask_room.pane_pid("agent"))
    assert (asked.who, asked.kind, asked.prompt) == ("ssh", "secret", "visitor@127.0.0.1's password:")
    person[0].types(f"{PASSWORD}\r")
    agent.printed("over 0")
    assert agent.typed() == b"\x12\x12Z" and prompts(folder=ask_room.asked) == []


@pytest.fixture
def library() -> Iterator[Path]:
    """A folder that every account can read, with what the askpass program imports."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    for name in PACKAGES:
        found = find_spec(name)
        assert found is not None and found.origin is not None
        origin = Path(found.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, folder)
    yield folder
    shutil.rmtree(folder)


def test_sudo_asks_for_the_password_of_an_account(
    ask_room: AskRoom, person: list[Person], world: World, library: Path
) -> None:
    needs("usr/bin/sudo")
    if subprocess.run([PYTHON, "-c", "import sys; assert sys.version_info >= (3, 11)"], check=False).returncode:
        pytest.skip(f"{PYTHON} is too old")
    asked_in = library / "state" / "askpass"
    (library / "state").mkdir()
    os.chown(library / "state", VISITOR, VISITOR)
    visitor = ["setpriv", f"--reuid={VISITOR}", f"--regid={VISITOR}", "--clear-groups"]
    code = f"import sys; sys.path.insert(0, {str(library)!r}); from stallkit_wrap.askpass.launcher import environment; "
    code += f"from pathlib import Path; print(environment(Path({str(asked_in)!r}))['SUDO_ASKPASS'])"
    # Without sudo's own rights over tmux's socket the visitor could not show a pop-up: its terminal is asked at.
    made = subprocess.run([*visitor, PYTHON, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    script = f"exec {shlex.join(visitor)} env SUDO_ASKPASS={made.stdout.strip()} sudo -k -A id -u"
    ask_room.server.start("sudo", *world.inside, "sh", "-c", f"{script}; exec sleep 1000", shows="assword")
    person.append(ask_room.attach("sudo"))
    assert prompts(folder=asked_in) == [], "another account's report counts"
    [report] = asked_in.glob("*.json")
    asked = json.loads(report.read_text())
    assert (asked["who"], asked["kind"], asked["place"]) == ("sudo", "secret", "terminal")
    person[0].types(f"{PASSWORD}\r")
    person[0].sees("\n0")
    assert not report.exists()
