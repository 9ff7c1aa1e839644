"""``stallkit policy``: what a policy says, would do, or would have done about a log of events, and the rule to add."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import click
from attrs import evolve, frozen

from stallkit.cli.common import POLICY, TARGET, engine, policy_option, print_json, reach, session_options
from stallkit.cli.output import shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import event_log
from stallkit.detect.dialog import Dialog, Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Kind, Request, State
from stallkit.errors import ConfigError
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.press.check import observe
from stallkit.press.policy import Choose, Decision, Policy, Press
from stallkit.press.policy_file import DAEMON_FILE, as_toml, load_policy, rule_for
from stallkit.press.rules import PromptFacts, Rule, Scene
from stallkit.settings import configured_policy

# --- replayed decisions ---


@frozen
class ReplayedDecision:
    """One detection of a log, and what the policy would have done; `rule` is None if its profile decides."""

    at: str
    target: str
    asked: PromptFacts
    decision: Decision
    rule: Rule | None


def replayed(path: Path, policy: Policy, engine: Engine) -> Iterator[ReplayedDecision]:
    """Each detection of an event log, oldest first, as the policy would decide on it today.

    What was redacted in the log is redacted here, so that a rule on such a command does not hold.  Detections by a
    version that logged no request have none.  Raises ConfigError if the log cannot be read.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(str(path), why, "name an event log, such as events.jsonl") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            event = json.loads(line)
            if event["event"] == "detection":
                yield _would(event, policy, engine)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(str(path), f"no event: {error}", "name an event log", number) from error


def _would(event: Mapping[str, Any], policy: Policy, engine: Engine) -> ReplayedDecision:
    asked = _asked(event, engine)
    scene = Scene(event["target"], event.get("foreground"), logged=frozenset(event.get("agents") or ()))
    return ReplayedDecision(
        event["time"], event["target"], asked, policy.decide(asked, scene), policy.rule_for(asked, scene)
    )


def _asked(event: Mapping[str, Any], engine: Engine) -> PromptFacts:
    unseen = event.get("by_signal") or event.get("by_read")
    certainty = Certainty.MAYBE if unseen else Certainty(event["certainty"])
    ended = AfterExit(event["ended"]) if event.get("ended") else None
    turn = EndedTurn(**{**said, "how": TurnOutcome(said["how"])}) if (said := event.get("ended_turn")) else None
    known = PromptFacts(State(event["state"]), certainty, _kind(event), tuple(event["reasons"]), turn=turn, ended=ended)
    known = evolve(known, programs=engine.executables)
    name = f"{event['pack']}:{event['signature']}"
    rule = next((rule for rule in engine.rules if rule.name == name), None)
    if rule is None:
        return known
    ambiguity = event.get("ambiguity", "the log does not say whether it was wholly recognised")
    request = _request(event, rule.signature.dialogs)
    known = evolve(known, pack=rule.pack, signature=rule.signature, request=request, line=event.get("line") or "")
    known = evolve(known, labels=tuple(one["text"] for one in event.get("options", ())))
    return evolve(known, ambiguity=ambiguity)


def _kind(event: Mapping[str, Any]) -> Kind | None:
    return Kind(event["kind"]) if event["kind"] else None


def _request(event: Mapping[str, Any], dialogs: Sequence[Dialog]) -> Request | None:
    specs = {name: spec for dialog in dialogs for name, spec in dialog.fields.items()}
    fields = {name: text for name, text in (event.get("request") or {}).items() if name in specs}
    if not fields:
        return None
    options = tuple(
        Option(one["text"], selected=one["selected"], role=Role(one["is"]) if one["is"] else None)
        for one in event.get("options", ())
    )
    return Request(fields, specs, options)


# --- the commands ---

_SHOWN = 10  # of what a rule would have answered


@click.group("policy", cls=VerbGroup)
def policy_command() -> None:
    """Show policies, what they would do, and which rule would allow what a session asks.

    \b
    Example:    stallkit policy explain tmux:worker1
    """


@policy_command.command("show", short_help="Print a policy as its file has it.")
@click.argument("name", default="daemon", type=POLICY)
def show(name: str) -> None:
    """Print what a profile or a policy file says: careful, daemon, observe, or FILE.

    \b
    Exit codes: 0; 64 there is no such policy.
    Example:    stallkit policy show daemon
    """
    load_policy(name)  # it says what is wrong with it
    match name:
        case "careful":
            told = '# Packs\' own dialogs of severity low are answered, and nothing else.\nprofile = "careful"\n'
        case "observe":
            told = '# Nothing is pressed.\nprofile = "observe"\n'
        case _:
            told = (DAEMON_FILE if name == "daemon" else Path(name)).read_text("utf-8")
    click.echo(told, nl=False)


