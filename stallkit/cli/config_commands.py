"""``stallkit config show``: the settings that a command would take here, and where each of them comes from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from stallkit.cli.common import print_json, shown, socket_flags
from stallkit.cli.parameters import POLICY, Duration
from stallkit.cli.speech import page, paint
from stallkit.cli.verb_group import VerbGroup

__all__ = ["config_command"]


@click.group("config", cls=VerbGroup)
def config_command() -> None:
    """The settings: stallkit.toml, the environment, options.

    \b
    Example:    stallkit config show
    """


@config_command.command("show", short_help="Show each setting, its value, and where that comes from.")
@click.option("--config", type=click.Path(path_type=Path), help="This file alone; else ./stallkit.toml and the user's.")
@click.option("--policy", type=POLICY, help="As for `watch`.")
@click.option("--stall-timeout", "stall_s", type=Duration(above=True), help="As for `watch`.")
@click.option("--dry-run", is_flag=True, help="As for `watch`.")
@click.option("--set", "only_set", is_flag=True, help="Leave out what is as it is by default.")
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

    An option wins over the environment, that over ./stallkit.toml, that over the user's own file.

    \b
    Exit codes: 0; 1 a file is invalid; 64 the file that --config names is not there.
    Example:    stallkit config show --set
    """
    from stallkit.supervise.provenance import origins
    from stallkit.supervise.settings import Overrides

    flags = Overrides(policy=policy, stall_timeout_s=stall_s, dry_run=dry_run)
    rows = [one for one in origins(config, flags, os.environ, socket_name, socket_path) if one.by or not only_set]
    if as_json:
        told = [{"setting": one.name, "value": one.value, "from": one.by or "default"} for one in rows]
        print_json({"version": 1, "settings": told})
        return
    widest = max((len(one.name) for one in rows), default=0)
    lines = []
    for one in rows:
        by = f"  {paint(f'({shown(one.by)})', fg='cyan')}" if one.by else paint("  (default)", dim=True)
        lines.append(f"{one.name:<{widest}}  {shown(one.text)}{by}")
    page("\n".join(lines) or "every setting is as it is by default")
