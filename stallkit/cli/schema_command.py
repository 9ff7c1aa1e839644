"""``stallkit schema``: the JSON schemas of its files, and of what it prints."""

from __future__ import annotations

import json
from typing import Any

import click

from stallkit.cli.printed_json import all_printed, json_schema
from stallkit.cli.verb_group import like
from stallkit.packs.pack_schema import agent_schema, pack_schema
from stallkit.press.policy_file import policy_schema
from stallkit.settings import settings_schema

__all__ = ["schema_command"]

_FILES = ("pack", "agent", "policy", "settings")


@click.command("schema")
@click.argument("words", metavar="[NAME]", nargs=-1)
def schema_command(words: tuple[str, ...]) -> None:
    """Print a JSON schema: of a pack, agent, policy or settings file, of a value, or of what a command prints.

    An editor with a TOML language server checks a file that begins with a line such as `#:schema ./pack.schema.json`.
    NAME is that of a file or value, or the words of a command; without it, all are listed.

    \b
    Exit codes: 0; 64 usage: there is no such schema.
    Example:    stallkit schema pack > pack.schema.json
                stallkit schema stuck list
    """
    name, known = "-".join(words), all_printed()
    if not name:
        for title, names in (("files", _FILES), ("values", known.values), ("commands", known.commands)):
            click.echo(f"{title}: {', '.join(names)}")
        return
    if name not in (*_FILES, *known.names):
        raise click.UsageError(f"no schema {name!r}{like(name, [*_FILES, *known.names])}; stallkit schema lists all")
    click.echo(json.dumps(_schema(name), indent=1))


def _schema(name: str) -> dict[str, Any]:
    match name:  # each imports what it describes
        case "pack":
            return pack_schema()
        case "agent":
            return agent_schema()
        case "policy":
            return policy_schema()
        case "settings":
            return settings_schema()
    return json_schema(name)
