"""The entry point: the list of commands, and how errors are printed."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from stallkit.cli.exits import Exit
from stallkit.core.redact import redact
from stallkit.core.text import escaped
from stallkit.errors import StallkitError

__all__ = ["cli", "main"]

# The module of each command: it is imported when one of its commands is called, so that one does not pay for all.
_HOMES = {
    "check_commands": ("check", "explain"),
    "demo_command": ("demo",),
    "eval_command": ("eval",),
    "notify_command": ("notify",),
    "output_commands": ("list", "output", "postmortem"),
    "pack_commands": ("lint", "matrix", "new-pack", "packs"),
    "policy_commands": ("policy",),
    "press_commands": ("send", "wait-ready"),
    "record_commands": ("capture", "mark", "record"),
    "replay_command": ("replay",),
    "report_command": ("report",),
    "run_commands": ("attach", "run"),
    "session_commands": ("start", "stop"),
    "portrait_command": ("signature",),
    "signature_commands": ("add-signature", "tune"),
    "mute_commands": ("mute", "unmute"),
    "status_commands": ("incidents", "release", "status"),
    "watch_commands": ("supervise", "watch"),
    "wrap_command": ("wrap",),
}
_HOME_OF = {verb: home for home, verbs in _HOMES.items() for verb in verbs}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_HOME_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = _HOME_OF.get(cmd_name)
        if home is None:
            return None
        command: click.Command = getattr(import_module(f"stallkit.cli.{home}"), f"{cmd_name.replace('-', '_')}_command")
        return command


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

    Shell completion: eval "$(_STALLKIT_COMPLETE=bash_source stallkit)", or zsh_source, fish_source.
    """


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 gets what it can show
    try:
        code = cli.main(prog_name="stallkit", standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        _show(error)
        code = Exit.USAGE if isinstance(error, click.UsageError) else Exit.ERROR
    except (click.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except StallkitError as error:
        click.echo(f"stallkit: {escaped(redact(str(error)))}", err=True)
        code = Exit.ERROR
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its own exit
        code = Exit.ERROR
    except OSError as error:
        why = escaped(redact(str(error)))
        click.echo(f"stallkit: could not read or write: {why}; check disk space and permissions", err=True)
        code = Exit.ERROR
    except Exception as error:
        if os.environ.get("STALLKIT_DEBUG"):
            raise
        click.echo(
            f"stallkit: this is a bug in stallkit, {type(error).__name__}: {escaped(redact(str(error)))};"
            " please report it with what STALLKIT_DEBUG=1 prints",
            err=True,
        )
        code = Exit.ERROR
    sys.exit(code if isinstance(code, int) else Exit.OK)


def _show(error: click.ClickException) -> None:
    """Print a mistake in the command line, redacted: its words may come from elsewhere."""
    told = io.StringIO()
    error.show(told)
    for line in redact(told.getvalue()).removesuffix("\n").split("\n"):
        click.echo(escaped(line), err=True)
