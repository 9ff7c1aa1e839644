"""``stallkit schema``: the JSON schemas of its files, and of what it prints."""

from __future__ import annotations

import json
from typing import Any

import click

from stallkit.schemas import SCHEMAS, json_schema

__all__ = ["schema_command"]

_FILES = ("pack", "policy", "settings")


@click.command("schema")
@click.argument("name", type=click.Choice([*_FILES, *SCHEMAS]), metavar="NAME")
def schema_command(name: str) -> None:
    """Print a JSON schema: of the files pack, policy or settings, or of what commands print with --json.

    An editor with a TOML language server checks a file that begins with a line such as `#:schema ./pack.schema.json`.
    The others: check, detection, event, exit-record, run, terminal-report, verdict.

    \b
    Exit codes: 0; 64 usage: there is no such schema.
    Example:    stallkit schema pack > pack.schema.json
    """
    click.echo(json.dumps(_schema(name), indent=1))


def _schema(name: str) -> dict[str, Any]:
    match name:  # each imports what it describes
        case "pack":
            from stallkit.packs.pack_schema import pack_schema

            return pack_schema()
        case "policy":
            from stallkit.press.policy_schema import policy_schema

            return policy_schema()
        case "settings":
            from stallkit.supervise.settings_schema import settings_schema

            return settings_schema()
    return json_schema(name)
