"""Detections and verdicts as plain values for JSON.  Pure; `core.restored` is the way back.

The plain form names a signature and quotes its line: the signature itself and, of a verdict, the screen stay behind.
So one that was read back has no `match` but `told`, and no policy presses at it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Mapping

from stallkit.core.values import by_name, field, frozen

if TYPE_CHECKING:  # the events of sessions that stallkit starts need no verdict
    from stallkit.core.engine import Detection, Match
    from stallkit.core.reading import Option
    from stallkit.core.screen import Screen
    from stallkit.core.signal import Signal
    from stallkit.core.signature import Severity
    from stallkit.core.verdict import Verdict

__all__ = ["VERSION", "Told", "describe", "detection_object", "told"]

VERSION = 1


@frozen
class Told:
    """What a detection says of the prompt, by names and texts: what JSON has of it."""

    signature: str | None = None
    pack: str | None = None
    severity: Severity | None = None
    line: str | None = None
    request: Mapping[str, str] | None = field(default=None, hash=False)
    options: tuple[Option, ...] = ()
    ambiguity: str | None = None
    undecided: tuple[str, ...] = ()  # of a detection alone, as the two below: names of signatures
    vetoed: tuple[str, ...] = ()
    left: str | None = None


def told(found: Detection) -> Told:
    """What a detection says; of one that was read back, what it said."""
    if found.told is not None:
        return found.told
    match = found.match
    if match is None:
        return Told()
    request = found.request
    return Told(
        signature=match.signature.id,
        pack=match.pack.name,
        severity=match.signature.severity,
        line=match.line,
        request=dict(request.fields) if request else None,
        options=request.options if request else (),
        ambiguity=found.ambiguity,
    )


def describe(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values: state, certainty, kind, which signature of which pack on which line, and what it asks.

    Not redacted yet: whoever writes or prints them does that.
    """
    prompt = _prompt(told(verdict.detection))
    hung, turn = verdict.hung, verdict.ended_turn
    return {
        "state": str(verdict.state),
        "certainty": str(verdict.certainty),
        "by_signal": verdict.by_signal,
        "by_read": verdict.by_read,
        "kind": str(verdict.kind) if verdict.kind else None,
        **prompt,
        "reasons": list(verdict.reasons),
        "agents": None if verdict.agents is None else sorted(verdict.agents),
        "ended": str(verdict.ended) if verdict.ended else None,
        "retrying": verdict.retrying,
        "ended_turn": by_name(turn) if turn else None,
        "asks_inside": verdict.inside,
        "hung": {"since_s": round(hung.since_s, 1), "evidence": list(hung.evidence)} if hung else None,
        "signals": [_signal(one) for one in verdict.signals],
    }


def detection_object(found: Detection) -> dict[str, Any]:
    """A detection as plain values, with its screen; not redacted yet."""
    said = told(found)
    return {
        **_prompt(said),
        "undecided": list(said.undecided) or [rule.name for rule, _ in found.undecided],
        "vetoed": list(said.vetoed) or [veto.rule.name for veto in found.vetoed],
        "not_asked": sorted(found.not_asked),
        "left": said.left or (_name(found.left) if found.left else None),
        "agents": sorted(found.agents),
        "screen": _screen(found.screen),
    }


def _prompt(said: Told) -> dict[str, Any]:
    return {
        "signature": said.signature,
        "pack": said.pack,
        "severity": str(said.severity) if said.severity else None,
        "line": said.line,
        "request": dict(said.request) if said.request is not None else None,
        "options": [{"text": one.text, "selected": one.selected, "is": one.role} for one in said.options],
        "ambiguity": said.ambiguity,
    }


def _screen(screen: Screen) -> dict[str, Any]:
    cursor, size = screen.cursor, screen.size
    return {
        "text": "\n".join(screen.lines),
        "cursor": [cursor.column, cursor.row] if cursor else None,
        "cursor_visible": cursor.visible if cursor else None,
        "size": [size.columns, size.rows] if size else None,
        "alternate": screen.alternate,
        "title": screen.title,
    }


def _name(match: Match) -> str:
    return f"{match.pack.name}:{match.signature.id}"


def _signal(said: Signal) -> dict[str, Any]:
    values = {name: str(value) if isinstance(value, Enum) else value for name, value in by_name(said).items()}
    return {**values, "counts": said.counts}
