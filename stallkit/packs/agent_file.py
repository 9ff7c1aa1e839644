"""The agent file: ``agent.toml`` beside a pack's signatures, or one for each program in a folder ``agents``.

Format 1.  Top level: format, name, and the tables of `Agent`: ``[process]``, ``[title]``, ``[turn]``, ``[resume]``.
Errors name file, line and key; an unknown key is one.
"""

from __future__ import annotations

from importlib.resources.abc import Traversable
from typing import Any, Mapping

from stallkit.class_schema import closed, schema_of
from stallkit.detect.agent import Agent
from stallkit.errors import PackFormatError
from stallkit.toml_file import TomlError, TomlFile, parse_toml, structured

__all__ = ["AGENT_FILE", "AGENT_FOLDER", "FORMAT", "agent_files", "agent_schema", "parse_agent", "parse_agents"]

FORMAT = 1
AGENT_FILE, AGENT_FOLDER = "agent.toml", "agents"


def agent_files(folder: Traversable) -> dict[str, bytes]:
    """The content of each agent file of a pack's folder by its path, in order.  Raises OSError."""
    several = folder / AGENT_FOLDER
    there = [folder / AGENT_FILE, *(several.iterdir() if several.is_dir() else ())]
    found = {str(one): one.read_bytes() for one in there if one.name.endswith(".toml") and one.is_file()}
    return dict(sorted(found.items()))


def parse_agents(files: Mapping[str, bytes]) -> tuple[Agent, ...]:
    """The agents of some files.  Raises PackFormatError."""
    agents = {path: parse_agent(content, path) for path, content in files.items()}
    seen: dict[str, str] = {}
    for path, agent in agents.items():
        if agent.name in seen:
            raise PackFormatError(path, None, "name", f"{seen[agent.name]} names {agent.name!r} already")
        seen[agent.name] = path
    return tuple(agents.values())


def parse_agent(content: bytes | str, path: str) -> Agent:
    """The agent in a file's content; `path` is for messages.  Raises PackFormatError."""
    try:
        file = parse_toml(content, path)
        if file.data.get("format") != FORMAT:
            why = f"{file.data.get('format')!r} is not a format known here: write format = {FORMAT}"
            raise TomlError(why, file.lines.of("format"))
        values = {key: value for key, value in file.data.items() if key != "format"}
        return structured(TomlFile(path, values, file.text), Agent)
    except TomlError as error:
        raise PackFormatError(path, error.line, "", error.why) from error


def agent_schema() -> dict[str, Any]:
    """The JSON schema of an agent file, for editors: from the classes that it is read into."""
    table = schema_of(Agent)
    made = closed({"format": {"const": FORMAT}, **table["properties"]}, ["format", *table["required"]])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "What stallkit knows of an agent"}
    return {**head, **made}
