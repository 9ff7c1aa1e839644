"""``stallkit sandbox audit``: what persons changed at proxies, manifests and gates, and whether all is still there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from stallkit.cli.common import print_json
from stallkit.cli.output import Exit, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import audit_dir
from stallkit_operator.audit import AuditLog, Report

_LOGS = click.argument("logs", nargs=-1, metavar="[LOG]...")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sandboxes.md).")
_FIRST = ("time", "event", "sandbox", "by", "why", "item", "reply")  # in a row, in this order
_OWN = ("version", "n", "previous", "torn", "diff")


@click.group("audit", short_help="Show what persons changed, and prove that all of it is there.", cls=VerbGroup)
def audit_command() -> None:
    """Show what people changed at proxies, manifests and gates, and check that no line is altered or missing.

    A LOG is a file, or the name of one in the audit directory: cred-proxy-web, pipelock-web, manifests, waivers.
    Without LOG: all of them.

    \b
    Example:    stallkit sandbox audit verify
    """


@audit_command.command("verify")
@_LOGS
@click.option("--noted", metavar="LINE:HASH", help="Check that this line, which you noted before, is still in the log.")
@_JSON
@click.pass_context
def verify_command(ctx: click.Context, logs: tuple[str, ...], noted: str | None, as_json: bool) -> None:
    """Find lines that were altered, removed or cut off.

    It prints LINE:HASH of each log's last line.  Note it elsewhere: given with --noted later, it also finds a log that
    was rewritten as a whole.

    \b
    Exit codes: 0 all are whole; 1 one cannot be read; 7 findings; 64 there is no such log.
    Example:    stallkit sandbox audit verify cred-proxy-web
    """
    known = _noted(noted)
    paths = _paths(logs)
    if known is not None and len(paths) != 1:
        raise click.UsageError("--noted is a line of one log: name that log")
    reports = [AuditLog(path).verify(known) for path in paths]
    if as_json:
        print_json({"version": 1, "logs": [_object(report) for report in reports]})
    else:
        for report in reports:
            _tell(report)
        if not reports:
            click.echo("nothing was audited yet")
    ctx.exit(Exit.FINDINGS if any(report.findings for report in reports) else Exit.OK)


@audit_command.command("show")
@_LOGS
@click.option(
    "-n", "--last", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most."
)
@click.option("--no-diff", is_flag=True, help="Print one row for each event.")
@_JSON
def show_command(logs: tuple[str, ...], count: int, no_diff: bool, as_json: bool) -> None:
    """Show the latest events, the newest last.

    \b
    Exit codes: 0 shown; 1 one cannot be read; 64 there is no such log.
    Example:    stallkit sandbox audit show cred-proxy-web -n 3
    """
    reports = [AuditLog(path).verify() for path in _paths(logs)]
    events = [(report.path.stem, event) for report in reports for event in report.events]
    events = sorted(events, key=lambda one: str(one[1].get("time")))[-count:]
    if as_json:
        print_json({"version": 1, "events": [{"log": log, **event} for log, event in events]})
    else:
        before: dict[str, str] = {}
        for log, event in events:
            click.echo(_row(log, event))
            diff = str(event.get("diff") or "")
            for line in diff.splitlines() if not no_diff and diff != before.get(log) else ():  # once for an edit
                click.echo(f"    {shown(line)}")
            before[log] = diff
        if not events:
            click.echo("nothing was audited yet")
    for report in reports:
        if report.findings:
            click.echo(f"stallkit: {shown(report.path.name)} is not whole: stallkit sandbox audit verify", err=True)


def _paths(names: tuple[str, ...]) -> list[Path]:
    """The logs of these names; all where there are none, also one of which only the head is left."""
    if names:
        return [Path(name) if "/" in name else audit_dir() / f"{name.removesuffix('.log')}.log" for name in names]
    heads = {path.with_suffix("") for path in audit_dir().glob("*.log.head")}
    return sorted({*audit_dir().glob("*.log"), *heads})


def _noted(given: str | None) -> tuple[int, str] | None:
    if given is None:
        return None
    found = re.fullmatch(r"(\d{1,9}):([0-9a-f]{64})", given)
    if found is None:
        raise click.UsageError("--noted is LINE:HASH, as `stallkit sandbox audit verify` prints it")
    return int(found[1]), found[2]


def _tell(report: Report) -> None:
    name, head = shown(report.path.name), report.head
    for finding in report.findings:
        click.echo(shown(f"{report.path.name}:{finding.line}: {finding.why}"))
    for note in report.notes:
        click.echo(shown(report.path.name, f": {note}"))
    if not report.findings:
        click.echo(f"{name}: {head.lines} lines, whole  {head.lines}:{head.last}")


def _object(report: Report) -> dict[str, Any]:
    findings = [{"line": one.line, "why": one.why} for one in report.findings]
    end = {"lines": report.head.lines, "last": report.head.last}
    return {"log": str(report.path), **end, "findings": findings, "notes": list(report.notes)}


def _row(log: str, event: dict[str, Any]) -> str:
    time = str(event.get("time"))[:19].replace("T", " ")
    rest = [name for name in event if name not in (*_FIRST, *_OWN)]
    facts = [f"{name}={event[name]}" for name in (*_FIRST[2:], *rest) if event.get(name) not in (None, "", [])]
    return shown("  ".join([time, log, str(event.get("event")), *facts]))
