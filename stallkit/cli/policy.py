"""``stallkit policy explain``: what a policy would do about a session just now, and which rule says so."""

from __future__ import annotations

from typing import Any

import click

from stallkit.cli.common import engine, print_json, reach, session_options, shown
from stallkit.press.check import observe
from stallkit.press.policy import Press, Scene, for_watch
from stallkit.press.policy_file import load_policy

__all__ = ["command"]


@click.group("policy")
def command() -> None:
    """What policies would do."""


@command.command("explain")
@click.argument("target")
@click.option("--policy", "given", default="careful", show_default=True, metavar="NAME|FILE", help="Which policy.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@session_options
def explain(target: str, given: str, as_json: bool, socket_name: str | None, socket_path: str | None) -> None:
    """Look at a session, and say what the policy would do about it and why.  Nothing is pressed.

    \b
    Exit codes: 0; 1 could not look, or the policy cannot be read.
    Example:    stallkit policy explain tmux:worker1 --policy night.toml
    """
    policy = for_watch(load_policy(given))
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
        "foreground": scene.foreground,
        "reasons": list(verdict.reasons),
    }
    if as_json:
        print_json(facts)
        return
    done = f"press {decision.keys}" if isinstance(decision, Press) else facts["decision"]
    click.echo(shown(f"{target}: policy {policy.name} would {done}{f': {why}' if why else ''}"))
    click.echo(shown(f"  by {f'the rule: {rule}' if rule else 'its profile, as no rule holds'}"))
    click.echo(shown(f"  it is {verdict.state}, {verdict.certainty}; in front is {scene.foreground or 'unknown'}"))
    for reason in verdict.reasons:
        click.echo(shown(f"  because {reason}"))
