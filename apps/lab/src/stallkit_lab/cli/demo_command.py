"""``stallkit demo``: real programs driven into known states in a tmux server of their own, each checked."""

from __future__ import annotations

import click
from rich.progress import Progress

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.installed import engine
from stallkit.cli.speech import paint, quiet
from stallkit.cli.tables import hanging, plain_console
from stallkit_lab.demo import run

__all__ = ["demo_command"]

_WIDE = 80  # columns, also where there are more: lines are read more easily


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def demo_command(ctx: click.Context, as_json: bool) -> None:
    """Start real programs in a private tmux server, check each, and dismiss what the careful policy allows.

    Every program was driven into a known state; a verdict that differs, or a process left behind, exits with 1.

    \b
    Exit codes: 0 all as expected; 1 a verdict differs, or a process is left behind.
    Example:    stallkit demo
    """
    rows: list[dict[str, str]] = []
    with Progress(console=plain_console(stderr=True, quiet=quiet()), transient=True) as progress:
        bar = progress.add_task("checking real programs")

        def on_row(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        found = run(engine(), on_row)
    for scene in found.scenes:
        rows.append({name: shown(value) for name, value in scene.as_row().items()})
    wrong = [scene for scene in found.scenes if not scene.right]
    if as_json:
        print_json({"version": 1, "rows": rows, "wrong": len(wrong), "left_behind": found.left_behind})
    else:
        _print(rows, [scene.right for scene in found.scenes])
        for skipped in found.skipped:
            click.echo(shown(f"left out: {skipped}"))
        pressed = sum(1 for scene in found.scenes if scene.pressed)
        outcome = f"{len(found.scenes) - len(wrong)} of {len(found.scenes)} right"
        click.echo(f"{outcome}, {pressed} dismissed, {len(found.left_behind)} processes left behind")
    ctx.exit(Exit.OK if not wrong and not found.left_behind else Exit.ERROR)


def _print(rows: list[dict[str, str]], right: list[bool]) -> None:
    """Each program in a few short lines: what it was driven into, what was found, what was pressed or why not."""
    for row, is_right in zip(rows, right, strict=True):
        mark = paint("right", fg="green") if is_right else paint("WRONG", fg="red", bold=True)
        by = f", by {row['signature']}" if row["signature"] else ""
        click.echo(f"{mark}  {row['program']}, {row['driven_into']}")
        click.echo(f"       {row['verdict']}, {row['certainty']}{by}")
        pressed = row["keys"].replace("none: ", "no key: ", 1)
        for told in filter(None, (row["reason"], pressed)):
            for line in hanging(plain_console(width=_WIDE), f"       {told}", 7):
                click.echo(line)
