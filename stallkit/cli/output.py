"""What commands print, in lines and tables, and the code that they exit with.

The exit codes are documented in docs/command-line.md: scripts rely on them.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import IO, Any, Callable, Iterator, Sequence

import click
from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.text import Text

from stallkit.errors import SessionGone, StallkitError, Unknown
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped

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
    """The text in that style (as `click.style` takes it), where colours must be shown."""
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


# --- exit codes ---


class Exit(IntEnum):
    """What a command tells the shell."""

    OK = 0  # not stalled, or dismissed
    ERROR = 1  # operational error, or could not look
    STALLED = 2
    MAYBE = 3  # it may be waiting, or says that it works and is hung
    ENDED = 4  # the session ended or is gone
    BACKGROUND = 5  # it continues in the background
    TIMEOUT = 6  # the caller's
    FINDINGS = 7  # cases that cannot be read, a regression, errors of lint
    USAGE = 64  # sysexits(3) EX_USAGE; click's own 2 would read as stalled
    INTERRUPTED = 130


_OF_STATUS = {  # of press.check.Status
    "not_stalled": Exit.OK,
    "dismissed": Exit.OK,
    "stalled": Exit.STALLED,
    "asks": Exit.STALLED,
    "failed": Exit.STALLED,
    "hung": Exit.MAYBE,
    "maybe": Exit.MAYBE,
    "unknown": Exit.MAYBE,
    "ended": Exit.ENDED,
}


def exit_of(status: str, idle_ok: bool = False) -> Exit:
    """The exit code for what a check found; with `idle_ok` an agent at its composer is in order, whatever it says."""
    return Exit.OK if idle_ok and status in ("asks", "failed") else _OF_STATUS[status]


def shows_what_it_can() -> None:
    """Have characters escaped that standard output and error cannot show, such as if they are not UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def echo(text: str, err: bool = False, end: str = "\n") -> None:
    """Print a line on standard output or error, at once."""
    stream: IO[str] | None = sys.stderr if err else sys.stdout
    if stream is not None:
        stream.write(text + end)
        stream.flush()


def shown(*parts: object) -> str:
    """Text from a terminal, safe to print in another: redacted, on one line, without control characters.

    Each part is redacted on its own, and so is each of an error: a session may be called `token`, and the words
    about it are no secret for that.
    """
    texts = [text for part in parts for text in (part.parts if isinstance(part, StallkitError) else (str(part),))]
    return escaped("".join(map(redact, texts)))


def ended_by(error: Exception) -> Exit:
    """Print why a command cannot go on, in one line, and return its exit code; say so if the mistake is our own."""
    if isinstance(error, StallkitError):
        echo(f"stallkit: {shown(error)}", err=True)
        return _exit_of(error)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its own exit
        return Exit.ERROR
    if isinstance(error, OSError):
        why = f"could not read or write: {shown(error)}; check disk space and permissions"
        echo(f"stallkit: {why}", err=True)
        return Exit.ERROR
    if os.environ.get("STALLKIT_DEBUG"):
        raise error
    echo(
        f"stallkit: this is a bug in stallkit, {type(error).__name__}: {shown(error)};"
        " please report it with what STALLKIT_DEBUG=1 prints",
        err=True,
    )
    return Exit.ERROR


def _exit_of(error: StallkitError) -> Exit:
    """The exit code for an error that a command left to the end."""
    if isinstance(error, Unknown):
        return Exit.USAGE
    return Exit.ENDED if isinstance(error, SessionGone) else Exit.ERROR


# --- tables ---

PIPE = 200  # columns of what is no terminal


def plain_console(**options: Any) -> Console:
    """A console of rich that takes text as it is: names from elsewhere must not be read as markup or emoji.

    It still interprets control sequences, and what is made with `Text.from_markup`: give it what `shown` returns.
    """
    return Console(markup=False, emoji=False, highlight=False, no_color=plain() or None, **options)


def wide_console(**options: Any) -> Console:
    """The same; where there is no terminal, so wide that nothing is cut."""
    made = plain_console(**options)
    return made if made.is_terminal else plain_console(**options, width=PIPE)


def ruled(console: Console) -> Box | None:
    """How tables are drawn there: a rule below the head on a terminal, none if a program reads it."""
    return SIMPLE_HEAD if console.is_terminal else None


def hanging(on: Console, line: str, indent: int) -> list[str]:
    """A long line wrapped between words for a terminal, with the lines after the first indented."""
    first, *more = Text(line).wrap(on, max(1, on.width - indent))
    return [first.plain.rstrip(), *(" " * indent + part.plain.rstrip() for part in more)]


@contextmanager
def progress(name: str) -> Iterator[Callable[[float, str], None]]:
    """A function to call with seconds and a last line; it shows nothing if standard error is not a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield lambda seconds, line: None
        return

    with plain_console(stderr=True).status(Text(shown(name))) as status:
        yield lambda seconds, line: status.update(
            Text.assemble(f"{shown(name)} {seconds:.0f} s  ", (shown(line), "dim"))
        )


def page_table(console: Console, *renderables: Any) -> None:
    """Print what rich draws, by `page`."""
    with console.capture() as drawn:
        for one in renderables:
            console.print(one)
    text = drawn.get()
    page(text if console.is_terminal else "\n".join(line.rstrip() for line in text.splitlines()))
