"""``stallkit send``: text for a session, held while a prompt stands there."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from stallkit.cli.common import engine, log_option, print_json, reach, session_options, shown
from stallkit.cli.exits import Exit
from stallkit.cli.sessions import behind, end_object, show_end
from stallkit.config import event_log
from stallkit.press.events import EventLog
from stallkit.press.send import Sending, Sent, send

__all__ = ["command"]

_EXITS = {
    Sent.TYPED: Exit.OK,
    Sent.UNSEEN: Exit.ERROR,
    Sent.REFUSED: Exit.ERROR,
    Sent.BLOCKED: Exit.STALLED,
    Sent.MAYBE: Exit.MAYBE,
    Sent.ENDED: Exit.ENDED,
    Sent.BUSY: Exit.TIMEOUT,
}


@click.command("send")
@click.argument("target")
@click.argument("text")
@click.option("--wait", "wait_s", type=click.FloatRange(min=0), default=0.0, metavar="S", help="Hold it for S seconds.")
@click.option("--force", is_flag=True, help="Type it whatever stands there; the event log says so.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@log_option
@session_options
@click.pass_context
def command(
    ctx: click.Context,
    target: str,
    text: str,
    wait_s: float,
    force: bool,
    as_json: bool,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Type TEXT and Enter into a session whose agent is idle; hold it while a prompt stands there.

    What is meant for an agent would answer a dialog, or run in the shell that is left of it.  TEXT may be - for text on
    standard input.

    \b
    Exit codes: 0 typed; 1 could not, or what came of it was not seen; 2 blocked by a prompt; 3 by one perhaps;
                4 it ended; 6 it is still busy.
    Example:    stallkit send tmux:worker1 'run the tests again' --wait 600
    """
    if text == "-":
        text = sys.stdin.read().rstrip("\n")
    transport = reach(target, socket_name, socket_path)
    try:
        done = send(transport, text, engine(), force=force, wait_s=wait_s, log=EventLog(event_log(log)))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    finally:
        transport.close()
    ended = behind(target, socket_name, socket_path) if done.sent is Sent.ENDED else None
    if as_json:
        print_json({**_as_object(target, done), "ended": end_object(ended) if ended else None})
    else:
        click.echo(shown(f"{target}: {done.sent}{'' if done.sent is Sent.TYPED else f', {done.why}'}"))
        if ended is not None:
            show_end(ended, as_json)
    if done.unlogged is not None:
        click.echo(f"stallkit: {shown(str(done.unlogged))}", err=True)
    ctx.exit(_EXITS[done.sent])


def _as_object(target: str, done: Sending) -> dict[str, object]:
    verdict = done.verdict
    return {
        "version": 1,
        "target": target,
        "sent": str(done.sent),
        "why": done.why,
        "state": str(verdict.state) if verdict else None,
        "kind": str(verdict.kind) if verdict and verdict.kind else None,
    }
