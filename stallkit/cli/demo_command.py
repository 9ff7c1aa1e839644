"""``stallkit demo``: real programs driven into known states in a tmux server of their own, each checked."""

from __future__ import annotations

import click

from stallkit.cli.common import engine, plain_console, print_json, shown
from stallkit.cli.exits import Exit

__all__ = ["demo_command"]


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def demo_command(ctx: click.Context, as_json: bool) -> None:
    """Start real programs in a private tmux server, check each, and dismiss what the careful policy allows.

    Every program was driven into a known state; a verdict that differs, or a process left behind, exits with 1.

    \b
    Example:  stallkit demo
    """
    from rich.progress import Progress

    from stallkit.lab.demo import run

    rows: list[dict[str, str]] = []
    with Progress(console=plain_console(stderr=True), transient=True) as progress:
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
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    named = max((len(row["signature"]) for row in rows), default=0)  # no other column has words as long
    for column in ("", "program, driven into", "verdict", "signature, reason", "key, or why none"):
        table.add_column(column, overflow="fold", width=max(named, 20) if column.startswith("signature") else None)
    for row, is_right in zip(rows, right, strict=True):
        mark = Text("right", "green") if is_right else Text("WRONG", "bold red")
        reason = "\n".join(filter(None, (row["signature"], row["reason"])))
        verdict = f"{row['verdict']}, {row['certainty']}"
        program = f"{row['program']}, {row['driven_into']}"
        table.add_row(mark, *map(Text, (program, verdict, reason, row["keys"])))
    plain_console().print(table)
