"""``stallkit pack list`` and ``config schema``: the installed packs, in the order of trial, and the JSON schemas."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import print_json
from stallkit.cli.output import Exit, page_table, ruled, shown, wide_console
from stallkit.cli.printed_json import all_printed, json_schema
from stallkit.cli.verb_group import VerbGroup, like
from stallkit.packs.pack_file import agent_schema, pack_schema
from stallkit.packs.registry import Engine
from stallkit.press.policy_file import policy_schema
from stallkit.settings import settings_schema

# --- pack ---


@click.group("pack", cls=VerbGroup)
def pack_command() -> None:
    """Packs of signatures: list those that are installed, write one, check and tune it (docs/packs.md).

    \b
    Example:    stallkit pack new acme
    """


@pack_command.command("list", short_help="List the installed packs in order.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--signatures", is_flag=True, help="List every signature in the order of trial.")
@click.pass_context
def list_command(ctx: click.Context, as_json: bool, signatures: bool) -> None:
    """List the installed packs in order, with their versions; name those that cannot be used.

    \b
    Exit codes: 0 all usable; 1 none installed, or one is broken.
    Example:    stallkit pack list --signatures
    """
    engine = Engine.default()
    if as_json:
        print_json(_packs_as_object(engine))
    else:
        _print_packs(engine, signatures)
        for problem in engine.problems:
            click.echo(f"stallkit: {shown(problem)}", err=True)
    ctx.exit(Exit.OK if engine.packs and not engine.problems else Exit.ERROR)


def _packs_as_object(engine: Engine) -> dict[str, object]:
    return {
        "version": 1,
        "packs": [
            {
                "name": pack.name,
                "version": pack.version,
                "distribution": pack.distribution,
                "priority": pack.priority,
                "foreground": sorted(pack.foreground),
                "signatures": len(pack.signatures),
            }
            for pack in engine.packs
        ],
        "order": [rule.name for rule in engine.rules],
        "problems": [str(problem) for problem in engine.problems],
    }


def _print_packs(engine: Engine, signatures: bool) -> None:
    if not engine.packs:
        click.echo("stallkit: no pack is installed; pip install 'stallkit[packs]'", err=True)
        return
    made = wide_console()
    table = _table(made, "pack", "version", "distribution", "prio", "count", "programs")
    for pack in engine.packs:
        programs = ", ".join(sorted(pack.foreground)) or "any"
        numbers = (str(pack.priority), str(len(pack.signatures)))
        table.add_row(*map(shown, (pack.name, pack.version, pack.distribution, *numbers, programs)))
    tables = [table]
    if signatures:
        table = _table(made, "", "signature", "kind", "severity", "keys")
        tier = None
        for number, rule in enumerate(engine.rules, 1):
            signature = rule.signature
            if signature.tier is not tier:
                tier = signature.tier
                table.add_row("", Text(f"tier {tier.name.lower()}", "bold"))
            keys = str(signature.dismissal.keys) if signature.dismissal else ""
            cells = (str(number), rule.name, signature.kind or signature.state, signature.severity, keys)
            table.add_row(*map(shown, cells))
        tables.append(table)
    page_table(made, *tables)


def _table(console: Console, *columns: str) -> Table:
    """A table that folds in a narrow terminal: programs and keys, before any name or number is cut."""
    table = Table(box=ruled(console), header_style="bold", pad_edge=False, padding=0 if console.is_terminal else (0, 1))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in ("programs", "keys"))
    return table


# --- schema ---

_FILES = ("pack", "agent", "policy", "settings")


@click.command("schema", short_help="Print a JSON schema: of packs, policies, settings, values.")
@click.argument("words", metavar="[NAME]", nargs=-1)
def schema_command(words: tuple[str, ...]) -> None:
    """Print a JSON schema: of a pack, agent, policy or settings file, of a value, or of what a command prints.

    An editor with a TOML language server checks a file that begins with a line such as `#:schema ./pack.schema.json`.
    NAME is that of a file or value, or the words of a command; without it, all are listed.

    \b
    Exit codes: 0; 64 usage: there is no such schema.
    Example:    stallkit config schema pack > pack.schema.json
                stallkit config schema stuck list
    """
    name, known = "-".join(words), all_printed()
    if not name:
        for title, names in (("files", _FILES), ("values", known.values), ("commands", known.commands)):
            click.echo(f"{title}: {', '.join(names)}")
        return
    if name not in (*_FILES, *known.names):
        raise click.UsageError(
            f"no schema {name!r}{like(name, [*_FILES, *known.names])}; stallkit config schema lists all"
        )
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
