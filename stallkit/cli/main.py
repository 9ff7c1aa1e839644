"""The entry point: the commands, each imported when it is called, their old names, and how errors are printed."""

from __future__ import annotations

import sys
from inspect import cleandoc
from itertools import takewhile
from typing import Iterator, NoReturn, Sequence

import click
from click.shell_completion import CompletionItem

from stallkit.cli import completion_command  # noqa: F401  (click learns them by that)
from stallkit.cli.command_set import CommandSet, command_sets
from stallkit.cli.output import Exit, echo, ended_by, note, page, shown, shows_what_it_can
from stallkit.cli.verb_group import VerbGroup, dressed, grouped, like

# --- words of the version before ---

WORDS = {  # a command by its old words, and today's
    **{verb: f"pack {verb}" for verb in ("capture", "lint", "matrix", "try", "tune")},
    **{verb: f"record {verb}" for verb in ("mark", "replay")},
    **{verb: f"sandbox {verb}" for verb in ("audit", "egress", "routes")},
    **{verb: f"stuck {verb}" for verb in ("mute", "release", "unmute")},
    **{verb: f"config {verb}" for verb in ("completion", "notify", "schema")},
    **{
        f"stuck {verb}": f"sandbox {verb}"
        for verb in ("gate", "install", "manifest", "rebuild", "serve", "unwaive", "waive", "waived", "waivers")
    },
    "add-signature": "pack add",
    "fleet answer": "fleet reply",
    "incidents": "report --incidents",
    "new-pack": "pack new",
    "packs": "pack list",
    "postmortem": "output --postmortem",
    "probe": "explain --pid",
    "signature": "pack show",
    "stuck answer": "stuck reply",
    "supervise": "watch --service",
    "wait-ready": "wait",
}
SYNONYMS = {"pipelock": ["sandbox", "egress"]}  # which stay
_OPTIONS = {"--hung-after": "--hang-timeout", "--watch-for": "--for", "--wait-ready": "--wait"}


def todays_words(words: Sequence[str]) -> list[str]:
    """The words of a command line, an old name at their begin replaced by today's."""
    for count in (2, 1):
        old = " ".join(words[:count])
        if today := WORDS.get(old):
            return [*_renamed(old, today).split(), *words[count:]]
    return [*SYNONYMS.get(words[0], words[:1]), *words[1:]] if words else []


def todays_options(words: Sequence[str], command: click.Command) -> list[str]:
    """The words behind a verb, old names of its options replaced by today's; what follows ``--`` stays as it is."""
    known = {option for one in command.params for option in one.opts}
    end = words.index("--") if "--" in words else len(words)
    found = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        today = _OPTIONS.get(name)
        found.append(f"{_renamed(name, today)}{equals}{value}" if today and today in known else word)
    return [*found, *words[end:]]


def _renamed(old: str, new: str) -> str:
    note(f"{old} is called {new} now; the old name goes with the next version")
    return new


# --- help ---


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
    for verb in takewhile(lambda word: not word.startswith("-"), todays_words(verbs)):
        command = above.command.get_command(above, verb) if isinstance(above.command, click.Group) else None
        if command is None:
            known = above.command.list_commands(above) if isinstance(above.command, VerbGroup) else []
            raise click.UsageError(f"no command {verb!r}{like(verb, known)}; {above.command_path} --help lists all")
        above = click.Context(dressed(command), info_name=verb, parent=above, **command.context_settings)
    page(above.get_help())


# --- the commands ---

OWN = CommandSet(
    {
        "check": ("stallkit.cli.check_commands", "say whether a session waits for a key, and for which"),
        "config": ("stallkit.cli.config_commands", "the settings, test notices, completion, JSON schemas"),
        "explain": ("stallkit.cli.check_commands", "show why: every fact, and every signature that was tried"),
        "pack": ("stallkit.cli.packs_command", "list, write, check and tune packs of signatures"),
        "policy": ("stallkit.cli.policy_commands", "say what policies would do"),
        "send": ("stallkit.cli.press_commands", "type a text into an idle agent's composer"),
        "wait": ("stallkit.cli.press_commands", "wait until an agent is idle at its composer"),
    },
    {
        "config completion": "stallkit.cli.completion_command:completion_command",
        "config schema": "stallkit.cli.packs_command:schema_command",
    },
    printed="stallkit.cli.printed_json:PRINTED",
)
# What other distributions bring, so that one that is not installed can be named.
BROUGHT_BY = {
    "stallkit-wrap": ("wrap",),
    "stallkit-sessions": ("attach", "list", "output", "run", "start", "stop"),
    "stallkit-supervisor": (
        "report", "status", "watch", "config notify", "stuck mute", "stuck release", "stuck unmute",
    ),
    "stallkit-operator": ("dashboard", "sandbox", "serve", "stuck"),
    "stallkit-fleet": ("fleet",),
    "stallkit-lab": (
        "demo", "eval", "record", "record replay",
        *(f"pack {verb}" for verb in ("add", "capture", "lint", "matrix", "new", "remove", "show", "try", "tune")),
    ),
}  # fmt: skip


