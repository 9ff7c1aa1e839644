"""``stallkit matrix``: which prompts of which versions of which programs the installed packs have seen."""

from __future__ import annotations

from typing import Sequence

import click

from stallkit.cli.common import print_json, shown
from stallkit.errors import StoreError
from stallkit.lab.evaluate.holdout import installed_homes
from stallkit.lab.matrix import Row, as_markdown, matrix
from stallkit.press.check import installed_engine

__all__ = ["command"]

_WIDE = 120  # columns that leave room for the signatures' names; --json and --markdown have them always
_FOLDED = {"version": 18, "keys": 8}  # columns: most are shorter, and names need the room


@click.command("matrix")
@click.argument("programs", metavar="[PROGRAM...]", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print a table for a document.")
def command(programs: tuple[str, ...], as_json: bool, markdown: bool) -> None:
    """Show what the installed packs were seen to tell: program by version by kind, and when it was last seen true.

    PROGRAM: show those only.  Read from the packs' captured hits.

    \b
    Exit codes: 0; 1 no pack is installed, or no such program was seen.
    Example:    stallkit matrix claude-code
    """
    rows = [
        row for row in matrix(installed_engine().packs, installed_homes()) if not programs or row.program in programs
    ]
    if not rows:
        asked = ", ".join(programs) or "any program"
        raise StoreError(
            "matrix", asked, "no installed pack has a capture of it", "see stallkit matrix for those that have"
        )
    if as_json:
        print_json({"version": 1, "rows": [row.as_object() for row in rows]})
    elif markdown:
        click.echo(as_markdown(rows), nl=False)
    else:
        _print(rows)


def _print(rows: Sequence[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    columns = ["program", "version", "asks or is", "severity", "keys", "last seen"]
    named = console.width >= _WIDE
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns + ["signatures"] * named:
        folds = column in _FOLDED or column == "signatures"
        table.add_column(column, overflow="fold", no_wrap=not folds, max_width=_FOLDED.get(column))
    for row in rows:
        cells = [shown(cell) for cell in (row.program, row.version, row.kind, row.severity, row.keys, row.seen)]
        cells += ["\n".join(map(shown, row.signatures))] * named
        table.add_row(*map(escape, cells))
    console.print(table)
