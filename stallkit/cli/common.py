"""What commands share: options that reach a session, its target, progress, how output is printed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import wraps
from pathlib import Path
from typing import Any, Callable, TypeVar, cast

import click

from stallkit.cli.output import shown
from stallkit.cli.parameters import POLICY
from stallkit.errors import UnknownProgram
from stallkit.redact.redact import redact_all
from stallkit.tmux_socket import chosen, inherited
from stallkit.variables import Variables, read_variables

__all__ = [
    "config_option",
    "policy_option",
    "env_options",
    "log_option",
    "must_be_piped",
    "must_be_there",
    "print_json",
    "session_options",
    "socket_flags",
    "shown",
    "variables",
    "warn_unwritable",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def session_options(command: _F) -> _F:
    """Add -L and -S, which choose a tmux server as tmux's own options do.

    Without them the command gets what the environment or the settings choose; with its option `config`, that file.
    """

    @wraps(command)
    def reaching(*args: Any, **given: Any) -> Any:
        socket = chosen(given["socket_name"], given["socket_path"], os.environ, given.get("config"))
        with inherited(socket, os.environ):
            return command(*args, **{**given, "socket_name": socket.name, "socket_path": socket.path})

    return socket_flags(cast(_F, reaching))


def socket_flags(command: _F) -> _F:
    """Add -L and -S alone; the command gets what was given."""
    path = click.option("-S", "--socket-path", metavar="PATH", help="Path of the tmux server's socket.")
    name = click.option(
        "-L", "--socket-name", metavar="NAME", help="Name of the tmux server's socket. [env: STALLKIT_TMUX]"
    )
    return name(path(command))


def env_options(command: _F) -> _F:
    """Add --env and --env-file, for `variables`."""
    file = click.option(
        "--env-file", "env_files", multiple=True, metavar="FILE", help="Add the variables of lines NAME=VALUE."
    )
    word = click.option(
        "--env", multiple=True, metavar="NAME[=VALUE]", help="Add to its environment; NAME alone: as it is here."
    )
    return word(file(command))


def variables(env: tuple[str, ...], env_files: tuple[str, ...]) -> Variables:
    """The variables that --env and --env-file give.  Raises click.UsageError, without a value in it."""
    try:
        return read_variables(env, env_files, os.environ)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"--env-file {error.filename}: {error.strerror}") from None


def must_be_piped(what: str, source: str) -> None:
    """Raise click.UsageError where nobody pipes anything in: a terminal would wait for what nobody knows to type."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed")
    if sys.stdin.isatty():
        ctx = click.get_current_context()
        raise click.UsageError(
            f"- is standard input, a terminal here: pipe {what} in, as {source} | {ctx.command_path} -"
        )


def must_be_there(program: str, folder: str | Path | None = None, path: str | None = None) -> None:
    """Raise UnknownProgram where there is no program of this name, before anything is started for it."""
    place = Path(folder or ".") / program if "/" in program else Path(program)
    if shutil.which(place, path=path) is None:
        if "/" not in program:
            why, todo = "no program of that name is on PATH", "check the spelling, or give its path"
        elif place.exists():
            why, todo = "it cannot be executed", f"chmod +x {program}, or name its interpreter before it"
        else:
            why, todo = "there is no such file", "check its path"
        raise UnknownProgram(program, why, todo)


config_option = click.option("--config", type=click.Path(path_type=Path), help="The settings of this file alone.")
policy_option = click.option(
    "--policy", type=POLICY, help="What may be pressed: careful, daemon, observe, or a policy file; else the settings'."
)


log_option = click.option(
    "--log", type=click.Path(path_type=Path), help="Append events here, not in the state directory."
)


def print_json(value: dict[str, Any]) -> None:
    """Print one object for programs, redacted."""
    click.echo(json.dumps(redact_all(value), ensure_ascii=True))


def warn_unwritable(file: Path, why: str | None) -> None:
    """Say on standard error that a file cannot be written, because of `why` or of its disk: what it has may be old."""
    why = why or _disk(file)
    if why is not None:
        line = f"{file} cannot be written ({why}): this is what it had before; free some space, or make it writable"
        click.echo(f"stallkit: {shown(line)}", err=True)


def _disk(file: Path) -> str | None:
    """Why nothing can be written beside a file; None where nothing speaks against it."""
    try:
        disk = os.statvfs(file.parent)
    except OSError as error:
        return error.strerror or str(error)
    if disk.f_flag & os.ST_RDONLY:
        return "its file system is read-only"
    return "no space is left on its disk" if disk.f_blocks and not disk.f_bavail else None
