"""A policy in a TOML file: read, written a rule at a time, and its JSON schema for editors.

A file names a profile, and rules that take precedence.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, Mapping

from attrs import evolve

from stallkit.detect.signature import CLOSED, NEVER_ANSWERED, NEVER_PRESSED, Kind, Severity, State
from stallkit.errors import ConfigError, UnknownFile
from stallkit.jsonio import closed, schema_of, some_of
from stallkit.press.policy import CAREFUL, OBSERVE, Policy
from stallkit.press.rules import CONDITIONS, WORDS, Act, PromptFacts, Rule
from stallkit.toml_file import Lines, parse_toml, read_settings

_NO_LINES = Lines()
KEYS = ("format", "name", "profile", "patient", "agents", "trust", "rule")
PROFILES = {"careful": CAREFUL, "observe": OBSERVE}  # and daemon, below
PATIENCE_S = 180.0  # three heartbeats of a minute
DAEMON_FILE = Path(__file__).parent.parent / "data" / "daemon.toml"


def as_policy(given: Policy | str) -> Policy:
    """The policy that is given, or the profile of that name.  Raises ValueError for an unknown name.

    >>> as_policy("observe").presses
    False
    """
    if isinstance(given, Policy):
        return given
    if not isinstance(given, str) or given not in PROFILES:
        todo = "; stallkit.press.policy_file.load_policy reads a file" if str(given).endswith(".toml") else ""
        raise ValueError(f"a profile is one of {', '.join(PROFILES)}, not {given!r}{todo}")
    return PROFILES[given]


def load_policy(given: str | Path) -> Policy:
    """The policy of that name (careful, daemon, observe), or in that file.

    Raises ConfigError if the file cannot be read, is invalid, or could have been written by others.

    >>> load_policy("daemon").patience_s
    180.0
    """
    if str(given) in PROFILES:
        return PROFILES[str(given)]
    path = Path(given)
    try:
        file = read_settings(path)
    except UnknownFile as error:
        todo = f"name one of {', '.join(PROFILES)}, or a file that is there"
        raise UnknownFile(f"policy {given}", "it is not built in, and there is no such file", todo) from error
    return policy_from(file.data, str(path), path.stem, lines=file.lines)


def policy_from(
    table: Mapping[str, object], path: str, default_name: str = "own", part: str = "", lines: Lines = _NO_LINES
) -> Policy:
    """The policy in a table of a file: `path`, `part` and `lines` say where in errors.  Raises ConfigError."""

    def error(key: str, why: str, todo: str) -> ConfigError:
        return ConfigError(path, why, todo, lines.of(key), part)

    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise error(unknown[0], f"unknown key {unknown[0]}", f"a policy has {', '.join(KEYS)}")
    if table.get("format", 1) != 1:
        raise error("format", f"it is of format {table['format']}", "update stallkit, or write format = 1")
    base = table.get("profile", CAREFUL.name)
    if not isinstance(base, str) or base not in PROFILES:
        raise error("profile", f"there is no profile {base!r}", f"take one of {', '.join(PROFILES)}")
    patient = table.get("patient", False)
    if not isinstance(patient, bool):
        raise error("patient", "patient is not true or false", "write patient = true")
    rules = table.get("rule", [])
    if not isinstance(rules, list):
        raise error("rule", "rule is not a list of tables", "begin each rule with [[rule]]")
    parts = [f"{part}, rule {number}".removeprefix(", ") for number in range(1, len(rules) + 1)]
    read = [_rule(rule, path, parts[number], lines.under("rule", number)) for number, rule in enumerate(rules)]
    if base == OBSERVE.name and any(rule.do in (Act.PRESS, Act.RESTART, Act.RESUME, Act.SEND) for rule in read):
        raise error("profile", "profile observe presses, sends and restarts nothing", "take profile careful")
    agents = table.get("agents", [])
    if not isinstance(agents, list) or not all(isinstance(agent, str) for agent in agents):
        raise error("agents", "agents is not a list of names", 'write agents = ["NAME"]')
    trust = table.get("trust", [])
    if not isinstance(trust, list) or not all(isinstance(one, str) and one.startswith(("/", "~")) for one in trust):
        raise error("trust", "trust is not a list of absolute paths", 'write trust = ["~/projects"]')
    name = table.get("name", default_name)
    if not isinstance(name, str):
        raise error("name", "name is not a text", f'write name = "{default_name}"')
    policy = PROFILES[base]
    patience_s = PATIENCE_S if patient else policy.patience_s
    try:
        return evolve(
            policy, name=name, rules=(*read, *policy.rules), agents=agents, trust=trust, patience_s=patience_s
        )
    except ValueError as invalid:
        raise error("agents", str(invalid), 'write agents = ["NAME"]') from invalid


def _rule(table: object, path: str, part: str, lines: Lines) -> Rule:
    def error(key: str, why: str, todo: str) -> ConfigError:
        return ConfigError(path, why, todo, lines.of(key), part)

    if not isinstance(table, dict):
        raise error("", "it is not a table", "begin it with [[rule]]")
    known = ("do", "why", "text", *CONDITIONS, "request", "never")
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise error(unknown[0], f"unknown key {unknown[0]}", f"a rule has {', '.join(known)}")
    request = table.get("request", {})
    if not isinstance(request, dict):
        raise error("request", "request is not a table", 'write request.command = ["git status*"]')
    given = [(key, value) for key, value in table.items() if key != "request"]
    for key, value in [*given, *((f"request.{name}", value) for name, value in request.items())]:
        listed = key in CONDITIONS or key == "never" or key.startswith("request.")
        several = isinstance(value, list) and all(isinstance(one, str) for one in value) and listed
        if not (isinstance(value, str) or several):
            raise error(key, f"{key} is not a text", f'write {key} = "..."')
        if not value and listed:  # an empty list would always hold
            raise error(key, f"{key} is empty", f"say which, or leave {key} out")
    if "do" not in table:
        raise error("", "it does not say what to do", f"add do = one of {', '.join(Act)}")
    try:
        return Rule(**table)
    except ValueError as invalid:
        raise error("", str(invalid), "correct it") from invalid


DAEMON = policy_from(parse_toml(DAEMON_FILE.read_bytes(), str(DAEMON_FILE)).data, str(DAEMON_FILE), "daemon")
PROFILES[DAEMON.name] = DAEMON


# --- the rule that would allow what a session asks ---


def rule_for(asked: PromptFacts, session: str, option: str | None = None, agent: str | None = None) -> Rule:
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
        lines += [f"{name} = {_quoted(value)}" for value in getattr(rule, name)]
    lines += [f"request.{name} = {_quoted(value)}" for name, values in rule.request.items() for value in values]
    return "\n".join(lines) + "\n"


def _fields(asked: PromptFacts) -> Mapping[str, str]:
    """What the request says, exactly: all that a rule has to name."""
    assert asked.request is not None
    specs = asked.request.specs
    named = {name: text for name, text in asked.request.fields.items() if text and not specs[name].aside}
    return {name: _literal(text) for name, text in named.items() if specs[name].type not in CLOSED}


def _literal(text: str) -> str:
    """The text as a shell pattern that fits nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _options(asked: PromptFacts) -> str:
    shown = ", ".join(map(repr, asked.labels))
    return f"it shows {shown}" if shown else "its options cannot be read"


