"""``stallkit pack capture``: one look at a session as a screen file, with all that is needed to judge it again."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path
from typing import Any

import click

from stallkit.cli.common import TARGET, print_json, reach, session_options
from stallkit.cli.output import say, shown
from stallkit.detect.signature import Kind, State
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.screenfile import front_of, render_screen
from stallkit.redact.redact import redact_all
from stallkit.transports.base import Transport, look
from stallkit_lab.record.mask import mask
from stallkit_lab.record.recording import new_file, read_marker

_GAP_S = 0.25  # between two looks
_LOOKS = 2  # after the first one, at a screen that moves


def at_rest(transport: Transport) -> Snapshot:
    """A look at the session once its screen rests, with the kernel's facts; at one that moves what stands after 0.5 s.

    Raises what the transport raises.
    """
    seen = look(transport)
    if seen.alive is None:  # a picture, which does not change
        return seen
    for _ in range(_LOOKS):
        before = seen
        time.sleep(_GAP_S)
        seen = look(transport)
        if seen.screen.fingerprint == before.screen.fingerprint or seen.alive is False:
            break
    return seen


def without_name(text: str, host: str | None) -> str:
    """The text with ``host`` instead of a machine's name, whole or up to its first dot, in as many cells.

    >>> without_name("ada@tower:~$ ssh tower2", "tower.example")
    'ada@hosth:~$ ssh tower2'
    """
    for name in (host or "", (host or "").split(".")[0]):
        if len(name) > 1 and name != "localhost":
            pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
            text = re.sub(pattern, ("host" * len(name))[: len(name)], text, flags=re.IGNORECASE)
    return text


def captured(
    seen: Snapshot, *, redacts: bool = True, title: bool = True, host: str | None = None, **said: str | None
) -> str:
    """A look as a screen file's content, with the keys of `said` (program, version, captured, note, ...).

    What looks like a credential is masked, cell by cell, so that the cursor stays where it was; so is the name `host`.
    Without `title` the terminal's title is left out, which often names the machine.
    """
    text = without_name("\n".join(seen.screen.lines), host)
    front: dict[str, Any] = {**front_of(seen), **{key: value for key, value in said.items() if value is not None}}
    if not title:
        front.pop("title", None)
    elif "title" in front:
        front["title"] = without_name(front["title"], host)
    if redacts:
        text, front = mask(text), redact_all(front)
    return render_screen(text, front)


# --- the command ---


@click.command("capture", short_help="Save the screen of a session as an example.")
@click.argument("target", metavar="TARGET|FILE|-", type=TARGET)
@click.option("-o", "--output", required=True, metavar="SCREEN", help="The file to write; - prints it.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--program", metavar="NAME", help="The program on the screen; by default the foreground process.")
@click.option("--version", metavar="VERSION", help="Of the program.")
@click.option("--label", metavar="STATE[:KIND]", help="What is true of it, so that `stallkit eval` can use it.")
@click.option("--note", metavar="TEXT", help="For the reader.")
@click.option("--no-redact", is_flag=True, help="Do not mask what looks like a token or key.")
@click.option("--keep-title", is_flag=True, help="Keep the terminal's title, which often names machine and folder.")
@click.option("--keep-host", is_flag=True, help="Keep this machine's name where the screen shows it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, the file's content in it.")
@session_options
def capture_command(
    target: str,
    output: str,
    overwrite: bool,
    program: str | None,
    version: str | None,
    label: str | None,
    note: str | None,
    no_redact: bool,
    keep_title: bool,
    keep_host: bool,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Save the screen of a session with a front block: size, cursor, program, and facts from the kernel.

    Left out unless asked for: the title, and this machine's name.  What looks like a credential is masked.

    \b
    Exit codes: 0 saved; 1 could not look, or the file exists already; 4 it ended; 64 usage.
    Example:    stallkit pack capture tmux:worker1 -o hit-1.txt --version 2.0
    """
    state, kind = _label(label)
    if output != "-" and not overwrite and Path(output).exists():
        raise click.ClickException(f"{output} exists already; name another, or give --overwrite")
    transport = reach(target, socket_name, socket_path, or_path=True)
    try:
        seen = at_rest(transport)
    finally:
        transport.close()
    how = f"{transport.target.partition(':')[0]}, {time.strftime('%Y-%m-%d')}"
    content = captured(
        seen, redacts=not no_redact, title=keep_title, host=None if keep_host else platform.node(),
        program=program or seen.foreground, version=version, captured=how,
        state=state, kind=kind, note=note,
    )  # fmt: skip
    if as_json:
        print_json({"version": 1, "target": seen.target, "file": output, "content": content})
    elif output == "-":
        click.echo(content, nl=False)
    if output != "-":
        _write(Path(output), content, overwrite)
        if not as_json:
            say(shown(_said(output, seen, content, keep_title)))


def _said(output: str, seen: Snapshot, content: str, keep_title: bool) -> str:
    """What was written, in a line: whoever shares the file wants to know what is in it."""
    size, cursor = seen.screen.size, seen.screen.cursor
    left = seen.screen.title is not None and not keep_title
    changed = content.split("---\n", 2)[2].rstrip("\n") != "\n".join(seen.screen.lines).rstrip("\n")
    parts = [
        f"wrote {output}:",
        f"{size.columns}x{size.rows}," if size else "size unknown,",
        f"cursor at column {cursor.column} of row {cursor.row}," if cursor else "no cursor,",
        f"{seen.foreground} in the foreground" if seen.foreground else "no program known",
        "; the title is left out" if left else "",
        "; names or credentials on it are masked" if changed else "",
    ]
    return " ".join(parts).replace(" ;", ";").rstrip()


def _write(path: Path, content: str, overwrite: bool) -> None:
    """Write the file; remove one that could not be written whole, unless it existed before."""
    opened = new_file(path, "screen", overwrite=overwrite)
    try:
        with os.fdopen(opened, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(content)
    except OSError as error:
        if not overwrite:
            path.unlink(missing_ok=True)
        raise StoreError("screen", str(path), error.strerror or str(error), "check disk space") from error


def _label(text: str | None) -> tuple[State | None, Kind | None]:
    if text is None:
        return None, None
    try:
        label = read_marker(text)
    except ValueError as error:
        raise click.UsageError(f"--label: {error}") from error
    return label.state, label.kind
