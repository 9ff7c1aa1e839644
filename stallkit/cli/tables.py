"""What commands draw by rich: tables, and progress on standard error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.text import Text

from stallkit.cli.output import shown
from stallkit.cli.speech import page, plain, quiet

__all__ = ["PIPE", "hanging", "page_table", "plain_console", "progress", "ruled", "wide_console"]

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
    """How tables are drawn there: a rule below the head on a terminal, none where a program reads it."""
    return SIMPLE_HEAD if console.is_terminal else None


def hanging(on: Console, line: str, indent: int) -> list[str]:
    """A long line wrapped between words for a terminal, with the lines after the first indented."""
    first, *more = Text(line).wrap(on, max(1, on.width - indent))
    return [first.plain.rstrip(), *(" " * indent + part.plain.rstrip() for part in more)]


@contextmanager
def progress(name: str) -> Iterator[Callable[[float, str], None]]:
    """A function to call with seconds and a last line; it shows nothing where standard error is not a terminal."""
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
