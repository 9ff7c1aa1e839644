"""The engine of the installed packs, for commands."""

from __future__ import annotations

from stallkit.cli.output import echo, shown
from stallkit.packs.registry import Engine, installed_engine

__all__ = ["engine"]


def engine() -> Engine:
    """An engine of the installed packs; names broken ones on standard error.  Raises PackError where there is none."""
    made = installed_engine()
    for problem in made.problems:
        echo(f"stallkit: {shown(problem)}", err=True)
    return made
