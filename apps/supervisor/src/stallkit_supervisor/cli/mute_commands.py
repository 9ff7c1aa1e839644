"""``stallkit mute`` and ``unmute``: a person knows of a prompt, and wants no more notices of it for now."""

from __future__ import annotations

import time
from datetime import datetime

import click

from stallkit.cli.common import shown
from stallkit.cli.parameters import TARGET, Duration
from stallkit.cli.speech import say
from stallkit.config import store_file
from stallkit_supervisor.cli.status_commands import known_to, watched_as
from stallkit_supervisor.store import Store

__all__ = ["mute_command", "unmute_command"]


@click.command("mute")
@click.argument("target", type=TARGET)
@click.option("--for", "for_s", type=Duration("m", above=True), help="For so long; a bare number is minutes.")
def mute_command(target: str, for_s: float | None) -> None:
    """Have a supervisor tell nobody of a session: of what it waits for now, or for some time whatever it does.

    Nothing else changes: it is watched, what a policy allows is done, and every prompt is in the event log.

    \b
    Exit codes: 0 muted; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit mute tmux:worker1 --for 90m
    """
    until = None if for_s is None else time.time() + for_s
    store = Store(store_file())
    try:
        target = watched_as(target, known_to(store))
        store.mute(target, until)
    finally:
        store.close()
    till = "what it waits for now is over" if until is None else f"{datetime.fromtimestamp(until).astimezone():%H:%M}"
    say(shown(target, f": nobody is told of it until {till}"))


@click.command("unmute")
@click.argument("target", type=TARGET)
def unmute_command(target: str) -> None:
    """Have a supervisor tell of a session again.

    \b
    Exit codes: 0 it is told of; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit unmute tmux:worker1
    """
    store = Store(store_file())
    try:
        target = watched_as(target, known_to(store))
        store.unmute(target)
    finally:
        store.close()
    say(shown(target, ": a person is told of it"))
