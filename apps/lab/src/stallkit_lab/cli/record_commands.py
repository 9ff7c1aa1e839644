"""``stallkit record``: save sessions, with what was true of them."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from stallkit.cli.common import Duration, must_be_there, print_json, session_options
from stallkit.cli.output import note, say, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.errors import StallkitError, StoreError
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options
from stallkit_lab.messages import number
from stallkit_lab.record.asciicast import MAX_SIDE, Header
from stallkit_lab.record.marking import Listener, MarkKeys, give
from stallkit_lab.record.recorder import Interrupted, PaneRecorder, record_program, terminal_size
from stallkit_lab.record.recording import RecordingWriter, read_marker

_PANE = "tmux:"


class _Record(click.Command):
    """Options may follow a pane's name; those that follow a command belong to the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        ctx.resilient_parsing, before = True, ctx.resilient_parsing  # errors are reported below, once
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        ctx.resilient_parsing = before
        words = given.get("words")  # a sentinel of click's where there are none
        ctx.allow_interspersed_args = isinstance(words, tuple) and bool(words) and words[0].startswith(_PANE)
        return super().parse_args(ctx, args)


class _Group(VerbGroup):
    """What is no verb of it is the session to record: `stallkit record -- npm init` is `record start -- npm init`."""

    default = "start"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.list_commands(ctx), *ctx.help_option_names} and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


@click.group("record", cls=_Group)
def record_command() -> None:
    """Record a command, or a tmux pane, with marks of what is true; play it again.

    `stallkit record -- COMMAND` is short for `record start -- COMMAND`, and `record tmux:NAME` for `record start
    tmux:NAME`.

    \b
    Example:    stallkit record -o session.cast -- npm init
                stallkit record tmux:worker1 -o worker1.cast --for 60
    """


@record_command.command("start", cls=_Record, short_help="Record a command, or a tmux pane, until it ends.")
@click.argument("words", metavar="tmux:NAME|-- COMMAND...", nargs=-1, required=True)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.cast",
    help="Where to; by default a file here, named after the time.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--no-redact", is_flag=True, help="Do not mask what looks like a token or key.")
