"""One line that says that something goes on: on standard error, on a terminal, after the first second."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Callable, Iterator

from stallkit.cli.common import shown

__all__ = ["progress"]


@contextmanager
def progress(name: str) -> Iterator[Callable[[float, str], None]]:
    """What to call with seconds and a last line; it shows nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda seconds, line: None
        return
    from rich.console import Console  # here: it costs 60 ms, and most commands are over before
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status(escape(shown(name))) as status:
        yield lambda seconds, line: status.update(
            f"{escape(shown(name))} {seconds:.0f} s  [dim]{escape(shown(line))}[/]"
        )
