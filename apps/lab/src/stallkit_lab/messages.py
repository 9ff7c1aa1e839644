"""What several commands of the lab say alike."""

from __future__ import annotations

from typing import Sequence

import click

from stallkit.cli.output import shown
from stallkit.detect.signature import State

STATES = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]  # that a signature may have


def name_problems(problems: Sequence[object], most: int | None = None) -> None:
    """Each problem in a line on standard error; of more than `most` the first ones."""
    for problem in problems[:most]:
        click.echo(f"stallkit: {shown(str(problem))}", err=True)
    if most is not None and len(problems) > most:
        click.echo(f"stallkit: {len(problems) - most} more problems; --json lists them all", err=True)


def number(count: int, what: str) -> str:
    """A number of things in words.

    >>> number(1, "capture"), number(2, "capture")
    ('1 capture', '2 captures')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"
