"""``stallkit sandbox waive``, ``waived`` and their like: one refused operation is let through by a person."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import datetime
from importlib import resources
from typing import Any

import click

from stallkit.cli.common import Duration, print_json
from stallkit.cli.output import Exit, shown
from stallkit.config import audit_dir, waivers_file
from stallkit.errors import StallkitError
from stallkit.terminal.text import escaped
from stallkit_operator.audit import AuditLog
from stallkit_operator.cli.stuck_commands import who
from stallkit_operator.waiver import Waiver, Waivers

NOT_ASKED = 2  # of `waived`: nobody could be asked; 1 is a plain no there
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sandboxes.md).")
_GATE = click.option("--gate", default="push", show_default=True, metavar="NAME", help="The gate that asks.")


@click.command("waive")
@click.argument("subject")
@click.option("--why", required=True, help="Your reason, for the audit log.")
@click.option(
    "--for", "for_s", type=Duration("h", above=True), default="1h", show_default=True, help="How long: 30m, 2h, 1d."
)
@_GATE
@click.option("--item", type=click.IntRange(min=1), help="The notice in the queue that asked for it.")
@_JSON
def waive_command(subject: str, why: str, for_s: float, gate: str, item: int | None, as_json: bool) -> None:
    """Let one refused operation through for a time.

    SUBJECT is a commit's whole id, a content's SHA-256, or rule:NAME:PATH: one rule of the gate at one path.
    The gate stands outside the sandbox, and asks with `stallkit sandbox waived`.

    \b
    Exit codes: 0 granted; 1 it could not be kept or audited; 64 usage.
    Example:    stallkit sandbox waive rule:aws:keys.py --why 'a test key'
    """
    with _opened() as waivers:
        try:
            waiver = waivers.grant(subject, who(), why, for_s, gate, item)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if as_json:
        print_json({"version": 1, "waiver": _object(waiver)})
    else:
        click.echo(_row(waiver))


@click.command("waived", short_help="Say whether a waiver lets this through.")
@click.argument("subject")
@_GATE
@_JSON
@click.pass_context
def waived_command(ctx: click.Context, subject: str, gate: str, as_json: bool) -> None:
    """Say whether a waiver lets this through; a gate that refused it asks.

    Only exit code 0 is a yes, and its use is audited.

    \b
    Exit codes: 0 it is waived now; 1 it is not; all others: unknown, which a
                gate must take for a no.
    Example:    stallkit sandbox waived 9fceb02d0ae598e95dc970b74767f19372d61af8
    """
    try:
        with _opened() as waivers:
            waiver = waivers.waived(subject, who(), gate)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except (StallkitError, OSError) as error:  # the usual exit code of errors is 1, which is a no here
        click.echo(f"stallkit: {shown(error)}", err=True)
        ctx.exit(NOT_ASKED)
    if as_json:
        print_json({"version": 1, "waived": waiver is not None, "waiver": waiver and _object(waiver)})
    else:
        click.echo(_row(waiver) if waiver else "not waived")
    ctx.exit(Exit.OK if waiver else 1)


@click.command("waivers")
@click.option("--all", "over", is_flag=True, help="List expired and revoked ones too.")
@_JSON
def waivers_command(over: bool, as_json: bool) -> None:
    """List what is waived now.

    \b
    Exit codes: 0 listed; 1 the waivers cannot be read.
    Example:    stallkit sandbox waivers --all
    """
    with _opened() as waivers:
        found = waivers.all(over)
    if as_json:
        print_json({"version": 1, "waivers": [_object(one) for one in found]})
        return
    for one in found:
        click.echo(_row(one))
    if not found:
        click.echo("nothing is waived")


@click.command("unwaive")
@click.argument("id", type=click.IntRange(min=1), metavar="ID")
def unwaive_command(id: int) -> None:
    """Revoke a waiver, by its number in `waivers`.

    \b
    Exit codes: 0 revoked; 1 there is no such waiver.
    Example:    stallkit sandbox unwaive 1
    """
    with _opened() as waivers:
        click.echo(_row(waivers.revoke(id, who())))


@click.command("gate", short_help="Print an example gate: a git hook, or a scanner's wrapper.")
@click.argument("name", type=click.Choice(["pre-receive", "scan"]))
def gate_command(name: str) -> None:
    """Print an example gate: a hook of a git repository, or a wrapper of a secret scanner.

    \b
    Exit codes: 0 printed.
    Example:    stallkit sandbox gate pre-receive > repo.git/hooks/pre-receive
    """
    click.echo((resources.files("stallkit_operator") / "gates" / name).read_text("utf-8"), nl=False)


def _opened() -> closing[Waivers]:
    return closing(Waivers(waivers_file(), AuditLog(audit_dir() / "waivers.log")))


def _row(waiver: Waiver) -> str:
    state = f"until {_stamp(waiver.expires)}"
    if waiver.revoked is not None:
        state = f"revoked at {_stamp(waiver.revoked)}"
    elif waiver.expires <= time.time():
        state = f"expired at {_stamp(waiver.expires)}"
    # The subject is a public hash, which the redactor must not take for a secret.
    return (
        f"{waiver.id:>4}  {escaped(waiver.subject)}  {waiver.gate}  {state}, by {shown(waiver.by)}: {shown(waiver.why)}"
    )


def _object(waiver: Waiver) -> dict[str, Any]:
    names = ("id", "subject", "gate", "why", "by", "through", "item")
    times = {
        name: None if (at := getattr(waiver, name)) is None else datetime.fromtimestamp(at).astimezone().isoformat()
        for name in ("granted", "expires", "revoked")
    }
    return {**{name: getattr(waiver, name) for name in names}, **times}


def _stamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M:%S}"
