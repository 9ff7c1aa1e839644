"""``stallkit signature``: how one signature looks, what tells it apart, what is pressed and why, and how it fares."""

from __future__ import annotations

import click
from rich.console import Console
from rich.text import Text

from stallkit.cli.common import SIGNATURE, print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.speech import quiet
from stallkit.cli.tables import plain_console
from stallkit.errors import UnknownName
from stallkit.packs.registry import installed_engine
from stallkit_lab.evaluate.holdout import installed_package_dirs
from stallkit_lab.portrait import Portrait, portrait, pressed

__all__ = ["signature_command"]


@click.command("signature")
@click.argument("name", metavar="PACK:ID", type=SIGNATURE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def signature_command(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show one signature: how it looks, what tells it apart, what is pressed and why, where it was seen, its figures.

    The figures are of the installed packs' own examples, tried now, which takes some seconds.

    \b
    Exit codes: 0; 64 no such signature is installed.
    Example:    stallkit signature claude_code:tool_permission
    """
    with plain_console(stderr=True, quiet=quiet()).status("trying the examples of all installed packs"):
        made = portrait(installed_engine(), name, installed_package_dirs())
    if made is None:
        raise UnknownName("signature", shown(name), "no installed pack has it", "see: stallkit packs --signatures")
    if as_json:
        print_json({"version": 1, **made.as_object()})
    else:
        _print(plain_console(), made)
    ctx.exit(Exit.OK)


def _print(on: Console, made: Portrait) -> None:
    signature, figures = made.rule.signature, made.figures
    on.print(Text(f"{made.rule.name}: {shown(signature.title)}", "bold"))
    what = f"{signature.state}, {signature.kind}" if signature.kind else str(signature.state)
    preview = ", a preview" if signature.preview else ""
    on.print(f"{what}, severity {signature.severity}, {signature.certainty} at most{preview}")
    on.print(f"tried {made.place}. of {made.of}, in tier {signature.tier.name.lower()}")
    if signature.source:
        on.print(f"source: {shown(signature.source)}")
    on.print(f"seen:   {_seen(made)}")
    _head(on, f"How it looks ({shown(made.example)})" if made.example else "How it looks: no example is kept")
    for held, row in made.looks:
        on.print(Text.assemble(("> " if held else "  ", "bold"), (shown(row), "bold" if held else "")), soft_wrap=True)
    _head(on, "What it needs")
    for clause in signature.all_of:
        on.print(f"  {shown(str(clause))}", soft_wrap=True)
    for clause in signature.none_of:
        on.print(f"  not {shown(str(clause))}", soft_wrap=True)
    _head(on, "What is pressed")
    on.print(f"  {shown(pressed(signature))}")
    _head(on, "What looks alike, and is something else" if made.apart else "Nothing that looks alike is kept")
    for one in made.apart:
        on.print(f"  {shown(one.name)}: taken for {shown(one.taken_for)}")
    _head(on, "Figures")
    on.print(
        f"  hits: {figures.hits_won} of {figures.hits}; misses told apart: {figures.misses_told} of {figures.misses}"
    )
    on.print(f"  examples of other signatures that it takes: {figures.elsewhere} of {figures.screens} examples")


def _head(on: Console, text: str) -> None:
    on.print()
    on.print(Text(text, "underline"))


def _seen(made: Portrait) -> str:
    rows = [f"{row.program} {row.version}".strip() + (f" ({row.seen})" if row.seen else "") for row in made.seen]
    return shown("; ".join(rows)) or "no capture: from notes"
