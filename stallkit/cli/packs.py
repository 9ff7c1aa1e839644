"""``stallkit packs``: which packs are installed, in which order, and which are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stallkit.cli.common import print_json
from stallkit.cli.exits import Exit
from stallkit.packs.registry import Engine

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["command"]


@click.command("packs")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--signatures", is_flag=True, help="List every signature in the order of trial.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, signatures: bool) -> None:
    """List the installed packs in order, with their versions; name those that cannot be used.

    \b
    Exit codes: 0 all usable; 1 none installed, or one is broken.
    Example:    stallkit packs --signatures
    """
    engine = Engine.default()
    if as_json:
        print_json(_as_object(engine))
    else:
        _print(engine, signatures)
        for problem in engine.problems:
            click.echo(f"stallkit: {problem}", err=True)
    ctx.exit(Exit.OK if engine.packs and not engine.problems else Exit.ERROR)


def _as_object(engine: Engine) -> dict[str, object]:
    return {
        "version": 1,
        "packs": [
            {
                "name": pack.name,
                "version": pack.version,
                "distribution": pack.distribution,
                "priority": pack.priority,
                "foreground": sorted(pack.foreground),
                "signatures": len(pack.signatures),
            }
            for pack in engine.packs
        ],
        "order": [rule.name for rule in engine.rules],
        "problems": [str(problem) for problem in engine.problems],
    }


def _print(engine: Engine, signatures: bool) -> None:
    from rich.console import Console

    console = Console()
    if not engine.packs:
        click.echo("stallkit: no pack is installed; pip install 'stallkit[packs]'", err=True)
        return
    table = _table("pack", "version", "distribution", "prio", "count", "programs")
    for pack in engine.packs:
        programs = ", ".join(sorted(pack.foreground)) or "any"
        numbers = (str(pack.priority), str(len(pack.signatures)))
        table.add_row(pack.name, pack.version, pack.distribution, *numbers, programs)
    console.print(table)
    if signatures:
        table = _table("", "signature", "kind", "severity", "keys")
        tier = None
        for number, rule in enumerate(engine.rules, 1):
            signature = rule.signature
            if signature.tier is not tier:
                tier = signature.tier
                table.add_row("", f"[bold]tier {tier.name.lower()}[/]")
            keys = str(signature.dismissal.keys) if signature.dismissal else ""
            table.add_row(str(number), rule.name, signature.kind or signature.state, signature.severity, keys)
        console.print(table)


def _table(*columns: str) -> Table:
    """A table that folds in a narrow terminal: programs and keys, before any name or number is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in ("programs", "keys"))
    return table
