"""``stallkit config``: the settings that a command takes here, where each comes from, and what may decide them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from stallkit.cli.common import POLICY, Duration, config_option, print_json, socket_flags
from stallkit.cli.output import Exit, may_ask, no_input_option, note, page, paint, say, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import FILE
from stallkit.settings import origins, settings_of
from stallkit.settings_files import Found, allow, deny, settings_in
from stallkit.terminal.text import escaped
from stallkit.toml_file import read_settings


@click.group("config", cls=VerbGroup)
def config_command() -> None:
    """The settings: stallkit.toml, the environment, options.

    \b
    Example:    stallkit config show
    """


@config_command.command("show", short_help="Show each setting, its value, and where that comes from.")
@config_option
@click.option("--policy", type=POLICY, help="As for `watch`.")
@click.option("--stall-timeout", "stall_s", type=Duration(above=True), help="As for `watch`.")
@click.option("--dry-run", is_flag=True, help="As for `watch`.")
@click.option("--set", "only_set", is_flag=True, help="Leave out the defaults.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@socket_flags
def show_command(
    config: Path | None,
    policy: str | None,
    stall_s: float | None,
    dry_run: bool,
    only_set: bool,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Show each setting, its value, and where that comes from: default, file:line, environment or option.

    An option wins over the environment, that over ./stallkit.toml, that over the user's own file.  What does not count
    of ./stallkit.toml, as nobody allowed it, is named below.

    \b
    Exit codes: 0; 1 a file is invalid; 64 the file that --config names is not there.
    Example:    stallkit config show --set
    """
    every, ignored = origins(config, os.environ, policy, stall_s, dry_run, socket_name, socket_path)
    rows = [one for one in every if one.by or not only_set]
    if as_json:
        told = [{"setting": one.name, "value": one.value, "from": one.by or "default"} for one in rows]
        print_json({"version": 1, "settings": told, "ignored": ignored})
        return
    widest = max((len(one.name) for one in rows), default=0)
    lines = []
    for one in rows:
        by = f"  {paint(f'({shown(one.by)})', fg='cyan')}" if one.by else paint("  (default)", dim=True)
        lines.append(f"{one.name:<{widest}}  {shown(one.text)}{by}")
    lines = lines or ["every setting is as it is by default"]
    page("\n".join([*lines, *[""] * bool(ignored), *map(shown, ignored)]))


@config_command.command("allow", short_help="Let the stallkit.toml of a directory decide, as it is now.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@click.option("--yes", is_flag=True, help="Do not ask.")
@no_input_option
@click.pass_context
def allow_command(ctx: click.Context, folder: Path, yes: bool) -> None:
    """Let DIR/stallkit.toml decide in DIR: what is pressed, which commands run.  It shows all of that, and asks.

    It counts in DIR itself, not below it, and until the file changes.  Programs that it names are not checked: whoever
    can write one decides what it does.

    \b
    Exit codes: 0 allowed; 1 not: you said no, the file is invalid, or others can write it; 64 there is no such file.
    Example:    stallkit config allow .
    """
    folder = folder.resolve()
    file = read_settings(folder / FILE)
    settings_of(Found(file, allowed=True))  # raises where it is invalid
    click.echo(f"{shown(file.path)} decides")
    for one in settings_in(file):
        value = json.dumps(one.value, ensure_ascii=False, default=str)
        click.echo(f"  {escaped(f'{one.name} = {value}')}")  # not redacted: who allows it has to see it
        click.echo(paint(f"      {one.decides}", dim=True))
    if not yes and not (may_ask() and click.confirm("Allow it?")):
        note("stallkit: it is not allowed" + ("" if may_ask() else "; to allow it without a question, add --yes"))
        ctx.exit(Exit.ERROR)
    allow(folder, file)
    say(shown(f"allowed in {folder}, until the file changes"))


@config_command.command("deny", short_help="Let the stallkit.toml of a directory decide nothing again.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
def deny_command(folder: Path) -> None:
    """Let DIR/stallkit.toml decide nothing that can act, as before `stallkit config allow DIR`.

    \b
    Exit codes: 0 it decides nothing, also if nobody had allowed it; 1 the record cannot be removed.
    Example:    stallkit config deny .
    """
    folder = folder.resolve()
    say(shown(f"{folder}: {'its settings decide nothing now' if deny(folder) else 'nobody had allowed it'}"))
