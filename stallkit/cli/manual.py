"""The manual pages, section 1: made of the same texts as --help, by the build of the wheel (hatch_build.py).

A page is roff with the macros of man(7): ``man stallkit-check``, or ``man stallkit check``.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Collection, Iterator

import click

from stallkit.cli.command_set import CommandSet, command_sets
from stallkit.cli.main import OWN, cli, summary
from stallkit.cli.verb_group import VerbGroup, dressed, grouped
from stallkit.distributions import named, own_version

_LABEL = re.compile(r"(?:Exit codes[^:]*|Examples?):")
_CODE = re.compile(r"(?:^|; )(?=(?:\d|all others))")


def pages(date: str, commands: CommandSet = OWN) -> Iterator[tuple[str, str]]:
    """The file name and content of a page for each command of a set, and their verbs; with OWN also of stallkit."""
    top = click.Context(dressed(cli), info_name="stallkit", **cli.context_settings)
    if commands is OWN:
        yield "stallkit.1", _page(top, date)
    joined = {path for one in (OWN, commands, *command_sets()) for path in one.below}  # each a page of who brings it
    for verb in sorted(commands.verbs):
        yield from _pages(click.Context(dressed(commands.command(verb)), info_name=verb, parent=top), date, joined)
    for path, where in sorted(commands.below.items()):
        group, _, verb = path.partition(" ")
        above = click.Context(VerbGroup(group), info_name=group, parent=top)
        yield from _pages(click.Context(dressed(named(where)), info_name=verb, parent=above), date, joined)


def _pages(ctx: click.Context, date: str, joined: Collection[str]) -> Iterator[tuple[str, str]]:
    yield f"{ctx.command_path.replace(' ', '-')}.1", _page(ctx, date)
    if isinstance(ctx.command, click.Group):
        for verb in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, verb)
            assert command is not None  # it is listed
            if f"{ctx.info_name} {verb}" not in joined:
                yield from _pages(click.Context(dressed(command), info_name=verb, parent=ctx), date, joined)


def _page(ctx: click.Context, date: str) -> str:
    name = ctx.command_path.replace(" ", "-")
    text, codes, examples = _parts(ctx.command.help or "")
    lines = [f'.TH {_quoted(name.upper())} 1 {_quoted(date)} {_quoted(f"stallkit {own_version()}")} "User Commands"']
    lines += [".SH NAME", f"{_roff(name)} \\- {_roff(_short(ctx))}"]
    lines += [".SH SYNOPSIS", f".B {_roff(ctx.command_path)}", _roff(" ".join(ctx.command.collect_usage_pieces(ctx)))]
    lines.append(".SH DESCRIPTION")
    lines += "\n.PP\n".join(map(_roff, text)).split("\n")
    lines += _verbs(ctx)
    lines.append(".SH OPTIONS")
    for option in ctx.command.get_params(ctx):
        record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
        if record is not None:
            lines += [".TP", f".B {_roff(record[0])}", _roff(record[1]) or "\\&"]
    if codes:
        lines.append(".SH EXIT STATUS")
        for code in filter(None, _CODE.split(codes)):
            number, _, meaning = code.partition(" ")
            lines += [".TP", f".B {_roff(number)}", _roff(meaning.strip()) or "success"]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *(_roff(example) for example in examples), ".fi"]
    above = ctx.parent.command_path.replace(" ", "-") if ctx.parent else "stallkit-help"
    lines += [".SH SEE ALSO", f".BR {_roff(above)} (1)"]
    return "\n".join(lines) + "\n"


def _parts(help: str) -> tuple[list[str], str, list[str]]:
    """The paragraphs of a help text, its exit codes on one line, and its examples."""
    text, _, block = cleandoc(help).partition("\b")
    codes: list[str] = []
    examples: list[str] = []
    into = examples
    for line in block.splitlines():
        label = _LABEL.match(line)
        if label is not None:
            into = codes if label[0].startswith("Exit") else examples
        told = line[label.end() :] if label else line
        if told.strip():
            into.append(told.strip())
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n")]
    return [one for one in paragraphs if one], " ".join(codes).rstrip("."), examples


def _short(ctx: click.Context) -> str:
    if ctx.parent is None:
        return "tell a terminal session that waits for a key from one that works"
    told = summary(ctx.info_name or "") if ctx.parent.parent is None else None
    return told or ctx.command.get_short_help_str(200).rstrip(".")


def _verbs(ctx: click.Context) -> Iterator[str]:
    """The commands of a group; those of stallkit itself by what a person wants to do."""
    if not isinstance(ctx.command, click.Group):
        return
    verbs = ctx.command.list_commands(ctx)
    for title, some in grouped(verbs) if ctx.parent is None else [("Commands", verbs)]:
        yield f".SS {_roff(title)}" if ctx.parent is None else ".SH COMMANDS"
        for verb in some:
            command = ctx.command.get_command(ctx, verb)
            assert command is not None  # it is listed
            yield from (".TP", f".B {_roff(verb)}", _roff(_short(click.Context(command, info_name=verb, parent=ctx))))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _roff(text: str) -> str:
    """A line of text: nothing in it is a command of roff."""
    line = " ".join(text.replace("\\", "\\(rs").split()).replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{line}" if line.startswith(".") else line
