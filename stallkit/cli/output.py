"""What commands print, and how an error ends them."""

from __future__ import annotations

import io
import os
import sys
from typing import IO

from stallkit.cli.exits import Exit
from stallkit.errors import SessionGone, StallkitError, Unknown
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped

__all__ = ["echo", "ended_by", "shows_what_it_can", "shown"]


def shows_what_it_can() -> None:
    """Have characters escaped that standard output and error cannot show, such as where they are not UTF-8."""
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

    Each part is redacted by itself, and so is each of an error: a session may be called `token`, and what is said of
    it is no secret for that.
    """
    texts = [text for part in parts for text in (part.parts if isinstance(part, StallkitError) else (str(part),))]
    return escaped("".join(map(redact, texts)))


def ended_by(error: Exception) -> Exit:
    """Print why a command cannot go on, in one line, and return its exit code; a mistake of our own is told as that."""
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
