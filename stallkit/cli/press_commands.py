"""``stallkit send`` and ``wait``: text for a session that is ready for it, and the wait until one is."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from stallkit.cli.common import (
    TARGET,
    Duration,
    EndReport,
    RunningTarget,
    engine,
    log_option,
    must_be_piped,
    policy_option,
    print_json,
    reach,
    session_options,
    started,
)
from stallkit.cli.output import Exit, shown
from stallkit.config import event_log
from stallkit.press.events import EventLog
from stallkit.press.send import LOOK_S, START_S, Readiness, Ready, Sending, Sent, send, wait_until_ready
from stallkit.settings import configured_policy
from stallkit.transports.tmux.identity import valid_name

_SEND_EXITS = {
    Sent.TYPED: Exit.OK,
    Sent.UNSEEN: Exit.ERROR,
    Sent.REFUSED: Exit.ERROR,
    Sent.BLOCKED: Exit.STALLED,
    Sent.MAYBE: Exit.MAYBE,
    Sent.ENDED: Exit.ENDED,
    Sent.BUSY: Exit.TIMEOUT,
}


@click.command("send")
@click.argument("target", type=TARGET)
@click.argument("text")
@click.option("--wait", "wait_s", type=Duration(), default="0s", help="Wait up to so long for the composer.")
@click.option("--force", is_flag=True, help="Type it whatever the screen shows; the event log records that.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@log_option
@session_options
@click.pass_context
def send_command(
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
    """Type TEXT into an idle agent's own, empty composer, and press Enter; hold it while a prompt waits there.

    Text meant for an agent would otherwise answer a dialog, or run in the shell that the agent left.  TEXT may be - for
    text on standard input.

    \b
    Exit codes: 0 typed; 1 could not, or the outcome was not seen; 2 blocked by a prompt; 3 perhaps by one, or it is
                not surely the agent's composer, or not empty; 4 it ended; 6 it is still busy.
    Example:    stallkit send tmux:worker1 'run the tests again' --wait 600
    """
    if text == "-":
        must_be_piped("the text", "cat note.txt")
        text = sys.stdin.read().rstrip("\n")
    transport = reach(target, socket_name, socket_path)
    try:
        done = send(transport, text, engine(), force=force, wait_s=wait_s, log=EventLog(event_log(log)))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    finally:
        transport.close()
    ended = started().behind(target, socket_name, socket_path) if done.sent is Sent.ENDED else None
    if as_json:
        print_json({**_as_object(target, done), "ended": ended.as_object() if ended else None})
    else:
        click.echo(shown(target, f": {done.sent}{'' if done.sent is Sent.TYPED else f', {done.why}'}"))
        if ended is not None:
            ended.show(as_json)
    if done.unlogged is not None:
        click.echo(f"stallkit: {shown(done.unlogged)}", err=True)
    ctx.exit(_SEND_EXITS[done.sent])


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


_READY_EXITS = {
    Ready.READY: Exit.OK,
    Ready.BLOCKED: Exit.STALLED,
    Ready.TIMEOUT: Exit.TIMEOUT,
    Ready.VANISHED: Exit.ENDED,
}


@click.command("wait")
@click.argument("target", type=TARGET)
@policy_option
@click.option(
    "--timeout", "timeout_s", type=Duration(), default=f"{START_S:g}s", show_default=True,
    help="Give up after so long.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
@log_option
@session_options
@click.pass_context
def wait_command(
    ctx: click.Context,
    target: str,
    policy: str | None,
    timeout_s: float,
    as_json: bool,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Wait until an agent is idle at its own composer, answering its start-up prompts as far as the policy allows.

    It also waits for a session that does not exist yet, or a name that was not started yet.

    \b
    Exit codes: 0 ready; 1 could not look; 2 a prompt needs a person; 4 it vanished during its start; 6 time-out.
    Example:    stallkit wait tmux:worker1 --timeout 120
    """
    ctx.exit(wait_for(target, policy, timeout_s, as_json, log, socket_name, socket_path))


def wait_for(
    target: str,
    policy: str | None,
    timeout_s: float,
    as_json: bool = False,
    log: Path | None = None,
    socket_name: str | None = None,
    socket_path: str | None = None,
) -> Exit:
    """Wait, print the outcome, note it for a session that stallkit started, and return the exit code."""
    allowed, events = configured_policy(policy), EventLog(event_log(log))
    session, left_s = _started(target, timeout_s) if valid_name(target) else (None, timeout_s)
    if isinstance(session, EndReport):
        return _printed(target, Readiness(Ready.VANISHED, "vanished during its start"), session, as_json)
    if session is None and valid_name(target):
        why = f"no session of that name was started within {timeout_s:g} s; for one of tmux's own write tmux:{target}"
        return _printed(target, Readiness(Ready.TIMEOUT, why), None, as_json)
    transport = reach(target, socket_name, socket_path)
    try:
        found = wait_until_ready(
            transport, policy=allowed, timeout_s=left_s, engine=engine(), log=events, begun=session is not None
        )
    finally:
        transport.close()
    ended = started().note(target, found) if ":" not in target else None
    return _printed(target, found, ended, as_json)


def _started(name: str, timeout_s: float) -> tuple[RunningTarget | EndReport | None, float]:
    """The session of that name, once it was started (None: not in time), and the seconds left."""
    while (session := started().find(name)) is None and timeout_s > 0:
        pause = min(LOOK_S, timeout_s)
        time.sleep(pause)
        timeout_s -= pause
    return session, timeout_s


def _printed(target: str, found: Readiness, ended: EndReport | None, as_json: bool) -> Exit:
    if as_json:
        verdict = found.last.verdict if found.last else None
        print_json(
            {
                "version": 1,
                "target": target,
                "ready": str(found.ready),
                "why": found.why,
                "dismissed": list(found.dismissed),
                "state": str(verdict.state) if verdict else None,
                "kind": str(verdict.kind) if verdict and verdict.kind else None,
                "ended": ended.as_object() if ended else None,
            }
        )
    else:
        after = f" after {', '.join(found.dismissed)}" if found.dismissed else ""
        how = "" if found.last is None and ended is not None else f"{found.ready}{after}, "
        click.echo(shown(target, f": {how}{found.why}"))
        if ended is not None:
            ended.show(as_json)
    return _READY_EXITS[found.ready]
