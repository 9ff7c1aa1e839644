"""The entry point of the command."""

from __future__ import annotations

from typing import NoReturn

from stallkit.cli.commands import run

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    run()
