"""What commands share: spans of time and names, options that reach a session, the session, and the installed packs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, NoReturn, Protocol, TypeVar, cast

import click
from attrs import frozen
from click.shell_completion import CompletionItem

from stallkit.cli.output import Exit, echo, shown
from stallkit.cli.verb_group import like
from stallkit.distributions import named, offered
from stallkit.durations import seconds_of
from stallkit.errors import UnknownProgram
from stallkit.packs.registry import Engine, installed_engine
from stallkit.press.send import Readiness
from stallkit.redact.redact import redact_all
from stallkit.settings import chosen, inherited
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import SavedTransport, open_target
from stallkit.transports.tmux.call import Server
from stallkit.variables import Variables, read_variables

# --- sessions that stallkit started ---


@frozen
class RunningTarget:
    """A session that runs: the target and the options that reach exactly its pane."""

    target: str
    options: Options


@frozen
class EndReport:
    """A session that is over: how it ended, for programs, and printed for a person."""

    as_object: Callable[[], dict[str, Any]]
    show: Callable[[bool], None]  # with true as JSON


class StartedSessions(Protocol):
    """What knows the sessions that were started; their names have no colon."""

    def names(self) -> Iterator[tuple[str, str]]:
        """Each name, with a word on its state."""
        ...

    def find(self, name: str, listen: bool = False) -> RunningTarget | EndReport | None:
        """The session of that name; None if none was started, or it is still being started."""
        ...

    def behind(self, target: str, socket_name: str | None, socket_path: str | None) -> EndReport | None:
        """How the session of a bare name or ``tmux:NAME`` on that server ended, if it was started and is over."""
        ...

    def note(self, name: str, found: Readiness) -> EndReport | None:
        """Keep what a wait for its start found; how it ended, if it did meanwhile."""
        ...


class _Nothing:
    """Without that distribution nothing was started."""

    def names(self) -> Iterator[tuple[str, str]]:
        yield from ()

    def find(self, name: str, listen: bool = False) -> RunningTarget | EndReport | None:
        return None

    def behind(self, target: str, socket_name: str | None, socket_path: str | None) -> EndReport | None:
        return None

    def note(self, name: str, found: Readiness) -> EndReport | None:
        return None


def started() -> StartedSessions:
    """What knows them."""
    found: StartedSessions = offered("sessions") or _Nothing()
    return found


def leave(ctx: click.Context, ended: EndReport) -> NoReturn:
    """Print how it ended, and exit the command: there is no session to act on."""
    ended.show(bool(ctx.params.get("as_json")))
    ctx.exit(Exit.ENDED)


# --- parameters ---

if TYPE_CHECKING:
    _Seconds = click.ParamType[float]
    _Text = click.ParamType[str]
else:
    _Seconds = _Text = click.ParamType  # older ones take no type


class Duration(_Seconds):
    """Seconds, written with a unit or as a number of `unit`; not below 0, and with `above` over it."""

    name = "time"

    def __init__(self, unit: str = "s", above: bool = False) -> None:
        self._unit, self._above = unit, above

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = seconds_of(str(value), self._unit)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < 0 or (self._above and not seconds):
            self.fail(f"{value!r} is not {'over' if self._above else 'at least'} 0", param, ctx)
        return seconds


class Name(_Text):
    """A text whose completions `find` gives, the module:name of a function: each with a word about it."""

    def __init__(self, name: str, find: str, metavar: str | None = None) -> None:
        self.name, self._find, self._metavar = name, find, metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        return self._metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        return completed(self._find, ctx, incomplete)


def completed(find: str, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin as what was typed.  Only a shell asks: whatever fails here has none, and says nothing."""
    try:
        found = [(name, about) for name, about in named(find)(ctx) if name.startswith(incomplete)]
    except Exception:
        return []
    return [CompletionItem(name, help=about or None) for name, about in found if name.isprintable()]


TARGET = Name("target", "stallkit.cli.common:targets")
POLICY = Name("policy", "stallkit.cli.completions:policies", "NAME|FILE")
PACK = Name("pack", "stallkit.cli.completions:packs")
SIGNATURE = Name("signature", "stallkit.cli.completions:signatures")


# --- options and output ---

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
    """Raise UnknownProgram if there is no program of this name, before anything is started for it."""
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
    """Why nothing can be written beside a file; None if nothing speaks against it."""
    try:
        disk = os.statvfs(file.parent)
    except OSError as error:
        return error.strerror or str(error)
    if disk.f_flag & os.ST_RDONLY:
        return "its file system is read-only"
    return "no space is left on its disk" if disk.f_blocks and not disk.f_bavail else None


# --- the session ---


def reach(
    target: str, socket_name: str | None, socket_path: str | None, or_path: bool = False, listen: bool = False
) -> Transport:
    """The transport of a target; ``-`` is text on standard input, and with `or_path` a bare path is a saved screen.

    A bare name is a session that stallkit started.  If it has ended, this shows how and exits the command.
    Raises click.UsageError for a target that cannot be read.
    """
    if target == "-":
        must_be_piped("a screen", "tmux capture-pane -pe")
        return SavedTransport.of_text(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if or_path and ":" not in target and Path(target).exists():
        target = f"file:{target}"
    if ":" not in target:
        return _started(target, listen)
    try:
        return open_target(target, Options(socket_name, socket_path, listen))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _started(name: str, listen: bool) -> Transport:
    session = started().find(name, listen)
    if session is None:
        raise click.UsageError(_no_target(name))
    if isinstance(session, EndReport):
        leave(click.get_current_context(), session)
    transport = open_target(session.target, session.options)
    transport.target = name
    return transport


def _no_target(name: str) -> str:
    """Why this names nothing, and what may have been meant."""
    if "/" in name:
        return f"there is no file {name!r}"
    known = []
    with suppress(Exception):  # a word more is not worth a second error
        known = [target for target, _ in targets(click.get_current_context())]
    meant = f", did you mean 'tmux:{name}'?" if f"tmux:{name}" in known else like(name, known)
    return f"no session {name!r} was started{meant}; write tmux:NAME for one of tmux's, file:PATH for a saved screen"


def targets(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The sessions that stallkit started, and those of the tmux server that the line names."""
    yield from started().names()
    shown = "#{session_name}\t#{pane_current_command}"
    for line in Server(_options(ctx)).run("tmux", ("list-sessions", "-F", shown)).splitlines():
        name, _, program = line.partition("\t")
        yield f"tmux:{name}", program


def _options(ctx: click.Context) -> Options:
    socket = chosen(ctx.params.get("socket_name"), ctx.params.get("socket_path"), os.environ, tell=lambda line: None)
    return Options(socket.name, socket.path)


# --- the installed packs ---


def engine() -> Engine:
    """An engine of the installed packs; names broken ones on standard error.  Raises PackError if there is none."""
    made = installed_engine()
    for problem in made.problems:
        echo(f"stallkit: {shown(problem)}", err=True)
    return made
