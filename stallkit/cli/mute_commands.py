"""``stallkit mute`` and ``unmute``: a person knows of a prompt, and wants no more notices of it for now."""

from __future__ import annotations

import time
from datetime import datetime

import click

from stallkit.cli.common import shown
from stallkit.config import store_file

__all__ = ["mute_command", "unmute_command"]


@click.command("mute")
@click.argument("target")
@click.option("--for", "minutes", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES", help="For so long.")
def mute_command(target: str, minutes: float | None) -> None:
    """Have a supervisor tell nobody of a session: of what it waits for now, or for some minutes whatever it does.

    Nothing else changes: it is watched, what a policy allows is done, and every prompt is in the event log.

    \b
    Exit codes: 0 muted; 1 the notes cannot be written.
    Example:    stallkit mute tmux:worker1 --for 90
    """
    from stallkit.supervise.store import Store

    until = None if minutes is None else time.time() + 60 * minutes
    store = Store(store_file())
    try:
        store.mute(target, until)
    finally:
        store.close()
    till = "what it waits for now is over" if until is None else f"{datetime.fromtimestamp(until).astimezone():%H:%M}"
    click.echo(shown(f"{target}: nobody is told of it until {till}"))


@click.command("unmute")
@click.argument("target")
def unmute_command(target: str) -> None:
    """Have a supervisor tell of a session again.

    \b
    Exit codes: 0 it is told of; 1 the notes cannot be written.
    Example:    stallkit unmute tmux:worker1
    """
    from stallkit.supervise.store import Store

    store = Store(store_file())
    try:
        store.unmute(target)
    finally:
        store.close()
    click.echo(shown(f"{target}: a person is told of it"))
