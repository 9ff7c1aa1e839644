"""The result of a check, and the facts that led to it, as people and programs read them."""

from __future__ import annotations

import json

from stallkit.detect.agent import Vocabulary
from stallkit.evidence.ended_turn import TurnOutcome
from stallkit.evidence.osc import claims
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import dump
from stallkit.press.check import CheckResult
from stallkit.press.decisions import Decision, Escalate, Wait
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped

__all__ = ["arguments", "as_lines", "printed"]

_SHELL = {
    "prompt": ("the shell draws its prompt", "ended"),
    "typing": ("the shell awaits a command", "ended"),
    "running": ("the shell runs a command", "that the program is still there"),
}


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
    if verdict.ended_turn is not None and verdict.ended_turn.how is not TurnOutcome.DONE:
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


def arguments(snapshot: Snapshot, words: Vocabulary) -> list[tuple[str, str]]:
    """Each fact other than the screen, in words, and what it argues for; unknown facts are listed as unknown."""
    kernel, tty, marks = snapshot.kernel, snapshot.tty, snapshot.marks
    facts = [(f"in the foreground: {snapshot.foreground or 'unknown'}", "whose prompt it can be")]
    if snapshot.quiet_s is None:
        facts.append(("quiet: unknown", "nothing"))
    else:
        rests = f"quiet for {snapshot.quiet_s:.1f} s" if snapshot.quiet_s else "the screen is changing"
        facts.append((rests, "waiting, or silent work" if snapshot.quiet_s else "working"))
    if kernel is None or kernel.listening is None:
        facts.append(("reads the terminal: unknown", "nothing"))
    elif kernel.listening:
        who = ", ".join(dict.fromkeys(f"{one.called or one.name} " for one in kernel.readers or ()))
        facts.append((f"reads the terminal: yes, {who}in {kernel.how} ({kernel.looked_at} threads seen)", "waiting"))
    else:
        facts.append((f"reads the terminal: no ({kernel.looked_at} threads seen)", "working; a prompt is only printed"))
    if kernel is not None and kernel.output:
        facts.append((f"its output goes to {kernel.output}", "a prompt that nobody sees"))
    if kernel is not None and kernel.relay:
        facts.append((f"relay: {kernel.relay}", "it shows another terminal, which cannot be seen from here"))
    if kernel is not None and kernel.through:
        facts.append((f"behind {kernel.through}", "all of this is about its inner terminal"))
    if tty is None or tty.echo is None:
        facts.append(("echo and canonical mode: unknown", "nothing"))
    else:
        modes = f"echo {'on' if tty.echo else 'off'}, canonical mode {'on' if tty.canonical else 'off'}"
        secret = tty.canonical and not tty.echo
        facts.append((modes, "a secret, if it reads" if secret else "lines" if tty.canonical else "single keys"))
    if marks is not None and marks.shell is not None:
        doing, argues_for = _SHELL[marks.shell]
        facts.append((f"{doing} (OSC 133)", argues_for))
    if marks is not None and marks.progress is not None:
        facts.append((f"{marks.progress} (OSC 9;4)", "working" if marks.progress.shows_work else "nothing"))
    signals = (*snapshot.signals, *claims(snapshot, words))
    for signal in signals:
        stale = f"; stale: {signal.stale}" if signal.stale else ""
        facts.append((signal.told + stale, str(signal.state) if signal.counts else "nothing"))
    return facts if signals else [*facts, ("signals: none", "nothing")]
