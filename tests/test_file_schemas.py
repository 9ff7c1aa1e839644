"""The JSON schemas of files: what is shipped and documented is by them, and what a reader refuses they refuse."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Callable

import jsonschema_rs
import pytest
from stallkit_lab.new_pack import files, names_of
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit.errors import ConfigError, PackFormatError
from stallkit.packs.pack_file import agent_schema, pack_schema, parse_agent, parse_pack
from stallkit.press.policy_file import policy_from, policy_schema
from stallkit.settings import settings_schema

ROOT = Path(__file__).parent.parent
PACKS = sorted(ROOT.glob("plugins/*/src/*/signatures.toml"))
POLICY = {"do": "press", "signature": "acme:*", "session": "tmux:one"}
SIGNATURE = {"id": "asks", "title": "asks", "state": "waiting", "kind": "confirm", "all_of": ["Go on?"]}


def documented(*keys: str) -> list[dict[str, Any]]:
    """The blocks of TOML in the documentation that have one of these keys at the top."""
    found = []
    for page in sorted({*ROOT.glob("docs/*.md")} - {ROOT / "docs" / "lint.md"}):  # which shows parts, and mistakes
        for block in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL):
            if any(key in tomllib.loads(block) for key in keys):
                found.append(tomllib.loads(block))
    assert found
    return found


@pytest.mark.parametrize("schema", [pack_schema, agent_schema, policy_schema, settings_schema])
def test_they_are_schemas(schema: Callable[[], dict[str, Any]]) -> None:
    jsonschema_rs.meta.validate(schema())


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.parent.name)
def test_every_shipped_pack_is_by_the_schema(path: Path) -> None:
    assert len(PACKS) == 7
    jsonschema_rs.validate(pack_schema(), tomllib.loads(path.read_text()))


def test_every_shipped_agent_file_is_by_the_schema() -> None:
    agents = sorted([*ROOT.glob("plugins/*/src/*/agent.toml"), *ROOT.glob("plugins/*/src/*/agents/*.toml")])
    assert len(agents) == 12
    for path in agents:
        jsonschema_rs.validate(agent_schema(), tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": 2},
        {"process": {}},
        {"process": {"names": "acme"}},
        {"process": {"names": ["acme"], "report": True}},
        {"title": {"waits": ["x"]}},
        {"turn": {"escape": "yes"}},
        {"resume": {"latest": "--continue"}},
        {"colour": "red"},
    ],
)
def test_what_the_reader_of_agent_files_refuses_the_schema_refuses(wrong: dict[str, Any]) -> None:
    good: dict[str, Any] = {"format": 1, "name": "acme", "process": {"names": ["acme"]}}
    assert parse_agent(as_toml(good), "p").name == "acme"
    jsonschema_rs.validate(agent_schema(), good)
    with pytest.raises(PackFormatError, match=r"^pack file p"):
        parse_agent(as_toml({**good, **wrong}), "p")
    assert not jsonschema_rs.is_valid(agent_schema(), {**good, **wrong})


def test_a_new_pack_and_the_documented_one_are_by_the_schema() -> None:
    new = files(names_of("acme"))["src/stallkit_acme/signatures.toml"]
    for pack in (tomllib.loads(new), *documented("foreground")):
        jsonschema_rs.validate(pack_schema(), {"format": 1, "name": "acme", "signature": [SIGNATURE], **pack})


def test_documented_policies_and_settings_are_by_their_schemas() -> None:
    for policy in documented("rule", "profile"):
        policy_from(policy, "docs")
        jsonschema_rs.validate(policy_schema(), policy)
    for settings in documented("watch", "hung", "notify"):
        jsonschema_rs.validate(settings_schema(), settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"signatur": []},
        {"format": 2},
        {"signature": []},
        {"foreground": "acme"},
        {"priority": "low"},
        {"signature": [{**SIGNATURE, "non_of": ["x"]}]},
        {"signature": [{**SIGNATURE, "state": "sleeping"}]},
        {"signature": [{**SIGNATURE, "kind": "yes"}]},
        {"signature": [{**SIGNATURE, "all_of": "Go on?"}]},
        {"signature": [{**SIGNATURE, "all_of": [{"text": "Go", "were": "screen"}]}]},
        {"signature": [{**SIGNATURE, "preview": "yes"}]},
        {"signature": [{**SIGNATURE, "dismissal": {"keys": "y", "then": "gone"}}]},
        {"signature": [{**SIGNATURE, "dismissal": {"keys": "y", "verify_timeout_s": 90}}]},
        {"signature": [{**SIGNATURE, "edge": "blank", "dialog": [{"rows": "Go on?"}]}]},
        {"signature": [{**SIGNATURE, "edge": "below", "dialog": ["Go on?"]}]},
        {"signature": [{"id": "asks"}]},
    ],
)
def test_what_the_reader_of_packs_refuses_the_schema_refuses(wrong: dict[str, Any]) -> None:
    good: dict[str, Any] = {"format": 1, "signature": [SIGNATURE]}
    parse_pack(as_toml(good), "p", "p")
    jsonschema_rs.validate(pack_schema(), good)
    with pytest.raises(PackFormatError):
        parse_pack(as_toml({**good, **wrong}), "p", "p")
    assert not jsonschema_rs.is_valid(pack_schema(), {**good, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"profil": "careful"},
        {"profile": "wild"},
        {"format": 2},
        {"agents": "claude"},
        {"trust": ["here"]},
        {"rule": [{"why": "no act"}]},
        {"rule": [{**POLICY, "do": "run"}]},
        {"rule": [{**POLICY, "signature": ""}]},
        {"rule": [{**POLICY, "kind": "confrim"}]},
        {"rule": [{**POLICY, "request": "git"}]},
        {"rule": [{**POLICY, "when": "now"}]},
    ],
)
def test_what_the_reader_of_policies_refuses_the_schema_refuses(wrong: dict[str, Any]) -> None:
    jsonschema_rs.validate(policy_schema(), {"rule": [POLICY]})
    with pytest.raises(ConfigError):
        policy_from(wrong, "p")
    assert not jsonschema_rs.is_valid(policy_schema(), wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"wach": {}},
        {"watch": {"intervall_s": 3}},
        {"watch": {"interval_s": "3"}},
        {"watch": {"targets": "tmux:a"}},
        {"watch": {"listen": "some"}},
        {"session": {"target": "tmux:a"}},
        {"session": [{"directory": "/"}]},
        {"policy": {"profile": "wild"}},
        {"notify": {"terminal": "loud"}},
    ],
)
def test_what_the_reader_of_settings_refuses_the_schema_refuses(wrong: dict[str, Any], tmp_path: Path) -> None:
    (path := tmp_path / "stallkit.toml").write_text(as_toml(wrong))
    with pytest.raises(ConfigError):
        load_settings(path, Overrides(), {})
    assert not jsonschema_rs.is_valid(settings_schema(), wrong)


def as_toml(value: dict[str, Any]) -> str:
    """These values as TOML, each on one line."""
    return "".join(f"{key} = {_inline(one)}\n" for key, one in value.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)
