"""``stallkit capture``: one screen with all that is known of it, as a file."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from stallkit.cli.common import print_json, reach, session_options
from stallkit.core.signature import Kind, State
from stallkit.errors import StoreError
from stallkit.lab.capture import at_rest, captured
from stallkit.lab.notes import read_marker

__all__ = ["command"]


@click.command("capture")
@click.argument("target", metavar="TARGET|FILE|-")
@click.option("-o", "output", required=True, metavar="SCREEN", help="The file to write; - prints it.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@click.option("--program", metavar="NAME", help="The program that is seen; by default who is in the foreground.")
@click.option("--version", metavar="VERSION", help="Of the program.")
@click.option("--label", metavar="STATE[:KIND]", help="What is true of it, so that `stallkit eval` can use it.")
@click.option("--note", metavar="TEXT", help="For the reader.")
@click.option("--no-redact", is_flag=True, help="Do not mask what looks like a token or key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, the file's content in it.")
@session_options
def command(
    target: str,
    output: str,
    overwrite: bool,
    program: str | None,
    version: str | None,
    label: str | None,
    note: str | None,
    no_redact: bool,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Save the screen of a session with a front block: size, cursor, title, program, and what the kernel says of it.

    \b
    Exit codes: 0 saved; 1 nobody could look, or the file is there already; 64 usage.
    Example:    stallkit capture tmux:worker1 -o hit-1.txt --program claude --version 2.0
    """
    state, kind = _label(label)
    if output != "-" and not overwrite and Path(output).exists():
        raise click.ClickException(f"{output} is there already; name another, or say --overwrite")
    transport = reach(target, socket_name, socket_path, or_path=True)
    try:
        seen = at_rest(transport)
    finally:
        transport.close()
    how = f"{transport.target.partition(':')[0]}, {time.strftime('%Y-%m-%d')}"
    content = captured(
        seen, redacts=not no_redact, program=program or seen.foreground, version=version, captured=how,
        state=state, kind=kind, note=note,
    )  # fmt: skip
    if as_json:
        print_json({"version": 1, "target": seen.target, "file": output, "content": content})
    elif output == "-":
        click.echo(content, nl=False)
    if output != "-":
        _write(Path(output), content, overwrite)


def _write(path: Path, content: str, overwrite: bool) -> None:
    """Write the file; one that could not be written whole is taken away, unless it was there before."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL)
    opened = os.open(path, flags, 0o644)
    try:
        with os.fdopen(opened, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(content)
    except OSError as error:
        if not overwrite:
            path.unlink(missing_ok=True)
        raise StoreError("screen", str(path), error.strerror or str(error), "see whether there is room") from error


def _label(text: str | None) -> tuple[State | None, Kind | None]:
    if text is None:
        return None, None
    try:
        label = read_marker(text)
    except ValueError as error:
        raise click.UsageError(f"--label: {error}") from error
    return label.state, label.kind