def _sets() -> Iterator[CommandSet]:
    """Stallkit's own goes first: what it has asks no other distribution."""
    yield OWN
    yield from command_sets()


def summary(verb: str) -> str | None:
    """What --help says of a verb; None if there is no such verb."""
    return next((one.verbs[verb][1] for one in _sets() if verb in one.verbs), None)


def _distribution_of(path: str) -> str | None:
    """The distribution of ours that brings this command, if one does."""
    return next((name for name, verbs in BROUGHT_BY.items() if path in verbs), None)


class _LazyGroup(VerbGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({verb for one in _sets() for verb in one.verbs})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = next((one.command(cmd_name) for one in _sets() if cmd_name in one.verbs), None)
        if found is not None and not isinstance(found, VerbGroup):
            return found
        below = {
            verb.removeprefix(f"{cmd_name} "): where
            for one in _sets()
            for verb, where in one.below.items()
            if verb.startswith(f"{cmd_name} ")
        }
        if found is None and below:
            found = VerbGroup(cmd_name, help=f"What is installed of `{cmd_name}`; other distributions bring the rest.")
        if found is None:
            return super().get_command(ctx, cmd_name)
        found.joined(below)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As the others; old words are read as today's, and a distribution that is not installed is named."""
        if ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        args = todays_words(args)
        path, found = args[0], self.get_command(ctx, args[0])
        if isinstance(found, VerbGroup) and len(args) > 1:
            path, found = f"{path} {args[1]}", found.get_command(ctx, args[1])
        missing = _distribution_of(path) if found is None else None
        if missing is not None:
            ctx.fail(f"{path} is a command of {missing}, which is not installed; pip install {missing}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, rest if command is None else todays_options(rest, command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = self.list_commands(ctx)
        widest = max(map(len, listed))  # the same column in each group
        for title, verbs in grouped(listed):
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(widest), summary(verb) or "") for verb in verbs])

    def brief(self, ctx: click.Context) -> str:
        """What it is for, and where all is listed."""
        told, _, examples = cleandoc(self.help or "").partition("\n\n\b\nExamples:\n")
        told, examples = " ".join(told.split()), examples.partition("\n\n")[0]
        return f"{told}\n\n{examples}\n\n`stallkit --help` lists all commands, `stallkit help COMMAND` shows one."

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [verb for verb in self.list_commands(ctx) if verb.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(verb, help=summary(verb)) for verb in found), *options]


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stallkit")
def cli() -> None:
    """Tell a terminal session that waits for a key from one that works, and answer safely.

    \b
    Examples:
      stallkit demo                     see it work on real programs
      stallkit check tmux:worker1       exit code 2 if it is stalled
      stallkit explain tmux:worker1     show why
      stallkit run -- npm init          run a command until it ends or needs input

    `stallkit help COMMAND` shows the options of one; `stallkit config completion bash` prints what completes names
    in a shell.
    """


dressed(cli)
cli.add_command(help_command)  # it is not listed


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    shows_what_it_can()
    try:
        code = cli.main(prog_name="stallkit", standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.UsageError as error:
        code = _help_or_mistake(error)
    except click.ClickException as error:
        _show(error)
        code = Exit.ERROR
    except (click.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except Exception as error:
        code = ended_by(error)
    sys.exit(code if isinstance(code, int) else Exit.OK)


def _help_or_mistake(error: click.UsageError) -> Exit:
    """Show the help, if it is asked for behind a mistake; else the mistake."""
    ctx, words = error.ctx, sys.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    if ctx is not None and ctx.allow_interspersed_args and {"-h", "--help"} & {*words}:
        click.echo(ctx.get_help())
        return Exit.OK
    _show(error)
    return Exit.USAGE


def _show(error: click.ClickException) -> None:
    """Print a mistake in the command line on one line, redacted: its words may come from elsewhere."""
    told = " ".join(error.format_message().split()).removesuffix(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    help = f"; see {ctx.command_path} --help" if ctx is not None and "--help" not in told else ""
    echo(shown(f"{ctx.command_path if ctx else 'stallkit'}: {told}{help}"), err=True)
