"""GitHub Copilot's event log: ``session-state/ID/events.jsonl`` in its directory, since 1.0; undocumented.

The process holds ``inuse.PID.hold`` in the same directory open as long as it shows that session: that binds the log to
it.  A permission stands in the log from its request to its answer, with the command; a question also as the tool that
asks it.  The log knows of no menu, and of no dialog before the first turn.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import PurePath
from typing import Any, Iterator

from attrs import evolve

from stallkit.signals import Guard, Kind, Publisher, Signal, State, one_line, tail_of

_WORKS = (
    "user.message",
    "assistant.turn_start",
    "assistant.message",
    "tool.execution_start",
    "tool.execution_complete",
)
_RESTS = ("assistant.turn_end", "abort", "session.error", "session.start", "session.resume")
_ASKS = "ask_user"  # a tool
_FIELDS = {  # of a permission's request, by the names of `Verdict.request`
    "command": ("fullCommandText",),
    "path": ("fileName", "path"),
    "address": ("url",),
    "tool": ("toolName", "kind"),
}


class CopilotSession:
    """The signals of the Copilot command line."""

    name = "copilot"
    programs = frozenset({"copilot"})

    def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
        """What the log of the session says that the process has open, at `now` in seconds of the wall clock."""
        held = f"inuse.{publisher.own_pid}.hold"
        for path in publisher.open_files():
            file = PurePath(path)
            if file.name == held and file.parent.parent.name == "session-state":
                events = [_event(line) for line in tail_of(publisher.path(f"{file.parent}/events.jsonl"), publisher)]
                said = _signal([event for event in events if event], publisher, now)
                yield evolve(said, session=one_line(file.parent.name) or None, menus=False)
                return


def _signal(events: list[dict[str, Any]], publisher: Publisher, now: float) -> Signal:
    """What the events come to: a request that has no answer, or else what the last one of its own turns says."""
    open_requests: dict[str, dict[str, Any]] = {}
    last: dict[str, Any] = {}
    for event in events:
        kind, data = event["type"], event["data"]
        asks, _, what = kind.partition(".")
        if what == "requested":
            open_requests[f"{asks} {data.get('requestId')}"] = event
        elif what == "completed":
            open_requests.pop(f"{asks} {data.get('requestId')}", None)
        elif kind == "tool.execution_start" and data.get("toolName") == _ASKS:
            open_requests[f"tool {data.get('toolCallId')}"] = event
        elif kind == "tool.execution_complete":
            open_requests.pop(f"tool {data.get('toolCallId')}", None)
        if kind in (*_WORKS, *_RESTS) and "agentId" not in event:  # one of a subagent does not end its turn
            last = event
        if kind in ("abort", "session.start", "session.resume"):
            open_requests.clear()
    asked = next(reversed(open_requests.values()), None)
    if asked is not None:
        return _asking(asked, publisher, now)
    failed = last.get("type") == "session.error"
    ago = _ago(last, now)
    return Signal(
        source="copilot",
        state=(State.WORKING if last["type"] in _WORKS else State.IDLE) if last else None,  # of none it is unknown
        app="copilot",
        words=one_line(last["data"].get("message")) if failed else "",
        error=one_line(last["data"].get("errorType")) or "unknown" if failed else None,
        since_s=ago,
        age_s=ago,
        guard=Guard.PROCESS,
        pid=publisher.pid,
    )


def _asking(event: dict[str, Any], publisher: Publisher, now: float) -> Signal:
    data = event["data"]
    asked = data.get("permissionRequest")
    request = asked if isinstance(asked, dict) else data
    found = {name: _first(request, keys) for name, keys in _FIELDS.items()}
    if not asked:
        given = data.get("arguments")
        told = {**data, **given} if isinstance(given, dict) else data
        found = {"question": one_line(told.get("question") or told.get("message"))}
    ago = _ago(event, now)
    return Signal(
        source="copilot",
        state=State.WAITING,
        kind=Kind.PERMISSION if asked else Kind.QUESTION,
        app="copilot",
        words=next((text for text in found.values() if text), ""),
        fields={name: text for name, text in found.items() if text},
        since_s=ago,
        age_s=ago,
        guard=Guard.PROCESS,
        pid=publisher.pid,
    )


def _first(request: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if (text := one_line(request.get(key)))), "")


def _event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(event, dict) and isinstance(event.get("type"), str) and isinstance(event.get("data"), dict)
    return event if whole else None


def _ago(event: dict[str, Any], now: float) -> float | None:
    try:
        return max(0.0, now - datetime.fromisoformat(str(event.get("timestamp"))).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


SOURCE = CopilotSession()
