#!/usr/bin/env python3
"""A hook for an agent: a tool call was denied, so ask the person who supervises this sandbox, without waiting.

It reads the event as JSON on standard input (``tool_name``, ``tool_input``, ``reason``, as of a hook PermissionDenied),
files one notice for each denied call, and prints how the reply is fetched later.  It stands beside `stuck.py`, which it
asks with, and never keeps its agent for more than a few seconds.  Exit code: 0, whatever happens.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

MOST = 4_000  # characters of a notice
WAIT_S = 3  # to file it; it is on the disk before anybody waits
STUCK = Path(__file__).resolve().parent / "stuck.py"


def words_of(event: dict[str, object]) -> str:
    """What was denied, and why."""
    given = event.get("tool_input")
    plain = given if isinstance(given, dict) else {}
    what = next((str(plain[name]) for name in ("command", "file_path", "url", "pattern") if name in plain), "")
    lines = [
        f"a tool call was denied: {event.get('tool_name')}",
        what or json.dumps(given),
        str(event.get("reason") or ""),
    ]
    return "\n".join(line for line in lines if line)[:MOST]


def main() -> int:
    """File it; the exit code."""
    try:
        event = json.load(sys.stdin)
        words = words_of(event)
    except (ValueError, AttributeError):
        return 0
    of = [event.get("session_id"), event.get("tool_use_id") or words]
    key = "denied-" + hashlib.sha256(json.dumps(of).encode()).hexdigest()[:32]
    command = [sys.executable, str(STUCK), "--no-wait", "--wait", str(WAIT_S), "--key", key, words]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=3 * WAIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    if done.returncode == 5 and b"cannot ask" not in done.stderr:
        print(f"a person was asked; this prints their reply, once they gave one: {STUCK} --key {key}")
    elif done.returncode in (0, 1):  # it was answered before
        print(done.stdout.decode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
