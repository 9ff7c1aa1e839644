"""What a policy would have done about the detections in an event log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from stallkit.detect.dialog import Dialog, Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.engine import Engine
from stallkit.detect.request import Request
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import ConfigError
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.ended_turn import EndedTurn, TurnOutcome
from stallkit.press.decisions import Decision
from stallkit.press.policy import Policy
from stallkit.press.rules import PromptFacts, Rule, Scene

__all__ = ["ReplayedDecision", "replayed"]


@frozen
class ReplayedDecision:
    """One detection of a log, and what the policy would have done; `rule` is None where its profile decides."""

    at: str
    target: str
    asked: PromptFacts
    decision: Decision
    rule: Rule | None


def replayed(path: Path, policy: Policy, engine: Engine) -> Iterator[ReplayedDecision]:
    """Each detection of an event log, oldest first, as the policy would decide on it today.

    What was redacted in the log is redacted here, so that a rule on such a command does not hold.  Detections by a
    version that logged no request have none.  Raises ConfigError where the log cannot be read.
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
