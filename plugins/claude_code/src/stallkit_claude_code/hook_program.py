"""The program that Claude Code runs at its hooks: appends one line about the event to a file, says and decides nothing.

It runs as ``python -I -S hook_program.py FILE`` and imports nothing of stallkit, to be quick.  Whatever happens, a full
disk too, it exits with 0 and prints nothing: so no decision of the agent changes.
"""

import json
import os
import sys
import time

INPUT = 4_000_000  # bytes of an event that are read
TEXT = 500  # characters that are kept of each text
FILE = 64_000  # bytes, above which the file begins anew
ANCESTORS = 4  # the shell that runs this program, the agent above it

FIELDS = {  # of a tool's input, by the names of `Verdict.request`
    "command": ("command",),
    "path": ("file_path", "notebook_path", "path"),
    "address": ("url",),
}


def main(file: str) -> None:
    """Read the event, write its line.  Raises whatever may happen to it."""
    said = sys.stdin.buffer.read()  # all of it, so that whoever writes it is not held up
    event = json.loads(said) if len(said) < INPUT else {}
    line = json.dumps({"at": time.time(), "above": ancestors(os.getppid()), **told(event)}) + "\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(file, flags, 0o600)
    if os.fstat(handle).st_size > FILE:
        os.ftruncate(handle, 0)
    os.write(handle, line.encode())


def told(event: dict) -> dict:  # type: ignore[type-arg]  # without typing, which takes 10 ms to import
    """What is kept of an event: its name, its texts cut, of a tool's input only what a person is asked about."""
    given = event.get("tool_input")
    given = given if isinstance(given, dict) else {}
    found = {name: next((given[key] for key in keys if key in given), None) for name, keys in FIELDS.items()}
    asked = given.get("questions")
    first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], dict) else {}
    found |= {"question": first.get("question"), "tool": event.get("tool_name")}
    kept = {
        "event": event.get("hook_event_name"),
        "type": event.get("notification_type"),
        "error": event.get("error"),
        "words": event.get("message") or event.get("last_assistant_message") or event.get("error_details"),
        "fields": {name: text[:TEXT] for name, text in found.items() if isinstance(text, str)},
    }
    return {name: text[:TEXT] if isinstance(text, str) else text for name, text in kept.items() if text}


def ancestors(pid: int) -> list:  # type: ignore[type-arg]
    """Number and start time of this process and those above it."""
    found: list = []  # type: ignore[type-arg]
    while pid > 1 and len(found) < ANCESTORS:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            values = file.read().rpartition(")")[2].split()
        found.append([pid, int(values[19])])
        pid = int(values[1])
    return found


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    finally:
        os._exit(0)
