"""``stallkit release``: a person says that a session that was stopped by its limits may be helped again."""

from __future__ import annotations

from pathlib import Path

import click

from stallkit.cli.common import shown
from stallkit.cli.exits import Exit
from stallkit.config import store_file
from stallkit.supervise.store import Store

__all__ = ["command"]


@click.command("release")
@click.argument("target")
@click.pass_context
def command(ctx: click.Context, target: str) -> None:
    """Let a session that its limits stopped be helped again: its counts begin anew, its .auto-stop is removed.

    Look at it first (stallkit incidents TARGET): it was stopped because helping it did not help.

    \b
    Exit codes: 0 released; 1 it was not stopped, or the notes cannot be written.
    Example:    stallkit release tmux:worker1
    """
    store = Store(store_file())
    try:
        why, file = store.halted(target), store.stop_file(target)
        last = store.last(target)
        if why is None and last is not None and last.outcome in (None, "unknown"):
            why = "a press of which nobody knows the outcome"
        if why is None:
            click.echo(shown(f"{target}: nothing stopped it"), err=True)
            ctx.exit(Exit.ERROR)
        if file is not None:
            Path(file).unlink(missing_ok=True)
        store.halt(target, None)
    finally:
        store.close()
    click.echo(shown(f"{target}: released, after {why}"))
