"""The commands, each imported when it is called, and how errors are printed."""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import cleandoc
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from stallkit.cli import completion_shells  # noqa: F401  (click learns them by that)
from stallkit.cli.exits import Exit
from stallkit.cli.output import echo, ended_by, shown, shows_what_it_can
from stallkit.cli.verb_group import VerbGroup, dressed, grouped

__all__ = ["cli", "run", "summary"]

# The module of each command, which is imported when one of its commands is called, so that one does not pay for all;
# and what --help says of it, in a row of 80 columns.
_COMMANDS = {
    "add-signature": ("signature_commands", "propose a signature from screens of the same prompt"),
    "attach": ("run_commands", "look at a run in the background, and answer it"),
    "audit": ("audit_commands", "show what persons changed, and prove that it is all there"),
    "completion": ("completion_command", "print the completion script of a shell"),
    "config": ("config_commands", "show the settings, and where each comes from"),
    "capture": ("record_commands", "save the screen of a session as an example"),
    "check": ("check_commands", "say whether a session waits for a key, and for which"),
    "dashboard": ("dashboard_command", "sessions, sandboxes and the queue on one screen"),
    "demo": ("demo_command", "see it work on real programs, in half a minute"),
    "egress": ("remedy_commands", "edit which hosts a sandbox reaches"),
    "eval": ("eval_command", "count how right the packs are on labelled screens"),
    "explain": ("check_commands", "show why: every fact, and every signature that was tried"),
    "help": ("help_command", "show the help of a command"),
    "incidents": ("incident_commands", "list the latest incidents, newest last"),
    "lint": ("pack_commands", "check a pack"),
    "list": ("list_command", "list the sessions that stallkit started"),
    "mark": ("record_commands", "mark what is true from now on in a recording that runs"),
    "matrix": ("pack_commands", "show what the packs recognise, program by program"),
    "mute": ("mute_commands", "tell nobody of a session for a while"),
    "new-pack": ("pack_commands", "make the directory of a new pack"),
    "notify": ("notify_command", "send a test notice to each place that is set"),
    "output": ("output_commands", "print the last lines of a session, or how it ended"),
    "packs": ("pack_commands", "list the installed packs"),
    "pipelock": ("remedy_commands", "the same as egress"),
    "policy": ("policy_commands", "say what policies would do"),
    "postmortem": ("output_commands", "show how a session ended, and why"),
    "probe": ("probe_command", "print the facts on a process's terminal, for a stream"),
    "record": ("record_commands", "record a command, or a tmux pane"),
    "release": ("incident_commands", "help a session again that its limits halted"),
    "replay": ("replay_command", "play a recording, and show how the verdict changed"),
    "report": ("report_command", "tell what happened to the watched sessions"),
    "routes": ("remedy_commands", "edit what a sandbox reaches with credentials"),
    "run": ("run_commands", "run a command until it ends or needs input"),
    "sandbox": ("sandbox_commands", "make a sandbox for an agent, with its proxies"),
    "schema": ("schema_command", "print a JSON schema: of packs, policies, settings, values"),
    "send": ("press_commands", "type a text into an idle agent's composer"),
    "serve": ("serve_command", "answer programs in other languages: JSON-RPC, HTTP, MCP"),
    "signature": ("portrait_command", "show one signature, and how it fares"),
    "start": ("session_commands", "start a command in a tmux session, to explain its end"),
    "status": ("status_commands", "show what the watched sessions do"),
    "stop": ("session_commands", "end sessions, and record how they ended"),
    "stuck": ("stuck_commands", "answer what sessions and agents ask of a person"),
    "supervise": ("watch_commands", "watch the sessions that a file names, as a service"),
    "try": ("try_command", "try a pattern on screens before it is in a pack"),
    "tune": ("signature_commands", "try to drop or loosen each clause of a signature"),
    "unmute": ("mute_commands", "tell of a session again"),
    "wait-ready": ("press_commands", "wait until an agent is idle at its composer"),
    "watch": ("watch_commands", "watch sessions, answer what is allowed, tell the rest"),
    "wrap": ("wrap_command", "run a command here, and let others know what it does"),
}


def summary(verb: str) -> str | None:
    """What --help says of a verb; None where there is no such verb."""
    return _COMMANDS[verb][1] if verb in _COMMANDS else None


class _LazyGroup(VerbGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"stallkit.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, _COMMANDS))  # the same column in each group
        for title, verbs in grouped(self.list_commands(ctx)):
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(widest), _COMMANDS[verb][1]) for verb in verbs])

    def brief(self, ctx: click.Context) -> str:
        """What it is for, and where all is listed."""
        told, _, examples = cleandoc(self.help or "").partition("\n\n\b\nExamples:\n")
        told, examples = " ".join(told.split()), examples.partition("\n\n")[0]
        return f"{told}\n\n{examples}\n\n`stallkit --help` lists all commands, `stallkit help COMMAND` shows one."

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [verb for verb in self.list_commands(ctx) if verb.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(verb, help=_COMMANDS[verb][1]) for verb in found), *options]


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

    `stallkit help COMMAND` shows the options of one; `stallkit completion bash` prints what completes names in a shell.
    """


dressed(cli)


def run() -> NoReturn:
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
    """Show the help, where it is asked for behind a mistake; else the mistake."""
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
