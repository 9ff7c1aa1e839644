"""The programs that runs are tried with, and what is left of them."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

from stallkit.press.events import Event

PYTHON = sys.executable
ASK = ["bash", "-c", "read -p 'Proceed? [y/N] ' x; echo \"you said [$x]\""]
SLEEP = ["sleep", "1000"]


def alive(pid: int) -> bool:
    """Whether there is such a process, other than one that ended and was not waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def held() -> tuple[int, int]:
    """Threads of runs, not those of sinks and other tests, and descriptors of this process."""
    runs = [thread for thread in threading.enumerate() if re.fullmatch("stallkit r[0-9a-f]{6}", thread.name)]
    return len(runs), sum(1 for _ in Path("/proc/self/fd").iterdir())


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events]
