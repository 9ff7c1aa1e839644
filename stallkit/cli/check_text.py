"""The result of a check as people and programs read it."""

from __future__ import annotations

import json

from stallkit.evidence.ended_turn import How
from stallkit.jsonio import dump
from stallkit.press.check import CheckResult
from stallkit.press.decisions import Decision, Escalate, Wait
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped

__all__ = ["as_lines", "printed"]


def printed(result: CheckResult, as_json: bool) -> list[str]:
    """The lines that `check` prints, redacted and safe to show in a terminal."""
    if as_json:
        return [json.dumps(dump(result))]
    return as_lines(result)


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
    lines += [("  ", str(one)) for one in result.inside]
    if result.resets_at is not None:
        lines.append(("", f"  the limit is free again at {result.resets_at:%Y-%m-%d %H:%M %Z}"))
    if result.outcome is not None:
        pressed = f"pressed {result.outcome.keys}" if result.outcome.pressed else "nothing pressed"
        lines.append((f"  {pressed}: {result.outcome.end}, ", result.outcome.why))
    elif result.decision is not None and (why := _left_to_a_person(result.decision)):
        lines.append(("  nothing pressed: ", why))
    return [escaped(redact(head) + redact(said)) for head, said in lines]


def _left_to_a_person(decision: Decision) -> str | None:
    return decision.why if isinstance(decision, Escalate | Wait) else None
