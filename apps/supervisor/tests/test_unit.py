"""The unit of docs/watch.md, as systemd itself reads it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "watch.md"
pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze: apt install systemd")


def complaints(unit: str, folder: Path) -> str:
    """What systemd finds wrong with a user's unit."""
    path, environment = folder / "stallkit.service", {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    path.write_text(unit)
    command = ["systemd-analyze", "--user", "verify", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stderr or (f"status {done.returncode}" if done.returncode else "")


def test_systemd_takes_the_unit_of_the_page(tmp_path: Path, stallkit_command: str) -> None:
    [unit] = re.findall(r"^```ini\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    here = unit.replace("%h/venv/bin/stallkit", stallkit_command)
    assert complaints(here, tmp_path) == ""
    assert "is not executable" in complaints(unit, tmp_path)
    for right, wrong, said in (
        ("Type=notify", "Type=notfy", "Failed to parse service type"),
        ("WatchdogSec", "WatchDogSec", "Unknown key"),
    ):
        assert said in complaints(here.replace(right, wrong), tmp_path)
