"""How a command speaks: in colour or not, with notes or without, and long text through a pager.

`--no-color` and `--quiet` are options of every command, also behind its name; what they say is kept with the call.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from typing import IO, Any, Sequence

import click

__all__ = [
    "colours",
    "may_ask",
    "no_color_option",
    "no_input_option",
    "note",
    "page",
    "paint",
    "painted",
    "plain",
    "quiet",
    "quiet_option",
    "say",
    "shows_colours",
]

# --- colour ---

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {"stalled": 33, "asks": 33, "maybe": 33, "failed": 31, "hung": 31, "ended": 31}  # yellow, red
_GREEN = 32


def shows_colours(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal that is to show colours, as far as the environment says."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def painted(lines: Sequence[str], status: str) -> list[str]:
    """The lines with the status of the first in colour, and the reasons dim."""
    if not lines:
        return []
    word = f"{_BOLD}\x1b[{_COLOURS.get(status, _GREEN)}m{status}{_RESET}"
    first, *reasons = lines
    return [first.replace(f": {status} (", f": {word} (", 1), *(f"{_DIM}{line}{_RESET}" for line in reasons)]


# --- speech ---

_QUIET, _PLAIN, _SILENT = "stallkit.quiet", "stallkit.no_color", "stallkit.no_input"  # in the call's own dictionary
_LESS = "FRX"  # of less: ends where all fits, shows colours, leaves the text on the screen


def _kept(name: str) -> Any:
    def keep(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
        if given:
            ctx.meta[name] = True

    return keep


def _asked(name: str) -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(name))


def quiet_option() -> click.Option:
    """``--quiet``, for each command."""
    told = "Print results and errors alone: no notes, hints or progress."
    return click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_kept(_QUIET), help=told)


def no_color_option() -> click.Option:
    """``--no-color``, for each command."""
    told = "Print no colours, as NO_COLOR=1 does."
    return click.Option(["--no-color"], is_flag=True, expose_value=False, callback=_kept(_PLAIN), help=told)


def may_ask() -> bool:
    """Whether a person is at the keyboard, and may be asked."""
    return not _asked(_SILENT) and sys.stdin is not None and sys.stdin.isatty()


def quiet() -> bool:
    """Whether this call is to print results and errors alone."""
    return _asked(_QUIET)


def plain() -> bool:
    """Whether this call has --no-color."""
    return _asked(_PLAIN)


def colours(err: bool = False) -> bool:
    """Whether standard output (or error) is a terminal that is to show colours."""
    return not plain() and shows_colours(sys.stderr if err else sys.stdout)


no_input_option = click.option(  # for a command that may ask
    "--no-input", is_flag=True, expose_value=False, callback=_kept(_SILENT),
    help="Never ask: fail where an answer is needed.",
)  # fmt: skip


def note(text: str) -> None:
    """Say something that is neither a result nor an error, on standard error; nothing with --quiet."""
    if not quiet():
        click.echo(text, err=True)


def say(text: str) -> None:
    """Confirm on standard output what was done; nothing with --quiet."""
    if not quiet():
        click.echo(text)


def paint(text: str, **style: Any) -> str:
    """The text in that style (as `click.style` takes it), where colours are to be shown."""
    return click.style(text, **style) if colours() else text


def page(text: str) -> None:
    """Print a text; on a terminal that it does not fit, by ``$PAGER``, else by less.

    ``NO_PAGER`` with any value, and a ``PAGER`` that is empty or ``cat``, ask for none.
    """
    text = text if text.endswith("\n") else f"{text}\n"
    words = _pager() if sys.stdout is not None and sys.stdout.isatty() and _is_long(text) else []
    if not words or not _through(words, text):
        click.echo(text, nl=False, color=colours() or None)


def _is_long(text: str) -> bool:
    size, plain = shutil.get_terminal_size(), click.unstyle(text)
    rows = sum(max(1, -(-len(line) // size.columns)) for line in plain.splitlines())
    return rows >= size.lines  # the prompt that follows needs a row, too


def _pager() -> list[str]:
    given = os.environ.get("PAGER", "less")
    if os.environ.get("NO_PAGER") or os.environ.get("TERM") == "dumb" or given.strip() in ("", "cat"):
        return []
    try:
        return shlex.split(given)
    except ValueError:  # a quote that is not closed
        return []


def _through(words: list[str], text: str) -> bool:
    """Show the text by this program; whether it was there.  Ctrl-C is the pager's own."""
    environment = {**os.environ, "LESS": os.environ.get("LESS", _LESS), "LESSCHARSET": "utf-8"}
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"))  # a pager that was left early reads no more
    finally:
        signal.signal(signal.SIGINT, before)
    return True
