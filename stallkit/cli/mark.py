"""``stallkit mark``: the truth about a session that is being recorded, given from another terminal."""

from __future__ import annotations

from pathlib import Path

import click

from stallkit.cli.common import print_json, shown
from stallkit.lab.notes import read_marker
from stallkit.lab.record.marking import give

__all__ = ["command"]


@click.command("mark")
@click.argument("label", metavar="STATE[:KIND]")
@click.option(
    "--recording", "file", type=click.Path(path_type=Path), metavar="FILE", help="Which; by default the newest."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(label: str, file: Path | None, as_json: bool) -> None:
    """Mark what is true from now on in a recording that runs: working, waiting, waiting:KIND, idle, quota, ended.

    `unknown` takes the truth back.

    \b
    Exit codes: 0 marked; 1 no recording runs, or it does not answer; 64 nobody knows that state or kind.
    Example:    stallkit mark waiting:confirm
    """
    try:
        read_marker(label)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    path, at = give(label, file)
    if as_json:
        print_json({"version": 1, "file": path, "at": at, "label": label})
    else:
        click.echo(f"{label} at {at:.1f} s in {shown(path)}")
