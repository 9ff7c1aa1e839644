"""The entry point of the command."""

from __future__ import annotations

import gc
from typing import NoReturn

from stallkit.cli.commands import run

__all__ = ["main"]

COLLECTED = 50_000  # objects between two garbage collections: most commands end before, and none has more garbage


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    gc.set_threshold(COLLECTED)
    try:
        run()
    finally:
        gc.freeze()  # Python's own end would look through all of it once more
