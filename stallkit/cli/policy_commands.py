"""``stallkit policy explain``: what a policy would do about a session, or about what a log has of the past."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from stallkit.cli.common import engine, print_json, reach, session_options, shown
from stallkit.cli.parameters import POLICY, TARGET
from stallkit.cli.verb_group import VerbGroup
from stallkit.press.check import observe
from stallkit.press.decisions import Press
from stallkit.press.policy import Policy, for_watch
from stallkit.press.rules import Scene

__all__ = ["policy_command"]


@click.group("policy", cls=VerbGroup)
def policy_command() -> None:
    """Say what policies would do.

    \b
    Example:    stallkit policy explain tmux:worker1
    """


@policy_command.command("explain", short_help="Say what a policy would do about a session, and why.")
@click.argument("target", required=False, type=TARGET)
@click.option("--policy", "given", default="careful", show_default=True, type=POLICY, help="Which policy.")
@click.option("--log", type=click.Path(path_type=Path), help="Not a session: what was detected in an event log.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@session_options
def explain(
    target: str | None, given: str, log: Path | None, as_json: bool, socket_name: str | None, socket_path: str | None
) -> None:
    """Look at a session, and say what the policy would do about it and why.  Nothing is pressed.

    With --log, say it of each detection in an event log instead.

    \b
    Exit codes: 0; 1 could not look, or the policy is invalid; 4 it ended; 64 there is no such policy.
    Example:    stallkit policy explain tmux:worker1 --policy night.toml
                stallkit policy explain --log events.jsonl --policy night.toml
    """
    from stallkit.press.policy_file import load_policy  # here: check does not need it

    policy = for_watch(load_policy(given))
    if (target is None) == (log is None):
        raise click.UsageError("name a session, or an event log with --log")
    if log is not None:
        _explain_log(log, policy, as_json)
        return
    assert target is not None  # one of the two was given
    transport = reach(target, socket_name, socket_path)
    try:
        verdict, seen = observe(transport, engine())
    finally:
        transport.close()
    scene = Scene.of(seen)
    decision, rule = policy.decide(verdict, scene), policy.rule_for(verdict, scene)
    why = getattr(decision, "why", None)
    facts: dict[str, Any] = {
        "version": 1,
        "target": target,
        "policy": policy.name,
        "decision": type(decision).__name__.lower(),
        "keys": str(decision.keys) if isinstance(decision, Press) else None,
        "why": why,
        "rule": str(rule) if rule else None,
        "state": str(verdict.state),
        "certainty": str(verdict.certainty),
        "kind": str(verdict.kind) if verdict.kind else None,
        "request": dict(verdict.request.fields) if verdict.request else None,
        "foreground": scene.foreground,
        "reasons": list(verdict.reasons),
    }
    if as_json:
        print_json(facts)
        return
    done = f"press {decision.keys}" if isinstance(decision, Press) else facts["decision"]
    click.echo(shown(target, f": policy {policy.name} would {done}{f': {why}' if why else ''}"))
    click.echo(shown(f"  by {f'the rule: {rule}' if rule else 'its profile, as no rule holds'}"))
    click.echo(shown(f"  it is {verdict.state}, {verdict.certainty}; in front is {scene.foreground or 'unknown'}"))
    for name, text in (verdict.request.fields if verdict.request else {}).items():
        click.echo(shown(f"  it asks about {name} {text!r}"))
    for reason in verdict.reasons:
        click.echo(shown(f"  because {reason}"))


def _explain_log(log: Path, policy: Policy, as_json: bool) -> None:
    """Print what the policy would have done about each detection of a log, and how often in all."""
    from stallkit.press.logged import replayed  # here: no other command needs it

    rows: list[dict[str, Any]] = [
        {
            "time": would.at,
            "target": would.target,
            "decision": type(would.decision).__name__.lower(),
            "keys": str(would.decision.keys) if isinstance(would.decision, Press) else None,
            "why": getattr(would.decision, "why", None),
            "rule": str(would.rule) if would.rule else None,
            "signature": would.asked.name,
            "request": dict(would.asked.request.fields) if would.asked.request else None,
        }
        for would in replayed(log, policy, engine())
    ]
    counts = Counter(row["decision"] for row in rows)
    if as_json:
        print_json({"version": 1, "policy": policy.name, "counts": counts, "detections": rows})
        return
    for row in rows:
        asks = " ".join(f"{name}={text!r}" for name, text in (row["request"] or {}).items())
        why = f": {row['why']}" if row["why"] else ""
        done = f"press {row['keys']}" if row["keys"] else f"{row['decision']}{why}"
        click.echo(shown(f"{row['time']} {row['target']} {row['signature'] or 'no signature'} {asks} -> {done}"))
    told = ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "no detection"
    click.echo(shown(f"policy {policy.name}: {told}"))
