"""The rule that would allow what a session asks, as a value and as text for a policy file.  Pure."""

from __future__ import annotations

import json
from functools import partial
from typing import Mapping

from stallkit.detect.request import CLOSED
from stallkit.detect.signature import NEVER_ANSWERED, NEVER_PRESSED, Kind, Severity, State
from stallkit.press.asked import Asked
from stallkit.press.rules import Act, Rule

__all__ = ["as_toml", "rule_for"]


def rule_for(asked: Asked, session: str, option: str | None = None, agent: str | None = None) -> Rule:
    """The rule that presses at this prompt, in this session, or for this agent wherever it runs.

    Raises ValueError, which says why and what to do, if no rule may, or an option has to be named.
    """
    if asked.state is not State.WAITING or asked.name is None or asked.signature is None:
        raise ValueError(f"it is {asked.state}, and no signature says what is asked: there is nothing to allow")
    if asked.kind in NEVER_ANSWERED:
        raise ValueError(f"a machine never answers a {asked.kind}; type it at its own terminal")
    if asked.kind is Kind.TRUST:
        folder = next(iter(asked.request.paths("folder") if asked.request else ()), "/its/folder")
        raise ValueError(f'trust is given to a folder: write trust = ["{folder}"] in the policy')
    make = partial(Rule, do=Act.PRESS, agent=agent) if agent else partial(Rule, do=Act.PRESS, session=session)
    if option is not None:
        if option not in asked.labels:
            raise ValueError(f"it has no option {option!r}; {_options(asked)}")
        return make(signature=asked.name, option=_literal(option))
    if asked.kind is Kind.PERMISSION and asked.request is not None:
        return make(request=_fields(asked))
    if asked.kind in NEVER_PRESSED or asked.signature.severity is Severity.HIGH or asked.keys is None:
        raise ValueError(f"name the option that is chosen, with --option; {_options(asked)}")
    return make(signature=asked.name)


def as_toml(rule: Rule) -> str:
    """The rule as a table of a policy file.

    >>> print(as_toml(Rule(do="press", signature="shell_yn:yes_no", session="tmux:ci-1")), end="")
    [[rule]]
    do = "press"
    signature = "shell_yn:yes_no"
    session = "tmux:ci-1"
    """
    lines = ["[[rule]]", f'do = "{rule.do}"']
    for name in ("signature", "option", "session", "agent"):
        lines += [f"{name} = {_text(value)}" for value in getattr(rule, name)]
    lines += [f"request.{name} = {_text(value)}" for name, values in rule.request.items() for value in values]
    return "\n".join(lines) + "\n"


def _fields(asked: Asked) -> Mapping[str, str]:
    """What the request says, to the letter: all that a rule has to name."""
    assert asked.request is not None
    specs = asked.request.specs
    named = {name: text for name, text in asked.request.fields.items() if text and not specs[name].aside}
    return {name: _literal(text) for name, text in named.items() if specs[name].type not in CLOSED}


def _literal(text: str) -> str:
    """The text as a shell pattern that fits nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _options(asked: Asked) -> str:
    shown = ", ".join(map(repr, asked.labels))
    return f"it shows {shown}" if shown else "its options cannot be read"
