"""A policy as data: a profile, and rules that say otherwise, in TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Mapping

from attrs import evolve

from stallkit.errors import ConfigError
from stallkit.press.policy import CAREFUL, CONDITIONS, OBSERVE, PROFILES, Act, Policy, Rule

__all__ = ["load_policy", "policy_from", "read_toml"]

_KEYS = ("format", "name", "profile", "agents", "rule")


def load_policy(given: str | Path) -> Policy:
    """The policy of that name (careful, daemon, observe), or in that file.

    Raises ConfigError where the file cannot be read, or says what nobody understands.
    """
    if str(given) in PROFILES:
        return PROFILES[str(given)]
    path = Path(given)
    return policy_from(read_toml(path), str(path), default_name=path.stem)


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file holds.  Raises ConfigError where it cannot be read."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        profiles = ", ".join(PROFILES)
        raise ConfigError(str(path), error.strerror or str(error), f"name a file, or one of {profiles}") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number of 5,000 digits
        raise ConfigError(str(path), str(error), "correct it: it has to be TOML in UTF-8") from error


def policy_from(table: Mapping[str, Any], where: str, default_name: str = "own") -> Policy:
    """The policy in a table of a file; `where` names it in errors.  Raises ConfigError."""
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise ConfigError(where, f"nobody knows the key {unknown[0]}", f"a policy has {', '.join(_KEYS)}")
    if table.get("format", 1) != 1:
        raise ConfigError(where, f"it is of format {table['format']}", "update stallkit, or write format = 1")
    profile = table.get("profile", CAREFUL.name)
    if not isinstance(profile, str) or profile not in PROFILES:
        raise ConfigError(where, f"there is no profile {profile!r}", f"take one of {', '.join(PROFILES)}")
    rules = table.get("rule", [])
    if not isinstance(rules, list):
        raise ConfigError(where, "rule is no list of tables", "begin each rule with [[rule]]")
    read = [_rule(rule, f"{where}, rule {number}") for number, rule in enumerate(rules, 1)]
    if profile == OBSERVE.name and any(rule.do in (Act.PRESS, Act.RESTART) for rule in read):
        raise ConfigError(where, "profile observe presses and restarts nothing", "take profile careful")
    agents = table.get("agents", [])
    if not isinstance(agents, list) or not all(isinstance(agent, str) for agent in agents):
        raise ConfigError(where, "agents is no list of names", 'write agents = ["claude"]')
    name = table.get("name", default_name)
    if not isinstance(name, str):
        raise ConfigError(where, "name is no text", f'write name = "{default_name}"')
    return evolve(PROFILES[profile], name=name, rules=read, agents=agents)


def _rule(table: object, where: str) -> Rule:
    if not isinstance(table, dict):
        raise ConfigError(where, "it is no table", "begin it with [[rule]]")
    known = ("do", "why", *CONDITIONS)
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ConfigError(where, f"nobody knows the key {unknown[0]}", f"a rule has {', '.join(known)}")
    for key, value in table.items():
        several = isinstance(value, list) and all(isinstance(one, str) for one in value) and key in CONDITIONS
        if not (isinstance(value, str) or several):
            raise ConfigError(where, f"{key} is no text", f'write {key} = "..."')
        if not value and key in CONDITIONS:  # a list of nothing would hold always
            raise ConfigError(where, f"{key} is empty", f"say which, or leave {key} out")
    if "do" not in table:
        raise ConfigError(where, "it does not say what to do", f"add do = one of {', '.join(Act)}")
    try:
        return Rule(**table)
    except ValueError as error:
        raise ConfigError(where, str(error), "correct it") from error
