"""docs/examples/nats-fleet.service, as systemd itself reads it, and beside the unit of the package."""

from __future__ import annotations

import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[3] / "docs" / "examples" / "nats-fleet.service"
OF_THE_PACKAGE = Path("/lib/systemd/system/nats-server.service")
pytestmark = [
    pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze: apt install systemd"),
    pytest.mark.skipif(not OF_THE_PACKAGE.exists(), reason="nats-server: apt install nats-server"),
]


def complaints(unit: str, folder: Path) -> str:
    """What systemd finds wrong with a unit of the system."""
    path = folder / "nats-server.service"
    path.write_text(unit)
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    return done.stderr or (f"status {done.returncode}" if done.returncode else "")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = UNIT.read_text()
    assert complaints(unit, tmp_path) == ""
    for right, wrong, said in (
        ("Restart=always", "Restart=allways", "Failed to parse"),
        ("StateDirectory=", "StateDirectry=", "Unknown key"),
        ("/usr/sbin/nats-server", "/usr/sbin/nats-servr", "is not executable"),
    ):
        assert said in complaints(unit.replace(right, wrong), tmp_path)


def test_it_starts_what_the_unit_of_the_package_starts() -> None:
    ours, theirs = ConfigParser(interpolation=None), ConfigParser(interpolation=None)
    ours.read(UNIT)
    theirs.read(OF_THE_PACKAGE)
    for key in ("ExecStart", "User", "Group"):
        assert ours["Service"][key] == theirs["Service"][key]
    assert ours["Service"]["StateDirectory"] == "nats", "the sample's store_dir is /var/lib/nats"
    assert '"/var/lib/nats"' in UNIT.with_name("fleet-nats.conf").read_text()