# --- the schema ---


_TEXT: dict[str, Any] = {"type": "string"}
_SOME: dict[str, Any] = {"type": "string", "minLength": 1}
_PATTERNS = some_of(_SOME, {"type": "array", "items": _TEXT, "minItems": 1})


def policy_schema() -> dict[str, Any]:
    """The schema of a policy file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A policy of stallkit: what it may do"}
    return {**head, **policy_table()}


def policy_table() -> dict[str, Any]:
    """The schema of a policy as a table of another file."""
    rule = {
        "do": schema_of(Act),
        "why": _TEXT,
        "text": _TEXT,
        **{name: _condition(name) for name in CONDITIONS},
        "request": {"type": "object", "additionalProperties": _PATTERNS},
        "never": _PATTERNS,
    }
    top = {
        "format": {"const": 1},
        "name": _TEXT,
        "profile": {"enum": [*PROFILES]},
        "patient": {"type": "boolean"},
        "agents": {"type": "array", "items": _TEXT},
        "trust": {"type": "array", "items": {"type": "string", "pattern": "^[/~]"}},
        "rule": {"type": "array", "items": closed(rule, ["do"])},
    }
    assert set(top) == set(KEYS)
    return closed(top)


def _condition(name: str) -> dict[str, Any]:
    """Shell patterns; of the words that a fact can be an editor proposes each."""
    if name not in WORDS:
        return _PATTERNS
    word = some_of({"enum": [*map(str, WORDS[name])]}, {"type": "string", "pattern": r"[*?\[]"})
    return some_of(word, {"type": "array", "items": word, "minItems": 1})
