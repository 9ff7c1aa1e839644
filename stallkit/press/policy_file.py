"""A policy in a TOML file: a profile, and rules that take precedence."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from attrs import evolve

from stallkit.errors import ConfigError, UnknownFile
from stallkit.press.policy import CAREFUL, OBSERVE, Policy
from stallkit.press.rules import CONDITIONS, Act, Rule
from stallkit.settings_files import read_settings
from stallkit.toml_file import Lines, parse_toml

__all__ = ["DAEMON", "DAEMON_FILE", "KEYS", "PROFILES", "as_policy", "load_policy", "policy_from"]

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

    Raises ConfigError where the file cannot be read, is invalid, or could have been written by others.

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
