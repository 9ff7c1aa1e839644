"""``stallkit notify``: what it says each place did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from posted import Site
from stallkit_supervisor.notify.tmux_message import MARK
from terminals import Server
from tmux_in_tmux import Seat

STALLKIT = [sys.executable, "-c", "import sys; from stallkit.cli.main import main; sys.argv[0] = 'stallkit'; main()"]
_NOT_OURS = ("DBUS_SESSION_BUS_ADDRESS", "TMUX", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
ENVIRONMENT["PYTHONPATH"] = os.pathsep.join(sys.path)


def notify(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "TMUX_TMPDIR": str(home)}
    command = [*STALLKIT, "notify", *words]
    return subprocess.run(command, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


def test_each_place_and_what_it_did(tmp_path: Path, site: Site) -> None:
    settings = f"[events]\nexec = 'cp /dev/stdin {tmp_path}/got'\n[notify]\ndesktop = true\n"
    (tmp_path / "stallkit.toml").write_text(settings)
    words = ["--config", "stallkit.toml", "--webhook", f"{site.url}/a-token", "--notify", "terminal", "--json"]
    done = notify(tmp_path, *words)
    rows = {row["place"]: (row["told"], row["what"]) for row in json.loads(done.stdout)["places"]}
    assert rows == {
        "command cp": (True, "it ended with status 0"),
        "webhook 127.0.0.1": (True, "it answered 200"),
        "desktop": (False, "there is no session bus: $DBUS_SESSION_BUS_ADDRESS is not set"),
        "terminal": (False, "neither standard output nor error is a terminal"),
    }
    assert done.returncode == 1 and done.stderr == ""
    assert json.loads((tmp_path / "got").read_text())["event"] == json.loads(site.got[0][2])["event"] == "test"


def test_for_a_person_a_line_each(tmp_path: Path) -> None:
    done = notify(tmp_path, "--exec", "true")
    assert " ".join(done.stdout.split()) == "command true told it ended with status 0" and done.returncode == 0


def test_without_a_place_it_says_how_to_name_one(tmp_path: Path) -> None:
    done = notify(tmp_path)
    assert done.returncode == 64 and "no place is named" in done.stderr


@pytest.mark.e2e
def test_watch_tells_in_tmux_and_takes_the_mark_away(tmp_path: Path) -> None:
    """From a prompt to what a person sees at a client, and to the end of the watch."""
    (tmp_path / "own").mkdir()
    server = Server(tmp_path / "own")
    server.tmux("new-session", "-d", "-s", "one", "-x", "100", "-y", "24", "sh", "-c", "echo here; exec cat")
    server.tmux("new-session", "-d", "-s", "asks", sys.executable, "-c", "input('Proceed? [y/N] ')")
    seat = Seat(server, tmp_path / "seat")
    environment = {**ENVIRONMENT, "STALLKIT_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}
    words = ["watch", "tmux:asks", "-S", str(server.socket), "--notify", "tmux"]
    watch = subprocess.Popen([*STALLKIT, *words], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    try:
        seat.sees("stallkit: asks ", "Proceed? [y/N]")
        assert server.tmux("show-options", "-wv", "-t", "asks", MARK).strip()
    finally:
        watch.terminate()
        assert watch.wait(60) == 0
        left = server.tmux("show-options", "-w", "-t", "asks")
        seat.end(), server.end()
    assert MARK not in left
