"""``stallkit explain``: what every signature made of a screen, clause by clause."""

from __future__ import annotations

from typing import Any

import click

from stallkit.cli.common import engine, print_json, reach, session_options, shown
from stallkit.core.engine import Fate, Report
from stallkit.core.evidence import arguments
from stallkit.core.matcher import Found
from stallkit.core.signature import Clause
from stallkit.press.check import observe
from stallkit.press.events import describe

__all__ = ["command"]

_MARK = {True: "held", False: "not", None: "undecided"}


@click.command("explain")
@click.argument("target", metavar="TARGET|FILE|-")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def command(target: str, as_json: bool, socket_name: str | None, socket_path: str | None) -> None:
    """Say of each fact what it argues for, and of every signature which clause held, where, and which did not.

    TARGET is a session as for check; FILE is a saved screen, - is text on standard input.

    \b
    Example:  stallkit explain tmux:worker1
              tmux capture-pane -p | stallkit explain -
    """
    transport = reach(target, socket_name, socket_path, or_path=True)
    made = engine()
    try:
        verdict, snapshot = observe(transport, made)
    finally:
        transport.close()
    reports = made.explain(snapshot.screen)
    if as_json:
        signatures = [_as_object(report) for report in reports]
        facts = [{"fact": fact, "argues_for": side} for fact, side in arguments(snapshot)]
        told = {"version": 1, "target": snapshot.target, **describe(verdict)}
        print_json({**told, "facts": facts, "signatures": signatures})
        return
    prompt = snapshot.screen.prompt_line
    click.echo(f"verdict: {verdict.state}, {verdict.certainty}")
    for reason in verdict.reasons:
        click.echo(shown(f"  because {reason}"))
    for fact, side in arguments(snapshot):
        click.echo(shown(f"fact: {fact}; argues for {side}"))
    click.echo(shown(f"prompt line (row {prompt.row}): {prompt.text!r}"))
    for number, report in enumerate(reports, 1):
        for line in _as_lines(number, report):
            click.echo(shown(line))


def _as_lines(number: int, report: Report) -> list[str]:
    """One line for a signature of which nothing is on the screen, else one more for each clause."""
    tier = report.rule.signature.tier.name.lower()
    head = f"{number:4} {tier:11} {report.rule.name}: {report.fate}"
    if not report.cursor_fits:
        return [f"{head} (the cursor is not {report.rule.signature.cursor})"]
    failed = [clause for role, clause, found in report.clauses if role == "all_of" and found.held is False]
    some = any(found.held is not False for role, _, found in report.clauses if role == "all_of")
    if report.fate is Fate.NO and failed and not some:
        return [f"{head} (no {failed[0]})"]
    return [head, *(f"       {_clause_line(*clause)}" for clause in report.clauses)]


def _clause_line(role: str, clause: Clause, found: Found) -> str:
    where = f", row {found.span.line} column {found.span.start}: {found.span.text!r}" if found.span else ""
    return f"{role} {_MARK[found.held]}: {clause}{where}"


def _as_object(report: Report) -> dict[str, Any]:
    return {
        "signature": report.rule.name,
        "tier": report.rule.signature.tier.name.lower(),
        "fate": str(report.fate),
        "cursor_fits": report.cursor_fits,
        "clauses": [
            {
                "role": role,
                "clause": str(clause),
                "held": found.held,
                "row": found.span.line if found.span else None,
                "start": found.span.start if found.span else None,
                "text": found.span.text if found.span else None,
            }
            for role, clause, found in report.clauses
        ],
    }
