"""A verdict as a report of OSC 7501, for a program that says nothing of itself.  Pure.

Such a report has ``by=stallkit``, which the protocol lets others ignore.  Only what is sure is said to be blocked:
where a program may wait, it is said to be idle, with a message.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from stallkit.detect.signature import NEVER_ANSWERED, Certainty, Kind, State
from stallkit.judging.verdict import Verdict
from stallkit.redact.redact import redact
from stallkit.terminal.marks import JUDGE, StatusKind, StatusState, plain

__all__ = ["judgement", "pairs"]

MAX_APP, MAX_MESSAGE = 32, 300  # characters

_STATE = {
    State.WORKING: StatusState.WORKING,
    State.IDLE: StatusState.IDLE,
    State.ENDED: StatusState.IDLE,  # a shell at its prompt
    State.QUOTA: StatusState.ERROR,
}
_KIND = {
    Kind.PERMISSION: StatusKind.PERMISSION,
    Kind.TRUST: StatusKind.PERMISSION,
    Kind.SECRET: StatusKind.AUTH,
    Kind.LOGIN: StatusKind.AUTH,
}
_AT_REST = (Kind.REPL_PROMPT, Kind.TUI)  # they wait for commands, as a shell does
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.+-]")


def judgement(verdict: Verdict, foreground: str | None) -> dict[str, Any]:
    """The verdict as plain values, for who asks the relay, with the report for the terminal outside."""
    return {
        "state": str(verdict.state),
        "certainty": str(verdict.certainty),
        "kind": str(verdict.kind) if verdict.kind else None,
        "foreground": foreground,
        "reasons": [redact(reason) for reason in verdict.reasons],
        "pairs": pairs(verdict, foreground),
    }


def pairs(verdict: Verdict, foreground: str | None) -> str | None:
    """The report as the protocol writes it; None where nothing can be said."""
    sure, waits = verdict.certainty is Certainty.SURE, verdict.state is State.WAITING
    rests = waits and verdict.kind in _AT_REST
    state = StatusState.IDLE if rests else StatusState.BLOCKED if waits and sure else _STATE.get(verdict.state)
    told = [f"state={StatusState.IDLE if waits and state is None else state}"]
    if state is None and not waits:
        return None
    if state is StatusState.BLOCKED:
        told.append(f"kind={_KIND.get(verdict.kind or Kind.QUESTION, StatusKind.QUESTION)}")
    if app := _NOT_IN_NAMES.sub("", foreground or "")[:MAX_APP]:
        told.append(f"app={app}")
    if message := _message(verdict, state):
        told.append(f"msg={base64.b64encode(message.encode()).decode()}")
    return ":".join([*told, f"by={JUDGE}"] if sure else [*told, f"by={JUDGE}", "certainty=maybe"])


def _message(verdict: Verdict, state: StatusState | None) -> str | None:
    if verdict.state is State.WAITING and state is None:
        return "it may be waiting for input"
    if verdict.kind in NEVER_ANSWERED:
        return f"it asks for a {verdict.kind}"
    if state in (StatusState.BLOCKED, StatusState.ERROR) and verdict.match is not None:
        return plain(redact(verdict.match.line.strip()))[:MAX_MESSAGE]
    return None
