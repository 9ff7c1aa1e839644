"""Groups of commands: each command has the options that all have, and a mistyped one gets those it is like."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import cleandoc
from typing import Any, Iterator, Mapping, Sequence

import click
from click.shell_completion import CompletionItem

from stallkit.cli.output import Exit, no_color_option, paint, quiet_option
from stallkit.distributions import named

# What a person wants to do, in this order, and the verbs for it.  One that stands nowhere is listed under OTHERS.
GROUPS: Mapping[str, Sequence[str]] = {
    "Look at a session": ("check", "explain", "demo"),
    "Run sessions": ("run", "start", "list", "output", "stop", "attach", "wrap"),
    "Watch many": ("watch", "status", "report", "dashboard"),
    "Answer": ("stuck", "send", "wait"),
    "Set up, measure, write": ("sandbox", "pack", "eval", "record", "policy", "config", "serve", "fleet"),
}
OTHERS = "Others"
_COLUMNS = 76  # of a help text, inside its indent
_CODES, _INDENT = "Exit codes", " " * 12


class VerbGroup(click.Group):
    """A group whose commands are dressed, and that knows what a mistyped verb may have meant.

    `elsewhere` has the module:name of verbs that are loaded when they are called.
    """

    def __init__(self, *words: Any, elsewhere: Mapping[str, str] = {}, **more: Any) -> None:  # only read
        super().__init__(*words, **more)
        self._elsewhere = elsewhere

    def joined(self, elsewhere: Mapping[str, str]) -> None:
        """Have these verbs as well, which other distributions bring."""
        self._elsewhere = {**self._elsewhere, **elsewhere}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """As click does."""
        if cmd_name not in self._elsewhere:
            return super().get_command(ctx, cmd_name)
        found: click.Command = named(self._elsewhere[cmd_name])
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As click does."""
        return sorted([*super().list_commands(ctx), *self._elsewhere])

    def brief(self, ctx: click.Context) -> str:
        """The text for a line without a command."""
        return ctx.get_help()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without any word it says in short how to go on."""
        if not args and not ctx.resilient_parsing:
            click.echo(self.brief(ctx), err=True)
            ctx.exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; each command that is found has the options that all have."""
        verb = args[0]
        if not verb.startswith("-") and self.get_command(ctx, verb) is None and not ctx.resilient_parsing:
            ctx.fail(f"no command {verb!r}{like(verb, self.list_commands(ctx))}; {ctx.command_path} --help lists all")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and dressed(command), rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """As click does, with whole summaries."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        verbs = [CompletionItem(name, help=verb.get_short_help_str(_COLUMNS)) for name, verb in found if verb]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]


class _Formatter(click.HelpFormatter):
    def write_heading(self, heading: str) -> None:
        """As click does, in bold where colours are shown."""
        self.write(f"{'':>{self.current_indent}}{paint(f'{heading}:', bold=True)}\n")


class _Context(click.Context):
    formatter_class = _Formatter


def dressed(command: click.Command) -> click.Command:
    """The command with --quiet and --no-color, and with its exit codes folded where a line has no room for them."""
    if not any(one.name == "no_color" for one in command.params):
        command.params += [quiet_option(), no_color_option()]
        command.help = command.help and _folded(cleandoc(command.help))
        command.context_class = _Context
    return command


def like(given: str, known: Sequence[str]) -> str:
    """``, did you mean 'check'?`` of the names that are like this one; empty if none is."""
    found = get_close_matches(given, known, n=3, cutoff=0.6)
    return f", did you mean {' or '.join(map(repr, found))}?" if found else ""


def grouped(verbs: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The verbs by what a person wants to do; groups without any are left out."""
    placed = {verb for group in GROUPS.values() for verb in group}
    groups = [(title, [verb for verb in group if verb in verbs]) for title, group in GROUPS.items()]
    groups.append((OTHERS, [verb for verb in verbs if verb not in placed]))
    return [(title, group) for title, group in groups if group]


def _folded(help: str) -> str:
    """The help text with its exit codes broken between words, indented as the first of them."""
    lines: list[str] = []
    for line in help.split("\n"):
        if lines and lines[-1].startswith(_CODES) and line.startswith(_INDENT):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(row for line in lines for row in (_rows(line) if line.startswith(_CODES) else [line]))


def _rows(line: str) -> Iterator[str]:
    row = ""
    for word in line.split():
        if row and len(row) + 1 + len(word) > _COLUMNS:
            yield row
            row = f"{_INDENT}{word}"
        else:
            row = f"{row} {word}" if row else word
    yield row
