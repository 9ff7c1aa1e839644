"""``stallkit probe``: the facts on a process's terminal, for who has its output elsewhere."""

from __future__ import annotations

import json

import click

from stallkit.cli.common import shown
from stallkit.evidence.snapshot import listens
from stallkit.jsonio import dump
from stallkit.probes.procfs import stat_of
from stallkit.probes.report import report

__all__ = ["probe_command"]


@click.command("probe")
@click.argument("pid", type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for StreamTransport.facts.")
def probe_command(pid: int, as_json: bool) -> None:
    """Print what the kernel knows of the terminal of the process PID: who is in its foreground, and what they wait for.

    Run it on the machine of the program, as its user or as root.  Nothing is read from the terminal.

    \b
    Exit codes: 0 printed; 1 it has no terminal, or one that cannot be opened; 64 there is no such process.
    Example:    ssh build7 stallkit probe 4711 --json
    """
    try:
        found = report(pid)
    except ValueError as error:
        wrong = click.UsageError if stat_of(pid) is None else click.ClickException
        raise wrong(shown(error)) from None
    if as_json:
        click.echo(json.dumps(dump(found)))
        return
    waits = {True: "waits for a key", False: "reads no key", None: "unknown whether it waits for a key"}
    who = ", ".join(f"{member.name} ({member.pid}, {member.state})" for member in found.kernel.members) or "unknown"
    click.echo(shown(f"foreground: {who}"))
    click.echo(waits[listens(found.kernel, found.tty)])
    modes = {True: "on", False: "off", None: "unknown"}
    click.echo(f"echo: {modes[found.tty.echo]}, whole lines: {modes[found.tty.canonical]}")
