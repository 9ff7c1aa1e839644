"""``stallkit completion``: the script by which a shell completes commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from stallkit.cli.completion_shells import ColonBash

__all__ = ["completion_command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell: commands, options, targets, sessions, packs, signatures, policies.

    What it completes is asked of stallkit at each press of Tab, so that the script need not be made again.

    \b
    Exit codes: 0 printed.
    Example:    eval "$(stallkit completion bash)"     # in ~/.bashrc
                eval "$(stallkit completion zsh)"      # below compinit
                stallkit completion fish | source      # in config.fish
    """
    kind = ColonBash if shell == "bash" else get_completion_class(shell)
    assert kind is not None  # click has one for each of the three
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "stallkit", "_STALLKIT_COMPLETE").source())