@click.option("--size", metavar="WxH", help="The terminal's columns and rows; by default those of this one, or 80x24.")
@click.option("--for", "for_s", type=Duration(), help="End after so long.")
@click.option("--mark-key", default="C-]", show_default=True, metavar="KEY", help="Marks, with a letter behind it.")
@click.option(
    "--cast-version", type=click.IntRange(2, 3), default=2, show_default=True, help="Of the format, asciicast."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end (docs/recordings.md).")
@session_options
def start_command(
    words: tuple[str, ...],
    output: Path | None,
    overwrite: bool,
    no_redact: bool,
    size: str | None,
    for_s: float | None,
    mark_key: str,
    cast_version: int,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Record a command on a terminal of its own, or a tmux pane as it is, until it ends; what is typed is not recorded.

    While a command is recorded, the mark key and a letter mark what is true from now on: w waiting, k working, i idle,
    q quota, e ended, u unknown; the mark key twice types it.  `stallkit record mark` does so from another terminal.

    \b
    Exit codes: 0 recorded, a pane also until Ctrl-C; 1 it could not be recorded; 4 there is no such pane; 64 usage;
                130 the recording of a command was interrupted; what was recorded is kept.
    Example:    stallkit record -o session.cast -- npm init
                stallkit record tmux:worker1 -o worker1.cast --for 60
    """
    pane = words[0].startswith(_PANE)
    if pane and len(words) > 1:
        raise click.UsageError(f"{words[0]} is a pane, which is recorded as it is: remove {words[1]!r} behind it")
    if pane and size:
        raise click.UsageError("--size is for commands: a pane has its own")
    path = output or Path(time.strftime("stallkit-%Y%m%d-%H%M%S.cast"))
    keys = _keys(mark_key)
    status = None
    with ExitStack() as stack:
        recorder: PaneRecorder | None = None
        if pane:
            recorder = stack.enter_context(PaneRecorder(words[0], Options(socket_name, socket_path)))
            wanted, title, command, term = recorder.size, recorder.title, None, "screen-256color"
        else:
            must_be_there(words[0])
            wanted, title, command, term = _size(size) or terminal_size(), None, shlex.join(words), "xterm-256color"
        header = Header(wanted, cast_version, int(time.time()), title, command, term)
        recording = RecordingWriter(path, header, redacts=not no_redact, overwrite=overwrite)
        listener = _listener(recording)
        try:
            if recorder is not None:
                note(f"stallkit: recording {shown(words[0])} to {shown(path)}; Ctrl-C ends it")
                with suppress(KeyboardInterrupt, Interrupted):  # the way to end it
                    status = recorder.record(recording, for_s=for_s, listener=listener)
            else:
                attended = sys.stdin is not None and os.isatty(0) and os.isatty(1)
                if attended:
                    note(f"stallkit: recording to {shown(path)}")
                    note(f"stallkit: {mark_key} and w, k, i, q or e marks waiting, working, idle, quota or ended")
                status = record_program(
                    words, recording, size=wanted, keys=keys if attended else None, follows=size is None,
                    for_s=for_s, listener=listener,
                )  # fmt: skip
        except Interrupted:
            raise KeyboardInterrupt from None
        finally:
            _close(recording, listener, status)
    if as_json:
        told = {"file": str(path), "seconds": round(recording.seconds, 3), "markers": recording.markers}
        print_json({"version": 1, **told, "lost_bytes": recording.lost_bytes, "exit_status": status})


def _close(recording: RecordingWriter, listener: Listener | None, status: int | None) -> None:
    try:
        recording.close(status)
    finally:
        if listener is not None:
            listener.close()
    if recording.empty and isinstance(sys.exc_info()[1], StallkitError):  # it never began
        recording.path.unlink(missing_ok=True)
        return
    lost = f", {recording.lost_bytes:,} bytes lost" if recording.lost_bytes else ""
    marked = number(recording.markers, "marker")
    note(f"stallkit: recorded {recording.seconds:.1f} s, {marked}{lost}: {shown(str(recording.path))}")


def _listener(recording: RecordingWriter) -> Listener | None:
    """The socket for `stallkit record mark`; without it the recording goes on."""
    try:
        return Listener(recording.path, recording.marker)
    except StoreError as error:
        click.echo(f"stallkit: {shown(error)}; mark with the keys instead", err=True)
    return None


def _keys(text: str) -> MarkKeys:
    with suppress(ValueError):
        return MarkKeys(Keys.parse(text).to_bytes())
    raise click.UsageError(f"--mark-key {text!r}: give a key with Ctrl, such as C-]")


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    columns, _, rows = text.partition("x")
    sides = [int(side) if side.isdecimal() else 0 for side in (columns, rows)]
    if not all(1 <= side <= MAX_SIDE for side in sides):
        raise click.UsageError(f"--size {text!r}: write COLUMNSxROWS, such as 120x40")
    return sides[0], sides[1]


@record_command.command("mark", short_help="Mark what is true from now on in a recording that runs.")
@click.argument("label", metavar="STATE[:KIND]")
@click.option(
    "--recording", "file", type=click.Path(path_type=Path), metavar="FILE", help="Which one; by default the newest."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def mark_command(label: str, file: Path | None, as_json: bool) -> None:
    """Mark what is true from now on in a recording that runs: working, waiting, waiting:KIND, idle, quota, ended.

    `unknown` says that the state is not known from now on.

    \b
    Exit codes: 0 marked; 1 it does not answer; 4 no such recording runs; 64 unknown state or kind.
    Example:    stallkit record mark waiting:confirm
    """
    try:
        read_marker(label)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    path, at = give(label, file)
    if as_json:
        print_json({"version": 1, "file": path, "at": at, "label": label})
    else:
        say(f"{label} at {at:.1f} s in {shown(path)}")
