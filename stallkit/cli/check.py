"""``stallkit check``: is this session stalled, and may the prompt be dismissed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stallkit.cli.common import engine, log_option, print_json, reach, session_options, shown
from stallkit.cli.exits import exit_of
from stallkit.config import event_log
from stallkit.press.check import CheckResult, check_session
from stallkit.press.events import EventLog, describe
from stallkit.press.gate import Outcome
from stallkit.press.policy import CAREFUL, Escalate

__all__ = ["as_lines", "as_object", "command"]

_FIELDS = ("state", "certainty", "kind", "severity", "signature", "pack", "line", "reasons")


@click.command("check")
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.option("--dismiss", "dismisses", is_flag=True, help="Press the keys of a sure prompt of low severity, once.")
@click.option(
    "--watch-for", "watch_s", type=click.FloatRange(min=0), default=0.0, metavar="S",
    help="Look for up to S seconds, until it surely waits, rests or ended; two looks at least.",
)  # fmt: skip
@log_option
@session_options
@click.pass_context
def command(
    ctx: click.Context,
    target: str,
    as_json: bool,
    dismisses: bool,
    watch_s: float,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Look at a session, twice at least, and say whether it waits for a key.

    TARGET is tmux:NAME, tmux:%PANE, file:PATH, or - for text on standard input.  Without --dismiss nothing is pressed.

    \b
    Exit codes: 0 not stalled, or dismissed; 1 could not look; 2 stalled; 3 may be waiting, or unknown; 4 ended or gone.
    Example:    stallkit check tmux:worker1 --json
    """
    transport = reach(target, socket_name, socket_path, listen=watch_s > 0)
    try:
        result = check_session(
            transport, engine(), CAREFUL if dismisses else None, EventLog(event_log(log)), watch_s=watch_s
        )
    finally:
        transport.close()
    if as_json:
        print_json(as_object(result))
    else:
        for line in as_lines(result):
            click.echo(shown(line))
    if result.unlogged is not None:
        click.echo(f"stallkit: {shown(str(result.unlogged))}", err=True)
    ctx.exit(exit_of(result.status))


def as_object(result: CheckResult) -> dict[str, Any]:
    """The result as ``--json`` prints it."""
    facts = describe(result.verdict)
    outcome = result.outcome
    return {
        "version": 1,
        "target": result.target,
        "status": str(result.status),
        **{name: facts[name] for name in _FIELDS},
        "resets_at": None if result.resets_at is None else result.resets_at.isoformat(),
        "outcome": None if outcome is None else _outcome(outcome),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    keys = str(outcome.keys) if outcome.pressed else None
    return {"end": str(outcome.end), "keys": keys, "why": outcome.why}


def as_lines(result: CheckResult) -> list[str]:
    """The result for a person: one line that says it, then why, then what was done."""
    verdict = result.verdict
    asked = f", asks for {verdict.kind}" if verdict.kind else ""
    found = "" if result.outcome is None else "found "
    lines = [f"{result.target}: {result.status} ({found}{verdict.state}{asked}, {verdict.certainty})"]
    lines += [f"  because {reason}" for reason in verdict.reasons]
    if result.resets_at is not None:
        lines.append(f"  the limit is free again at {result.resets_at:%Y-%m-%d %H:%M %Z}")
    if result.outcome is not None:
        pressed = f"pressed {result.outcome.keys}" if result.outcome.pressed else "nothing pressed"
        lines.append(f"  {pressed}: {result.outcome.end}, {result.outcome.why}")
    elif isinstance(result.decision, Escalate):
        lines.append(f"  nothing pressed: {result.decision.why}")
    return lines
