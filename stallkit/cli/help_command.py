"""``stallkit help``: what --help of a command says, by another way."""

from __future__ import annotations

import click

from stallkit.cli.speech import page
from stallkit.cli.verb_group import VerbGroup, dressed, like

__all__ = ["help_command"]


@click.command("help")
@click.argument("verbs", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(ctx: click.Context, verbs: tuple[str, ...]) -> None:
    """Show the help of a command; without one, all commands.

    \b
    Exit codes: 0 shown; 64 there is no such command.
    Example:    stallkit help check
                stallkit help stuck reply
    """
    above = ctx.find_root()
    for verb in verbs:
        command = above.command.get_command(above, verb) if isinstance(above.command, click.Group) else None
        if command is None:
            known = above.command.list_commands(above) if isinstance(above.command, VerbGroup) else []
            raise click.UsageError(f"no command {verb!r}{like(verb, known)}; {above.command_path} --help lists all")
        above = click.Context(dressed(command), info_name=verb, parent=above, **command.context_settings)
    page(above.get_help())
