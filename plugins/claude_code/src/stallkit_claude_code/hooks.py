"""What Claude Code's hooks say, if stallkit started it with them: the words of a wait, and the class of a failure.

`settings_in` makes the files for one start, `hook_program` writes into them, `last_hook` reads.  No hook says that a
wait is over when a person refuses: screen, kernel and the session file end it.
"""

from __future__ import annotations

import json
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from attrs import field, frozen

from stallkit.signals import Kind, Publisher, one_line, tail_of, write_own
from stallkit_claude_code import hook_program

EVENTS = ("PermissionRequest", "Notification", "Stop", "StopFailure", "UserPromptSubmit", "PostToolUse")
TIMEOUT_S = 5  # after which Claude Code gives up on one
_FOLDERS, _SETTINGS, _SAID = "hooks", "settings.json", "said.jsonl"  # hooks/ID is the folder of a start
_NOTICES = ("permission_prompt", "elicitation_dialog")  # other notifications begin no wait


@frozen
class Hook:
    """The last event that counts."""

    at: float  # wall clock, seconds
    waits: bool  # a wait began; False: it goes on, or its turn ended
    kind: Kind | None = None
    words: str = ""
    fields: dict[str, str] = field(factory=dict)
    error: str | None = None


def settings_in(folder: Path) -> Path:
    """Make the files of one start in its folder, and return the settings that Claude Code is given.

    Raises OSError if they cannot be written.
    """
    write_own(folder / _SAID, "")
    run = shlex.join([sys.executable, "-I", "-S", str(Path(hook_program.__file__).resolve()), str(folder / _SAID)])
    hook = {"hooks": [{"type": "command", "command": run, "timeout": TIMEOUT_S}]}
    write_own(folder / _SETTINGS, json.dumps({"hooks": {event: [hook] for event in EVENTS}}))
    return folder / _SETTINGS


def last_hook(publisher: Publisher) -> Hook | None:
    """What the hooks of this process said last; None without hooks, or if the last one says nothing of a wait."""
    file = _said_by(publisher)
    if file is None:
        return None
    own = [publisher.own_pid, publisher.started]
    events = [event for event in map(_event, tail_of(file, publisher)) if event and own in event["above"]]
    return _joined(list(events))


def _joined(events: list[dict[str, Any]]) -> Hook | None:
    """The events in words: requests that stand open count until one of them, or the whole turn, goes on."""
    asked: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for event in events:
        name = event.get("event")
        if name == "PermissionRequest":
            asked.append(event)
        elif name == "PostToolUse":
            asked = [one for one in asked if one.get("fields") != event.get("fields")]
        elif name == "Notification":
            if event.get("type") not in _NOTICES:
                continue
        else:
            asked = []
        last = event
    if not last:
        return None
    if asked or last.get("event") == "Notification":
        one = asked[0] if len(asked) == 1 else {}  # of several, it is unknown which one the screen shows
        fields = _fields(one)
        words = next(iter(fields.values()), "") or one_line((asked or [last])[-1].get("words"))
        kind = Kind.QUESTION if fields.get("question") or last.get("type") == _NOTICES[1] else Kind.PERMISSION
        return Hook(float((asked or [last])[-1]["at"]), True, kind, words, fields)
    error = one_line(last.get("error")) or None if last.get("event") == "StopFailure" else None
    ended = last.get("event") in ("Stop", "StopFailure")
    return Hook(float(last["at"]), False, words=one_line(last.get("words")) if ended else "", error=error)


def _fields(event: dict[str, Any]) -> dict[str, str]:
    fields = event.get("fields")
    return (
        {name: text for name, value in fields.items() if (text := one_line(value))} if isinstance(fields, dict) else {}
    )


def _said_by(publisher: Publisher) -> Path | None:
    """The file of the hooks that the process was started with; in the folder of a start."""
    words = publisher.words
    named = next((after for word, after in pairwise(words) if word == "--settings"), "")
    path = Path(named)
    return path.parent / _SAID if path.name == _SETTINGS and path.parent.parent.name == _FOLDERS else None


def _event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(event, dict) and isinstance(event.get("above"), list)
    return event if whole and isinstance(event.get("at"), int | float) else None
