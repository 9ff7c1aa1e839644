"""The pages on the commands, from what ``--help`` knows: one page a verb, and a list of all."""

from __future__ import annotations

import inspect
import re
from typing import Iterator

import click

from docs_site.tables import prose, written
from stallkit.cli.main import cli

__all__ = ["pages"]


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page."""
    context = click.Context(cli, info_name="stallkit", **cli.context_settings)
    verbs = [(verb, found) for verb in cli.list_commands(context) if (found := cli.get_command(context, verb))]
    summaries = {item.value: item.help or "" for item in cli.shell_complete(context, "")}
    rows = [(f"[`{verb}`]({verb}.md)", prose(summaries.get(verb, ""))) for verb, found in verbs if not found.hidden]
    listed = "\n".join(verb for verb, found in verbs if not found.hidden)
    yield (
        "reference/commands/index.md",
        "# Commands\n\nEach page is what `stallkit VERB --help` says. What all have in common, with exit codes, JSON"
        " and variables, is on [the command line](../../command-line.md).\n\n"
        f"{written(['verb', 'what it does'], rows)}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )
    for verb, found in verbs:
        if not found.hidden:
            yield f"reference/commands/{verb}.md", "".join(_sections(found, context, verb, 1))


def _sections(command: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    """A command, then each below it."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} stallkit {context.command_path.removeprefix('stallkit ')}\n\n"
    yield f"```text\n{context.get_usage()}\n```\n\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\f")[0].split("\n\n"):
        literal, _, rest = paragraph.partition("\b\n")
        yield f"```text\n{rest}\n```\n\n" if not literal and rest else f"{_with_links(paragraph)}\n\n"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1] and "--help" not in record[0]:
            yield f"`{record[0]}`\n: {_with_links(record[1])}\n\n"
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            below = command.get_command(context, verb)
            if below is not None and not below.hidden:
                yield from _sections(below, context, verb, level + 1)


def _with_links(text: str) -> str:
    """The prose of a help; a page that it names is linked."""
    return re.sub(r"docs/([\w/-]+)\.md", r"[\1](../../\1.md)", prose(text))
