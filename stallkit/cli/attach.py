"""``stallkit attach``: look again at a run in the background, wait on, answer or stop it; list them all."""

from __future__ import annotations

import sys
from typing import Any

import click

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.progress import progress
from stallkit.cli.run import EXIT_STATUS_HELP, SECONDS, conclude
from stallkit.core.keys import Keys
from stallkit.errors import SessionGone
from stallkit.runs import client as runs
from stallkit.runs.run import WINDOW_S

__all__ = ["command"]


@click.command("attach")
@click.argument("id", required=False)
@click.option("--wait", "waits", is_flag=True, help="Wait on until it ends or needs input.")
@click.option("--timeout", type=SECONDS, metavar="S", help="With --wait: S seconds at most.")
@click.option(
    "--window", type=SECONDS, default=WINDOW_S, show_default=True, metavar="S",
    help="With --wait: after S seconds say that it may be waiting.",
)  # fmt: skip
@click.option("--answer", metavar="TEXT", help="Type TEXT, and Enter where that is due; then wait on.")
@click.option("--keys", metavar="KEYS", help="Press keys by their names, such as 'Down Enter'; then wait on.")
@click.option(
    "--secret", is_flag=True, help="Answer a prompt for a secret; asked for here, or read from standard input."
)
@click.option("--seen", metavar="FINGERPRINT", help="Answer only the screen that was seen, by --json's `fingerprint`.")
@click.option("--stop", is_flag=True, help="End it: SIGHUP, SIGTERM, SIGKILL.")
@click.option("--exit-status", "passes", is_flag=True, help=EXIT_STATUS_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.pass_context
def command(
    ctx: click.Context,
    id: str | None,
    waits: bool,
    timeout: float | None,
    window: float,
    answer: str | None,
    keys: str | None,
    secret: bool,
    seen: str | None,
    stop: bool,
    passes: bool,
    as_json: bool,
) -> None:
    """Look at a run that `stallkit run` left in the background, the `last` one or that of an ID; without, list them.

    \b
    Exit codes: 0 it ended; 2 it waits for input; 3 it may; 5 it goes on; 6 time-out; 4 it is gone; 1 not answered.
    Example:    stallkit attach r1a2b3 --answer y
    """
    if sum((answer is not None, keys is not None, secret, stop)) > 1:
        raise click.UsageError("--answer, --keys, --secret and --stop exclude each other")
    if id is None:
        if waits or stop or secret or answer is not None or keys is not None:
            raise click.UsageError("which run? `stallkit attach` lists them")
        _list(as_json)
        return
    try:
        id = runs.latest() if id == "last" else id
        asked = _answer(answer, keys, secret)
        if asked is not None:
            outcome = runs.request(id, {"do": "answer", "seen": seen, **asked})
            if outcome.get("end") == "refused":
                click.echo(
                    f"stallkit: not answered: {shown(outcome['why'])}; look again with stallkit attach {id}", err=True
                )
                ctx.exit(Exit.ERROR)
        if stop:
            result = runs.request(id, {"do": "stop"})
        elif waits or asked is not None:
            with progress(id) as shown_progress:
                result = runs.request(id, {"do": "wait", "timeout": timeout, "window": window}, shown_progress)
        else:
            result = runs.request(id, {"do": "poll"})
    except SessionGone as error:
        click.echo(f"stallkit: {shown(str(error))}", err=True)
        ctx.exit(Exit.ENDED)
    conclude(ctx, id, result, passes, as_json)


def _answer(answer: str | None, keys: str | None, secret: bool) -> dict[str, Any] | None:
    """What to ask of the keeper, or None; raises click.UsageError for keys that nobody knows."""
    if keys is not None:
        try:
            return {"keys": str(Keys.parse(keys))}
        except ValueError as error:
            raise click.UsageError(f"--keys: {error}") from error
    if secret:
        if sys.stdin is not None and sys.stdin.isatty():
            return {"text": click.prompt("Secret", hide_input=True, default="", show_default=False), "secret": True}
        return {"text": sys.stdin.readline().rstrip("\n") if sys.stdin is not None else "", "secret": True}
    return None if answer is None else {"text": answer}


def _list(as_json: bool) -> None:
    found = runs.listing()
    if as_json:
        print_json({"version": 1, "runs": found})
        return
    if not found:
        click.echo("no run in the background; stallkit run starts one")
        return
    from rich.console import Console  # here: only a table needs it
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("run", "status", "started", "command"):
        table.add_column(column, overflow="fold", no_wrap=column != "command")
    for run in found:
        ended = f" {run['exit_status']}" if run["exit_status"] is not None else ""
        words = " ".join(map(str, run["command"]))
        table.add_row(
            *(Text(shown(text)) for text in (run["id"], f"{run['status']}{ended}", run["started"][:19], words))
        )
    Console().print(table)
