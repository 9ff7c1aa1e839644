"""``stallkit check`` and ``explain``: is this session stalled, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict

from stallkit.cli.common import engine, log_option, print_json, reach, session_options, shown
from stallkit.cli.exits import exit_of
from stallkit.config import event_log
from stallkit.core.engine import Fate, Report
from stallkit.core.hung import HUNG_AFTER_S
from stallkit.core.matcher import Found
from stallkit.core.plain import describe
from stallkit.core.reading import Reading
from stallkit.core.signature import Clause
from stallkit.press.check import check_session, observe
from stallkit.press.check_text import asked_inside, printed
from stallkit.press.events import EventLog

if TYPE_CHECKING:
    from stallkit.press.policy import Policy

__all__ = ["check_command", "explain_command"]


@click.command("check")
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.option("--dismiss", "dismisses", is_flag=True, help="Press the keys of a sure prompt of low severity, once.")
@click.option(
    "--watch-for", "watch_s", type=click.FloatRange(min=0), default=0.0, metavar="S",
    help="Look for up to S seconds, until it surely waits, rests or ended; two looks at least.",
)  # fmt: skip
@click.option(
    "--hung-after", "hung_after_s", type=click.FloatRange(min=0, min_open=True), default=HUNG_AFTER_S, metavar="S",
    help="Say of a session at work in which nothing has happened for S seconds that it is hung (180).",
)  # fmt: skip
@click.option("--idle-ok", is_flag=True, help="Exit with 0 where an agent at its composer asks something, or failed.")
@log_option
@session_options
@click.pass_context
def check_command(
    ctx: click.Context,
    target: str,
    as_json: bool,
    dismisses: bool,
    watch_s: float,
    hung_after_s: float,
    idle_ok: bool,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Look at a session, twice at least, and say whether it waits for a key.

    TARGET is tmux:NAME, tmux:%PANE, file:PATH, or - for text on standard input.  Without --dismiss nothing is pressed.

    \b
    Exit codes: 0 not stalled, or dismissed; 1 could not look; 2 stalled, or an idle agent that asks or failed;
                3 may be waiting, hung, or unknown; 4 ended or gone.
    Example:    stallkit check tmux:worker1 --json
    """
    transport = reach(target, socket_name, socket_path, listen=watch_s > 0)
    try:
        policy, written = _careful() if dismisses else None, EventLog(event_log(log))
        result = check_session(
            transport, engine(), policy, written, watch_s=watch_s, hung_after_s=hung_after_s, prove=True
        )
    finally:
        transport.close()
    for line in printed(result, as_json):
        click.echo(line)
    if result.unlogged is not None:
        click.echo(f"stallkit: {shown(str(result.unlogged))}", err=True)
    ctx.exit(exit_of(result.status, idle_ok))


def _careful() -> Policy:
    from stallkit.press.policy import CAREFUL  # late: most checks press nothing

    return CAREFUL


_MARK = {True: "held", False: "not", None: "undecided"}


@click.command("explain")
@click.argument("target", metavar="TARGET|FILE|-")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def explain_command(target: str, as_json: bool, socket_name: str | None, socket_path: str | None) -> None:
    """Show what each fact argues for, and which clauses of every signature held, where, and which did not.

    TARGET is a session as for check; FILE is a saved screen, - is text on standard input.

    \b
    Example:  stallkit explain tmux:worker1
              tmux capture-pane -p | stallkit explain -
    """
    from stallkit.core.evidence import arguments

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
        described = {"version": 1, "target": snapshot.target, **describe(verdict)}
        read = _reading_object(verdict.detection.reading)
        inside = [asdict(one) for one in asked_inside(snapshot)]
        print_json({**described, "facts": facts, "inside": inside, "dialog": read, "signatures": signatures})
        return
    for one in asked_inside(snapshot):
        click.echo(shown(f"inside: {one}"))
    prompt = snapshot.screen.prompt_line
    click.echo(f"verdict: {verdict.state}, {verdict.certainty}")
    for reason in verdict.reasons:
        click.echo(shown(f"  because {reason}"))
    for fact, side in arguments(snapshot):
        click.echo(shown(f"fact: {fact}; argues for {side}"))
    click.echo(shown(f"prompt line (row {prompt.row}): {prompt.text!r}"))
    for line in _reading_lines(verdict.detection.reading):
        click.echo(shown(line))
    for number, report in enumerate(reports, 1):
        for line in _as_lines(number, report):
            click.echo(shown(line))


def _reading_lines(reading: Reading | None) -> list[str]:
    """The dialog row by row: what each was recognised as, or that it is left over."""
    if reading is None:
        return []
    whole = "wholly recognised" if reading.whole else f"not wholly recognised: {reading.doubt}"
    known = ((row, f"is {row.as_what!r}" if row.as_what else "is left over") for row in reading.rows)
    rows = [f"  row {row.row}: {row.text!r} {what}" for row, what in known]
    return [f"dialog: {whole}", *rows, *(f"  {name}: {value!r}" for name, value in reading.fields.items())]


def _reading_object(reading: Reading | None) -> dict[str, Any] | None:
    if reading is None:
        return None
    rows = [{"row": row.row, "text": row.text, "as": row.as_what or None} for row in reading.rows]
    return {"whole": reading.whole, "doubt": reading.doubt or None, "fields": dict(reading.fields), "rows": rows}


def _as_lines(number: int, report: Report) -> list[str]:
    """One line for a signature with nothing on the screen, else one more for each clause."""
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
