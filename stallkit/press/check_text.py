"""The result of a check as people and programs read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stallkit.core.ended_turn import How
from stallkit.core.plain import describe
from stallkit.core.redact import redact
from stallkit.core.text import escaped
from stallkit.core.values import by_name
from stallkit.press.check import CheckResult

if TYPE_CHECKING:
    from stallkit.core.verdict import Snapshot
    from stallkit.press.decisions import Decision
    from stallkit.press.gate import Outcome
    from stallkit.signals.tool_call import AskedInside

__all__ = ["as_lines", "as_object", "asked_inside", "printed"]


def printed(result: CheckResult, as_json: bool) -> list[str]:
    """The lines that `check` prints, redacted and safe to show in a terminal."""
    if as_json:
        import json

        return [json.dumps(result.to_dict(), ensure_ascii=True)]
    return as_lines(result)


def as_object(result: CheckResult) -> dict[str, Any]:
    """The result as ``--json`` prints it."""
    outcome = result.outcome
    return {
        "version": 1,
        "target": result.target,
        "status": str(result.status),
        **describe(result.verdict),
        "resets_at": None if result.resets_at is None else result.resets_at.isoformat(),
        "outcome": None if outcome is None else _outcome(outcome),
        "inside": [by_name(one) for one in _inside(result)],
    }


def _inside(result: CheckResult) -> tuple[AskedInside, ...]:
    return asked_inside(result.snapshot) if result.inside is None else result.inside


def _outcome(outcome: Outcome) -> dict[str, Any]:
    keys = str(outcome.keys) if outcome.pressed else None
    return {"end": str(outcome.end), "keys": keys, "why": outcome.why}


def as_lines(result: CheckResult) -> list[str]:
    """The result for a person: one line with the status, then the reasons, then what was done.

    Redacted by parts, and safe to show in a terminal.
    """
    verdict = result.verdict
    asked = f", asks for {verdict.kind}" if verdict.kind else ""
    found = "" if result.outcome is None else "found "
    lines = [(result.target, f": {result.status} ({found}{verdict.state}{asked}, {verdict.certainty})")]
    lines += [("  because ", reason) for reason in verdict.reasons]
    if verdict.ended_turn is not None and verdict.ended_turn.how is not How.DONE:
        error = f" ({verdict.ended_turn.error})" if verdict.ended_turn.error else ""
        lines.append((f"  {verdict.ended_turn.how}{error}: ", verdict.ended_turn.message))
    if verdict.hung is not None:
        lines += [("  hung: ", one) for one in verdict.hung.evidence]
    lines += [("  ", str(one)) for one in _inside(result)]
    if result.resets_at is not None:
        lines.append(("", f"  the limit is free again at {result.resets_at:%Y-%m-%d %H:%M %Z}"))
    if result.outcome is not None:
        pressed = f"pressed {result.outcome.keys}" if result.outcome.pressed else "nothing pressed"
        lines.append((f"  {pressed}: {result.outcome.end}, ", result.outcome.why))
    elif result.decision is not None and (why := _left_to_a_person(result.decision)):
        lines.append(("  nothing pressed: ", why))
    return [escaped(redact(head) + redact(said)) for head, said in lines]


def asked_inside(snapshot: Snapshot) -> tuple[AskedInside, ...]:
    """As `signals.tool_call`; () for a saved screen, without looking."""
    if snapshot.kernel is None:  # a saved screen
        return ()
    from stallkit.signals import tool_call

    return tool_call.asked_inside(snapshot)


def _left_to_a_person(decision: Decision) -> str | None:
    from stallkit.press.decisions import Escalate, Wait

    return decision.why if isinstance(decision, Escalate | Wait) else None
