"""``stallkit supervise``: the same as a service, by a configuration file."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import click

from stallkit.cli.common import session_options
from stallkit.cli.watch import run_watch
from stallkit.errors import ConfigError
from stallkit.supervise.service import opened
from stallkit.supervise.settings import FILE, Overrides, Settings, load_settings
from stallkit.supervise.sources import sources_for
from stallkit.transports.base import Options

__all__ = ["command"]


@click.command("supervise")
@click.option(
    "--config", type=click.Path(path_type=Path), default=Path(FILE), show_default=True, help="Settings (docs/watch.md)."
)
@click.option("--check", "only_check", is_flag=True, help="Read the settings, say whether they will do, and end.")
@click.option("--policy", metavar="NAME|FILE", help="careful, daemon, observe, or a policy file; else the settings'.")
@click.option(
    "--stall-timeout",
    "stall_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds at rest after which a stall is suspected. [env: STALLKIT_STALL_TIMEOUT]",
)
@click.option("--dry-run", is_flag=True, help="Press nothing; say what would be pressed.")
@session_options
def command(
    config: Path,
    only_check: bool,
    policy: str | None,
    stall_s: float | None,
    dry_run: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Watch the sessions that a file names, until SIGTERM; print each event as a line of JSON.

    SIGHUP reads the file again: a bad one is refused, and the old settings kept.  SIGTERM ends it when what is being
    done is done.  Under systemd it says when it is ready and serves the watchdog (docs/watch.md has a unit).

    \b
    Exit codes: 0 ended as asked, or --check passed; 1 the settings will not do, or could not start: a port is taken.
    Example:    stallkit supervise --config stallkit.toml
    """
    flags = Overrides(policy=policy, stall_timeout_s=stall_s, dry_run=dry_run)
    settings = load_settings(config, flags, os.environ)
    if not settings.watch.targets and not settings.watch.all:
        raise click.UsageError(f"{config} names no session: give targets, or all = true, in [watch]")
    if only_check:
        _check(settings, config)
        return
    options = Options(socket_name, socket_path)
    watch = settings.watch
    run_watch(settings, watch.targets, watch.all, options, True, None, config=(config, flags))


def _check(settings: Settings, config: Path) -> None:
    """Everything that a start would open is opened, and closed again; nothing is looked at, and nobody called."""
    try:
        sources = sources_for(settings.watch.targets)
    except ValueError as error:
        raise ConfigError(str(config), str(error), "correct [watch] targets") from error
    with ExitStack() as stack:
        opened(stack, settings, None, lambda said: None, sources)
    rules, events = settings.rules, settings.events
    click.echo(f"{config}: policy {rules.policy.name}, a stall is suspected after {rules.tempo.stall_timeout_s:g} s")
    if events.webhook:
        host = urlsplit(events.webhook).hostname  # the rest of it may hold a token
        click.echo(f"webhook: an address of {host}, which was not called")
    if events.metrics:
        click.echo(f"metrics: {events.metrics} can be served")
