"""What was measured, kept in benchmarks/measured.json and shown in docs/reliability.md."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from measured import keep  # noqa: E402  # needs the line above


def dated(found: dict[str, Any]) -> dict[str, Any]:
    """What was found, with today's date and this machine."""
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=False).stdout.strip()
    python = platform.python_version()
    machine = f"{os.cpu_count()} cores {platform.machine()}, {platform.system()}, Python {python}, {tmux}"
    return {**found, "date": datetime.now(UTC).date().isoformat(), "machine": machine}


def report(found: dict[str, Any]) -> None:
    """Keep what a part found, and write the page anew."""
    keep(found)
    subprocess.run([sys.executable, BENCHMARKS / "docs.py", "measured"], stdout=subprocess.DEVNULL, check=True)
