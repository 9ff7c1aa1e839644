"""``stallkit wrap``: a program behind a relay in the user's own terminal."""

from __future__ import annotations

import click

from stallkit.cli.common import must_be_there
from stallkit.cli.output import shown
from stallkit.errors import StartRefused
from stallkit_wrap.relay.driver import NOT_STARTED, wrap
from stallkit_wrap.relay.terminals import end_as


@click.command("wrap", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True)
@click.option("--no-judge", is_flag=True, help="Do not judge the screen of a program that reports nothing.")
@click.pass_context
def wrap_command(ctx: click.Context, words: tuple[str, ...], no_judge: bool) -> None:
    """Run COMMAND in this terminal, and report its status to whoever looks.

    Keys, colours, images, size, signals and job control pass unchanged.  A program that can report its status (OSC
    7501) gets an answer, so it does.  For any other, stallkit judges the screen and reports the status: to this
    terminal by OSC 7501, and to `stallkit check` and `watch` (docs/wrap.md).

    \b
    Exit codes: COMMAND's own (128 + N after signal N); 127 it could not be started.
    Example:    stallkit wrap -- my-agent
    """
    try:
        must_be_there(words[0])
        status = wrap(words, judge=not no_judge)
    except (StartRefused, OSError) as error:
        click.echo(f"stallkit: {shown(error)}", err=True)
        ctx.exit(NOT_STARTED)
    end_as(status)
