"""How a session's program is started: its command in a container, a sandbox or behind a relay, and its variables."""

from __future__ import annotations

import fcntl
import os
import shlex
import struct
import termios
import time
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Callable, Iterator, Mapping, Sequence

from attrs import frozen
from stallkit_wrap.askpass.launcher import environment
from stallkit_wrap.relay.driver import wrapped

from stallkit.config import STATE_DIR
from stallkit.errors import StartRefused
from stallkit.signals.collect import command_with_signals
from stallkit.transports.tmux.identity import Identity
from stallkit.variables import Variables, read_variables, shell_name
from stallkit_sessions.containers.bubblewrap import run_command as sandboxed
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.model import Session

# --- variables on their way to a program that another process starts, such as a tmux server ---

TAKEN_S = 10.0  # for the first process to read all of it, from its start
_AGAIN_S = 0.01
_F_SETPIPE_SZ, _MOST = 1031, 1_048_576  # Linux: what a pipe can hold
DESCRIPTOR = 3  # for who reads a descriptor, not a path


def as_script(values: Mapping[str, str]) -> str:
    """What a shell reads to export them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def as_lines(values: Mapping[str, str]) -> str:
    """What ``--env-file`` of docker and podman reads: they know no quotes, so a value has one line.

    Raises ValueError for a value that they would read differently.
    """
    for name, value in values.items():
        if value != value.strip() or value[:1] in ("'", '"') or not value.isprintable():
            raise ValueError(f"the value of {name}: a container takes one line, without quotes or blanks around it")
    return "".join(f"{name}={value}\n" for name, value in values.items())


def as_arguments(values: Mapping[str, str]) -> str:
    """What ``--args`` of bubblewrap reads."""
    return "".join(f"--setenv\0{name}\0{value}\0" for name, value in values.items())


def sourced(path: str, argv: Sequence[str]) -> list[str]:
    """The command that reads a script there, and becomes `argv`."""
    return ["sh", "-c", '. "$0" && exec "$@"', path, *argv]


def on_descriptor(path: str, argv: Sequence[str]) -> list[str]:
    """The command that becomes `argv`, with that file on `DESCRIPTOR`."""
    return ["sh", "-c", f'exec {DESCRIPTOR}<"$0" && exec "$@"', path, *argv]


class SecretPipe:
    """A pipe that holds a text until somebody has read it; a context, at whose end the rest is gone."""

    def __init__(self, name: str, text: str, proc: str = "/proc") -> None:
        """`name` is the session that it is for.  Raises StartRefused if it does not fit, or there is no `proc`."""
        self._name = name
        self._reads, writes = os.pipe()
        self.path = f"{proc}/{os.getpid()}/fd/{self._reads}"  # where processes of this user can open it
        try:
            if not Path(self.path).exists():
                why = "stallkit needs /proc to pass its variables unseen"
                raise StartRefused(name, why, "leave out --env and --env-file")
            self._fill(writes, os.fsencode(text))
        except BaseException:
            os.close(self._reads)
            raise
        finally:
            os.close(writes)

    def _fill(self, writes: int, data: bytes) -> None:
        os.set_blocking(writes, False)
        try:
            fcntl.fcntl(writes, _F_SETPIPE_SZ, min(_MOST, max(len(data), 4_096)))
            whole = os.write(writes, data) == len(data)
        except OSError:  # above what a user may have
            whole = False
        if not whole:
            raise StartRefused(self._name, f"its variables take {len(data)} bytes", "leave out some of them")

    def __enter__(self) -> SecretPipe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._reads)

    def delivered(self, ended: Callable[[], bool], within_s: float = TAKEN_S) -> None:
        """Return once all of it was read, or the program has `ended` before; else raise StartRefused."""
        deadline = time.monotonic() + within_s
        while struct.unpack("i", fcntl.ioctl(self._reads, termios.FIONREAD, bytes(4)))[0]:  # bytes not yet read
            if ended():
                return
            if time.monotonic() > deadline:
                why = f"it did not take its variables within {within_s:g} s"
                raise StartRefused(self._name, why, "see whether the machine is busy, and start it again")
            time.sleep(_AGAIN_S)


_OWN = ("STALLKIT_SESSION",)
_PORTS = ("PORT", "STALLKIT_PORTS")


@frozen
class Launch:
    """What a pane is to run, and in which environment; its secret variables are on their way beside it."""

    argv: list[str]
    environment: dict[str, str]
    pipe: SecretPipe | None = None

    def delivered(self, identity: str) -> None:
        """Return once the program in that pane has its variables, or has ended.  Raises StartRefused."""
        if self.pipe is not None:
            self.pipe.delivered(lambda: (stat := Identity.of(identity).uncollected()) is None or stat.ended)


@contextmanager
def launch(session: Session, variables: Variables) -> Iterator[Launch]:
    """How to start it; until the end of the context its variables can be read.

    Raises StartRefused, StoreError if a file that it needs cannot be written.
    """
    own = _environment(session)
    if not variables.values:
        yield Launch(_argv(session), own)
        return
    runtime = runtime_of(session)
    try:
        check_variables(session, variables)
        form = as_lines if runtime else as_arguments if session.engine == BWRAP else as_script
        text = form(variables.values)
    except ValueError as error:
        raise StartRefused(session.name, str(error), "give it in another way") from None
    with SecretPipe(session.name, text) as pipe:
        yield Launch(_argv(session, pipe.path), own, pipe)


def check_variables(session: Session, variables: Variables) -> None:
    """Raise ValueError for variables that this session cannot be given."""
    for name in variables.values:
        if not shell_name(name):
            raise ValueError(f"{name!r} is no name of a variable: letters, digits and _, no digit in front")
        if name in _OWN or (session.ports and name in _PORTS):
            raise ValueError(f"{name} is set by stallkit itself")
    if runtime_of(session) is not None:
        as_lines(variables.values)


def variables_again(session: Session) -> Variables:
    """The variables for another start of it: those of its files, read again.

    Raises StartRefused if some of it were given otherwise: their values were kept nowhere.
    """
    if session.env:
        why = f"the values of {', '.join(session.env)} are kept nowhere"
        raise StartRefused(session.name, why, "start it by hand, or the next time give them in an --env-file")
    try:
        found = read_variables((), session.env_files, {})
    except (OSError, ValueError) as error:
        raise StartRefused(session.name, f"its variables cannot be read: {error}", "start it by hand") from None
    return found


def _argv(session: Session, path: str | None = None) -> list[str]:
    """The command as it is run, with variables to be read at that path.  Raises StartRefused."""
    argv = _program(session, path)
    if session.relayed:
        argv = wrapped(argv)
    return sourced(path, argv) if path and session.engine is None else argv


def _program(session: Session, path: str | None) -> list[str]:
    if session.engine is None and session.hooks:
        try:
            return command_with_signals(session.command, session.id)
        except OSError as error:
            why = f"its hooks cannot be written: {error}"
            raise StartRefused(session.name, why, "start it without --hooks") from None
    if session.engine is None:
        return list(session.command)
    if session.engine == BWRAP:
        return on_descriptor(path, sandboxed(session, DESCRIPTOR)) if path else sandboxed(session)
    runtime = runtime_of(session)
    if runtime is None:  # of another version: never on the host instead
        raise StartRefused(session.name, f"{session.engine!r} is no container runtime that is known", "update stallkit")
    return runtime.run_command(session, path)


def _environment(session: Session) -> dict[str, str]:
    """The variables of stallkit's own: its ports, of which most servers read PORT, whom git, ssh and sudo ask.

    Raises StoreError if the program that they ask cannot be written.
    """
    given: dict[str, str] = {}
    if session.askpass:
        given |= environment()
    if session.ports:
        given |= {"PORT": str(session.ports[0]), "STALLKIT_PORTS": " ".join(map(str, session.ports))}
    if session.relayed and STATE_DIR in os.environ:  # the tmux server may have another
        given |= {STATE_DIR: os.environ[STATE_DIR]}
    return given
