"""Writes the table of commands into docs/command-line.md, from what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import click

from stallkit.cli.main import cli, summary
from stallkit.cli.verb_group import grouped

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
BEGIN, END = "<!-- printed by scripts/commands_page.py -->\n", "<!-- end -->"


def printed() -> Iterator[str]:
    """A row for each command, by what a person wants to do; those below a command stand in its row."""
    context = click.Context(cli, info_name="stallkit", **cli.context_settings)
    yield from ("| to | type | it does |", "| --- | --- | --- |")
    for title, verbs in grouped(cli.list_commands(context)):
        commands = {verb: cli.get_command(context, verb) for verb in verbs}
        shown = [(verb, command) for verb, command in commands.items() if command and not command.hidden]
        for number, (verb, command) in enumerate(shown):
            yield f"| {'' if number else title} | {_typed(command, context, verb)} | {summary(verb)} |"


def _typed(command: click.Command, context: click.Context, verb: str) -> str:
    """The command with its arguments, or with the commands below it."""
    if isinstance(command, click.Group):
        found = {name: command.get_command(context, name) for name in command.list_commands(context)}
        below = ", ".join(f"`{name}`" for name, one in found.items() if one and not one.hidden)
        return f"`stallkit {verb}` {below}"
    words = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    return f"`{' '.join(['stallkit', verb, *words])}`".replace("|", "\\|")


def written(page: str) -> str:
    """The page with the table of today."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n" + "\n".join(printed()) + f"\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
