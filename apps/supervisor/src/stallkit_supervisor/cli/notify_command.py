"""``stallkit notify``: a test notice to each place where people are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import config_option, print_json, session_options, shown
from stallkit.cli.exits import Exit
from stallkit.cli.tables import plain_console
from stallkit.press.events import Event
from stallkit.transports.base import Options
from stallkit_supervisor.notify.channels import SHOWN, Channels, Shown, channels_of
from stallkit_supervisor.notify.notifier import cloud_event
from stallkit_supervisor.settings import Overrides, load_settings

__all__ = ["notify_command"]

_TEST = Event("test", "", {"why": "nobody has to do anything"})


@click.command("notify")
@config_option
@click.option("--notify", "shown_by", multiple=True, type=click.Choice(SHOWN), help="This place as well; repeat it.")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD, the event on its input.")
@click.option("--webhook", metavar="URL", help="Post the event there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/notify.md).")
@session_options
@click.pass_context
def notify_command(
    ctx: click.Context,
    config: Path | None,
    shown_by: tuple[Shown, ...],
    hook: str | None,
    webhook: str | None,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Send a test notice to each place that the settings and these options name, and say what happened.

    The places are those of `watch`: desktop, terminal, tmux (the clients of -L or -S), a command, a webhook.  Neither
    limits nor quiet hours hold it back.

    \b
    Exit codes: 0 each was told; 1 one was not; 64 usage, also where no place is named.
    Example:    stallkit notify --notify desktop --notify tmux
    """
    flags = Overrides(command=hook, webhook=webhook, notify=shown_by)
    settings = load_settings(config, flags, os.environ, ["events", "notify"])
    rows = _told(settings.channels(Options(socket_name, socket_path)))
    if not rows:
        raise click.UsageError("no place is named: give --notify, --exec, --webhook, or settings (docs/notify.md)")
    if as_json:
        print_json({"version": 1, "places": rows})
    else:
        _print(rows)
    ctx.exit(Exit.OK if all(row["told"] for row in rows) else Exit.ERROR)


def _told(chosen: Channels) -> list[dict[str, Any]]:
    """Each place, whether it was told, and what happened."""
    rows = []
    for channel in channels_of(chosen):
        try:
            told, what = True, channel.deliver(cloud_event(_TEST))
        except OSError as error:
            told, what = False, str(error)
        rows.append({"place": channel.name, "told": told, "what": what})
        channel.close()
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        told = Text("told") if row["told"] else Text("not told", "red")
        table.add_row(shown(row["place"]), told, shown(row["what"]))
    plain_console().print(table)
