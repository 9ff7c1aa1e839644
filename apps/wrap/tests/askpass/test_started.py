"""`start --askpass` and `run --askpass`: what they start asks by stallkit, also after a restart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from askroom import PASSPHRASE
from stallkit_sessions.explain import start_command
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import Session
from stallkit_supervisor.recovery import Restarter
from stallkit_wrap.askpass.prompts import AskedPrompt, prompts
from started import House
from terminals import wait_for

from stallkit.errors import StartRefused
from stallkit.jsonio import structure, unstructure
from stallkit.transports.base import Options
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal"),
]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", PASSPHRASE, "-f", str(file)]
    subprocess.run(made, check=True, timeout=20)
    return file


def waiting(below: int | None = None) -> AskedPrompt:
    """The one prompt that waits, as soon as it has its place."""
    wait_for(lambda: [one.place for one in prompts(below)] == ["terminal"], "a prompt")
    return prompts(below)[0]


def test_a_session_asks_by_stallkit_and_again_after_a_restart(house: House, key: Path) -> None:
    ask = ("ssh-keygen", "-y", "-f", str(key))
    session = house.start("a", *ask, askpass=True)
    first = waiting(Identity.of(session.identity).pid)
    assert (first.who, first.kind, first.session) == ("ssh-keygen", "secret", session.id)
    house.tmux("send-keys", "-t", "=a:", "C-c")
    house.end_of("a")
    pane = TmuxTransport("a", Options(tmux_socket_path=str(house.socket)))
    outcome = Restarter(ask, house.state / "sessions.db").in_place(pane, "a", pane.capture())
    pane.close()
    assert outcome, outcome
    second = waiting()
    assert second.session not in ("", session.id)
    house.tmux("send-keys", "-t", "=a:", PASSPHRASE, "Enter")
    assert house.end_of("a").status is not None and prompts() == []


def test_the_command_that_starts_it_again_has_the_flag(house: House) -> None:
    house.begin("a", "cat", given=("--askpass",))
    session = Sessions().latest("a")
    assert isinstance(session, Session) and session.askpass
    assert " --askpass " in start_command(session)
    assert structure(unstructure(session), Session) == session
    assert "askpass" not in unstructure(house.session("b")), "an older version's session is told as it was written"


def test_a_container_does_not_ask_by_stallkit(house: House) -> None:
    done = house.call("start", "a", "-S", str(house.socket), "--askpass", "--bwrap", "--", "true")
    assert done.returncode == 64 and "askpass does not work in a container or sandbox" in done.stderr
    with Sessions() as sessions, pytest.raises((ValueError, StartRefused)):
        sessions.start("a", ["true"], engine="docker", image="x", askpass=True)


@pytest.mark.alone
def test_a_run_asks_at_its_own_terminal_and_takes_a_secret(runs: House, key: Path) -> None:
    done = runs.call("run", "--askpass", "--json", "--", "ssh-keygen", "-y", "-f", str(key))
    told = json.loads(done.stdout)
    assert (done.returncode, told["kind"]) == (2, "secret"), told
    assert waiting().prompt == "Enter passphrase:"
    words = [runs.command, "attach", told["id"], "--secret", "--json"]
    ended = subprocess.run(words, input=PASSPHRASE, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["exit_status"] == 0
    assert "Load key" not in json.loads(ended.stdout)["output"] and prompts() == []
    written = [one for one in runs.folder.rglob("*") if one.is_file() and PASSPHRASE.encode() in one.read_bytes()]
    assert written == []
