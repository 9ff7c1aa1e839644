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


def notify(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "TMUX_TMPDIR": str(home)}
    for name in ("DBUS_SESSION_BUS_ADDRESS", "TMUX", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        environment.pop(name, None)
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    main = "import sys; from stallkit.cli.main import main; sys.argv[0] = 'stallkit'; main()"
    command = [sys.executable, "-c", main, "notify", *words]
    return subprocess.run(command, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


def test_each_place_and_what_it_did(tmp_path: Path, site: Site) -> None:
    settings = f"[events]\nexec = 'cp /dev/stdin {tmp_path}/got'\n[notify]\ndesktop = true\n"
    (tmp_path / "stallkit.toml").write_text(settings)
    done = notify(tmp_path, "--webhook", f"{site.url}/a-token", "--notify", "terminal", "--json")
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
