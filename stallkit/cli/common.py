"""What commands share: options that reach a session, its target, progress, how output is printed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar, cast

import click

from stallkit.cli.output import engine, shown
from stallkit.cli.parameters import POLICY
from stallkit.cli.speech import plain, quiet
from stallkit.tmux_socket import chosen, inherited

if TYPE_CHECKING:
    from rich.box import Box
    from rich.console import Console

    from stallkit.press.policy import Policy
    from stallkit.transports.base import Transport
    from stallkit.variables import Variables
__all__ = [
    "config_option",
    "plain_console",
    "policy_of",
    "policy_option",
    "engine",
    "env_options",
    "hanging",
    "log_option",
    "must_be_piped",
    "must_be_there",
    "print_json",
    "progress",
    "reach",
    "ruled",
    "session_options",
    "socket_flags",
    "shown",
    "variables",
    "warn_unwritable",
    "wide_console",
]

PIPE = 200  # columns of what is no terminal

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
    from stallkit.variables import read_variables

    try:
        return read_variables(env, env_files, os.environ)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"--env-file {error.filename}: {error.strerror}") from None


def reach(
    target: str, socket_name: str | None, socket_path: str | None, or_path: bool = False, listen: bool = False
) -> Transport:
    """The transport of a target; ``-`` is text on standard input, and with `or_path` a bare path is a saved screen.

    A bare name is a session that stallkit started.  If it has ended, this shows how and exits the command.
    Raises click.UsageError for a target that cannot be read.
    """
    from stallkit.transports.base import Options, open_target  # here: a line for a status bar does without
    from stallkit.transports.saved import SavedTransport

    if target == "-":
        must_be_piped("a screen", "tmux capture-pane -p")
        return SavedTransport.of_text(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if or_path and ":" not in target and Path(target).exists():
        target = f"file:{target}"
    if ":" not in target:
        return _started(target, listen)
    try:
        return open_target(target, Options(socket_name, socket_path, listen))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def must_be_piped(what: str, source: str) -> None:
    """Raise click.UsageError where nobody pipes anything in: a terminal would wait for what nobody knows to type."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed")
    if sys.stdin.isatty():
        ctx = click.get_current_context()
        raise click.UsageError(
            f"- is standard input, a terminal here: pipe {what} in, as {source} | {ctx.command_path} -"
        )


def _started(name: str, listen: bool) -> Transport:
    from stallkit.cli import named_sessions  # here: not every command pays for it
    from stallkit.sessions.model import ExitRecord
    from stallkit.transports.base import open_target

    session = named_sessions.named(name)
    if session is None:
        raise click.UsageError(_no_target(name))
    if isinstance(session, ExitRecord):
        named_sessions.leave(click.get_current_context(), session)
    target, options = named_sessions.reached(session.session, listen)
    transport = open_target(target, options)
    transport.target = name
    return transport


def _no_target(name: str) -> str:
    """Why this names nothing, and what may have been meant."""
    from stallkit.cli.completions import targets
    from stallkit.cli.verb_group import like

    if "/" in name:
        return f"there is no file {name!r}"
    known = []
    with suppress(Exception):  # a word more is not worth a second error
        known = [target for target, _ in targets(click.get_current_context())]
    meant = f", did you mean 'tmux:{name}'?" if f"tmux:{name}" in known else like(name, known)
    return f"no session {name!r} was started{meant}; write tmux:NAME for one of tmux's, file:PATH for a saved screen"


def must_be_there(program: str, folder: str | Path | None = None, path: str | None = None) -> None:
    """Raise UnknownProgram where there is no program of this name, before anything is started for it."""
    import shutil

    from stallkit.errors import UnknownProgram

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


def policy_of(given: str | None) -> Policy:
    """The policy that the option names, else that of the settings.  Raises ConfigError."""
    from stallkit.supervise.settings import configured_policy  # here: most commands press nothing

    return configured_policy(given)


log_option = click.option(
    "--log", type=click.Path(path_type=Path), help="Append events here, not in the state directory."
)


def print_json(value: dict[str, Any]) -> None:
    """Print one object for programs, redacted."""
    from stallkit.core.redact import redact_all  # here, as below: many a command has nothing to show

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


def plain_console(**options: Any) -> Console:
    """A console of rich that takes text as it is: names from elsewhere must not be read as markup or emoji.

    It still interprets control sequences, and what is made with `Text.from_markup`: give it what `shown` returns.
    """
    from rich.console import Console  # here: it costs 60 ms, and most commands end before

    return Console(markup=False, emoji=False, highlight=False, no_color=plain() or None, **options)


def wide_console(**options: Any) -> Console:
    """The same; where there is no terminal, so wide that nothing is cut."""
    made = plain_console(**options)
    return made if made.is_terminal else plain_console(**options, width=PIPE)


def ruled(console: Console) -> Box | None:
    """How tables are drawn there: a rule below the head on a terminal, none where a program reads it."""
    from rich.box import SIMPLE_HEAD

    return SIMPLE_HEAD if console.is_terminal else None


def hanging(on: Console, line: str, indent: int) -> list[str]:
    """A long line wrapped between words for a terminal, with the lines after the first indented."""
    from rich.text import Text

    first, *more = Text(line).wrap(on, max(1, on.width - indent))
    return [first.plain.rstrip(), *(" " * indent + part.plain.rstrip() for part in more)]


@contextmanager
def progress(name: str) -> Iterator[Callable[[float, str], None]]:
    """A function to call with seconds and a last line; it shows nothing where standard error is not a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield lambda seconds, line: None
        return
    from rich.text import Text

    with plain_console(stderr=True).status(Text(shown(name))) as status:
        yield lambda seconds, line: status.update(
            Text.assemble(f"{shown(name)} {seconds:.0f} s  ", (shown(line), "dim"))
        )