@policy_command.command("allow", short_help="Print or append the rule that would allow what a session asks.")
@click.argument("target", type=TARGET)
@click.option("--option", metavar="LABEL", help="The option to choose, as the screen spells it.")
@click.option("--agent", metavar="NAME", help="Allow it wherever that agent asks, not only in this session.")
@click.option("--append", "file", type=click.Path(path_type=Path), metavar="FILE", help="Append it to a policy file.")
@session_options
def allow(
    target: str,
    option: str | None,
    agent: str | None,
    file: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Show the rule that would answer what a session asks now, and what it would have answered in the last day.

    Nothing is pressed.  Without --append nothing is written either.

    \b
    Exit codes: 0; 1 could not look, or no rule can allow it; 4 it ended.
    Example:    stallkit policy allow tmux:ci-1 --append night.toml
    """
    transport = reach(target, socket_name, socket_path)
    try:
        verdict, seen = observe(transport, engine())
    finally:
        transport.close()
    try:
        rule = rule_for(PromptFacts.of(verdict), seen.target or target, option, agent)
    except ValueError as error:
        raise click.ClickException(shown(f"{target}: {error}")) from error
    for line in (f"# {verdict.match.line if verdict.match else ''}", *as_toml(rule).splitlines()):
        click.echo(shown(line))
    matched = _in_the_last_day(Policy("this rule", rules=[rule]))
    click.echo(f"# in the log of the last day it would have answered {len(matched)}", err=True)
    for would in matched[-_SHOWN:]:
        click.echo(shown(f"#   {would.at} {would.target} {would.asked.line}"), err=True)
    if file is not None:
        _append(file, as_toml(rule))


def _in_the_last_day(policy: Policy) -> list[ReplayedDecision]:
    """The detections of a day that the policy would have answered."""
    since = time.time() - 24 * 3600
    if not event_log().exists():
        return []
    found = [
        one for one in replayed(event_log(), policy, engine()) if datetime.fromisoformat(one.at).timestamp() > since
    ]
    return [one for one in found if isinstance(one.decision, Press | Choose)]


def _append(file: Path, table: str) -> None:
    """Add a table to a policy file, which stays as it was if it would be invalid with it."""
    before = file.read_text("utf-8") if file.exists() else 'profile = "careful"\n'
    new = file.with_name(f".{file.name}.new")
    new.write_text(f"{before.rstrip()}\n\n{table}", "utf-8")
    try:
        load_policy(new)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
    click.echo(f"appended to {file}", err=True)


@policy_command.command("explain", short_help="Say what a policy would do about a session, and why.")
@click.argument("target", required=False, type=TARGET)
@policy_option
@click.option("--log", type=click.Path(path_type=Path), help="Read an event log instead of a session.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@session_options
def explain(
    target: str | None,
    policy: str | None,
    log: Path | None,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Look at a session, and say what the policy would do about it and why.  Nothing is pressed.

    With --log, say it of each detection in an event log instead.

    \b
    Exit codes: 0; 1 could not look, or the policy is invalid; 4 it ended; 64 there is no such policy.
    Example:    stallkit policy explain tmux:worker1 --policy night.toml
                stallkit policy explain --log events.jsonl --policy night.toml
    """
    chosen = configured_policy(policy)
    if (target is None) == (log is None):
        raise click.UsageError("name a session, or an event log with --log")
    if log is not None:
        _explain_log(log, chosen, as_json)
        return
    assert target is not None  # one of the two was given
    transport = reach(target, socket_name, socket_path)
    try:
        verdict, seen = observe(transport, engine())
    finally:
        transport.close()
    scene = Scene.of(seen)
    decision, rule = chosen.decide(verdict, scene), chosen.rule_for(verdict, scene)
    why = getattr(decision, "why", None)
    facts: dict[str, Any] = {
        "version": 1,
        "target": target,
        "policy": chosen.name,
        "decision": type(decision).__name__.lower(),
        "keys": str(decision.keys) if isinstance(decision, Press) else None,
        "option": decision.option if isinstance(decision, Choose) else None,
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
    done = f"choose {decision.option!r}" if isinstance(decision, Choose) else done
    click.echo(shown(target, f": policy {chosen.name} would {done}{f': {why}' if why else ''}"))
    click.echo(shown(f"  by {f'the rule: {rule}' if rule else 'its profile, as no rule holds'}"))
    click.echo(shown(f"  it is {verdict.state}, {verdict.certainty}; in front is {scene.foreground or 'unknown'}"))
    for name, text in (verdict.request.fields if verdict.request else {}).items():
        click.echo(shown(f"  it asks about {name} {text!r}"))
    for reason in verdict.reasons:
        click.echo(shown(f"  because {reason}"))


def _explain_log(log: Path, policy: Policy, as_json: bool) -> None:
    """Print what the policy would have done about each detection of a log, and how often in all."""
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
